// Intake: the door; checks a request and puts it into the waiting line.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>
#include <tickertape/request.hpp>

#include "actors/lane_port.hpp"
#include "actors/stream.hpp"

namespace tickertape::actors {

struct IntakeOptions {
  std::uint32_t max_model_len = 0;  ///< In force: prompt and generated tokens.
  std::uint32_t vocab_size = 0;     ///< Ids at and above it are refused.
  std::uint32_t max_queued_requests = 1024;
  std::uint64_t max_queued_tokens = 1ULL << 20;
  std::int64_t request_timeout_ns = 0;  ///< 0 = none.
};

/// A request that was found good.
struct Prepared {
  std::vector<TokenId> ids;
  std::uint32_t max_tokens = 0;  ///< To generate, after clipping to the context.
};

/// Decides on the submitter's thread, without waiting for the lane: field checks, tokenization and
/// two atomics.
///
/// Thread rules: any thread.
class Intake {
 public:
  using Clock = std::function<std::int64_t()>;
  using SeedSource = std::function<std::uint64_t()>;

  Intake(std::shared_ptr<const Model> model, IntakeOptions options, std::shared_ptr<LanePort> port,
         Clock clock, SeedSource seeds);

  /// Everything but the queue's state.
  [[nodiscard]] std::variant<Prepared, ErrorInfo> prepare(const Request& request) const;

  /// A reason of the moment to refuse: the queue, or a drain.
  [[nodiscard]] std::optional<ErrorInfo> check_queue(std::size_t num_tokens) const;

  /// The stream of `request`; one that is finished already when it is refused. `outbox` may be null
  /// only for a request that is refused with `refusal`.
  [[nodiscard]] std::shared_ptr<Stream> submit(Request&& request, std::shared_ptr<Outbox> outbox,
                                               Stream::ExecutorOf executor,
                                               std::optional<ErrorInfo> refusal);

  void drain() noexcept { draining_.store(true); }
  [[nodiscard]] bool draining() const noexcept { return draining_.load(); }

 private:
  [[nodiscard]] std::optional<ErrorInfo> enter_queue(std::size_t num_tokens);
  void leave_queue(std::size_t num_tokens);
  [[nodiscard]] std::shared_ptr<Stream> start(Request&& request, Prepared&& prepared,
                                              std::shared_ptr<Outbox> outbox,
                                              Stream::ExecutorOf executor);
  [[nodiscard]] double retry_after() const;

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  IntakeOptions options_;
  std::shared_ptr<LanePort> port_;
  Clock clock_;
  SeedSource seeds_;
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<bool> draining_{false};
};

}  // namespace tickertape::actors
