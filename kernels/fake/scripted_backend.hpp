// ScriptedBackend: passes whose tokens stand in a script.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/options.hpp>
#include <tickertape/scripted.hpp>

#include "kernels/fake/completions.hpp"

namespace tickertape::kernels::fake {

/// A rule with its answer as token ids.
struct ScriptedAnswer {
  ScriptRule rule;
  std::vector<TokenId> tokens;

  [[nodiscard]] float logprob_at(std::uint32_t place) const noexcept;
};

/// A script made ready for one tokenizer. Immutable; shared by all backends of a model.
struct ScriptedAnswers {
  std::vector<ScriptedAnswer> answers;  ///< The last one is the default.
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<ScriptedProbe> probe;
  std::uint32_t vocab_size = 0;
  TokenId end_token = 0;
  TokenId filler = 0;  ///< What follows an answer without an end.
  std::int64_t tick_ns = 0;
  double prefill_ns_per_token = 0;

  [[nodiscard]] const ScriptedAnswer& find(const std::string& prompt, std::uint32_t choice) const;
  [[nodiscard]] TokenId token_at(const ScriptedAnswer& answer, std::uint32_t place) const noexcept;
};

/// See make_scripted_model. Pages are accepted and ignored. While a pass is blocked, a thread waits
/// for its release; later operations complete after it.
class ScriptedBackend final : public Backend {
 public:
  ScriptedBackend(std::shared_ptr<const ScriptedAnswers> answers, const BackendOptions& options,
                  BackendHost& host);
  ~ScriptedBackend() override;
  ScriptedBackend(const ScriptedBackend&) = delete;
  ScriptedBackend& operator=(const ScriptedBackend&) = delete;

  [[nodiscard]] const BackendInfo& info() const noexcept override { return info_; }
  void forward(Ticket ticket, const Batch& batch) override;
  void copy_pages(Ticket ticket, std::span<const PageMove> moves) override;
  void swap_out(Ticket ticket, std::span<const PageMove> moves) override;
  void swap_in(Ticket ticket, std::span<const PageMove> moves) override;
  [[nodiscard]] BatchResult take(Ticket ticket) override;

 private:
  struct Slot {
    const ScriptedAnswer* answer = nullptr;
    std::uint32_t prompt_length = 0;
  };
  /// A pass in the making.
  struct Pass {
    BatchResult result;
    bool blocked = false;
    double duration_ns = 0;
  };

  void open_slot(const OpenedSlot& opened, const Batch& batch);
  void run_row(const Row& row, const Batch& batch, Pass& pass);
  void give_token(const Row& row, const Slot& slot, std::uint32_t position, Pass& pass);
  void give_logprobs(const Row& row, TokenId token, float logprob, BatchResult& result);
  void give_hidden(BatchResult& result);

  void complete(Ticket ticket, BatchResult result, std::int64_t duration_ns);
  void block(Ticket ticket, BatchResult result);
  void watch(std::uint64_t number);

  std::shared_ptr<const ScriptedAnswers> answers_;
  BackendHost& host_;
  BackendInfo info_;
  Completions completions_;
  std::vector<Slot> slots_;

  std::mutex mutex_;          // Guards the next two against the watching thread.
  std::vector<Ticket> held_;  ///< The blocked pass, then what was submitted after it.
  std::optional<Ticket> abandoned_;
  std::atomic<bool> ending_{false};
  std::thread watcher_;
};

}  // namespace tickertape::kernels::fake
