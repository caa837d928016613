// RemoteStream: the reader's end of a generation that a server runs.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tickertape/detail/call_op.hpp>
#include <tickertape/detail/stream_core.hpp>
#include <tickertape/request.hpp>

#include "net/remote_target.hpp"

namespace tickertape::net {

class RemoteStream;

/// What carries the streams' wishes to the server. Thread rules: any thread.
class RemoteOwner {
 public:
  virtual void submit(const std::shared_ptr<RemoteStream>& stream) = 0;
  /// The stream has credit to give, or was cancelled.
  virtual void changed(const std::shared_ptr<RemoteStream>& stream) = 0;

 protected:
  ~RemoteOwner() = default;
};

/// Everything a stream is born with.
struct RemoteSetup {
  std::string id;      ///< Its name on the connection.
  std::string submit;  ///< The frame that asks for it.
  std::uint32_t window = 64;
  bool manual_credit = false;
  std::uint32_t num_choices = 1;
  std::vector<TokenId> prompt_ids;  ///< As far as the client knows them.
  std::function<void(const Notice&)> on_notice;
};

/// What the last done frame carries.
struct RemoteEnd {
  Usage usage;
  Timings timings;
  std::vector<PromptLogprob> prompt_logprobs;
};

/// Thread rules: the members of StreamCore and AsyncCall on any thread; on_...(), refuse(), fail()
/// and what they keep on the connection's strand; handlers are called on the stream's executor.
class RemoteStream final : public detail::StreamCore,
                           public detail::AsyncCall,
                           public RemoteTarget {
 public:
  RemoteStream(const boost::asio::any_io_executor& executor, RemoteSetup setup,
               std::weak_ptr<RemoteOwner> owner);

  boost::asio::any_io_executor call_executor() const override { return executor(); }
  void start_call(std::unique_ptr<detail::PendingCall> pending) override;
  void cancel_call() override;

  std::uint64_t reserve_read() override;
  void start_read(std::uint64_t number, std::unique_ptr<detail::PendingRead> read,
                  std::size_t limit) override;
  void cancel_read(std::uint64_t number) override;
  void add_credit(std::uint32_t tokens) override;
  void cancel() override;
  void drop() noexcept override;
  [[nodiscard]] Finish finish() const override;
  [[nodiscard]] bool done() const override;
  /// Complete before async_submit's handler is called, constant from then on.
  [[nodiscard]] const Accepted& accepted() const override { return accepted_; }
  [[nodiscard]] boost::asio::any_io_executor executor() const override {
    return RemoteTarget::executor();
  }

  [[nodiscard]] const std::string& id() const noexcept { return setup_.id; }
  [[nodiscard]] std::string take_submit() { return std::move(setup_.submit); }
  [[nodiscard]] std::size_t submit_bytes() const noexcept { return setup_.submit.size(); }
  [[nodiscard]] bool is_accepted() const noexcept { return is_accepted_; }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(); }
  /// REQUIRES: called before cancelled() and take_credit(), so that no change is missed.
  void clear_changed() noexcept { changed_.store(false); }
  /// Credit to send, at most `most`.
  [[nodiscard]] std::uint32_t take_credit(std::uint32_t most);

  void on_accepted(Accepted accepted);
  /// False when this token cannot be: an unknown or ended choice, a gap, more than the window.
  [[nodiscard]] bool on_token(Token&& token);
  void on_notice(const Notice& notice);
  /// False when this choice cannot end.
  [[nodiscard]] bool on_choice_done(std::uint32_t index, ChoiceFinish finish);
  /// False while a choice has not ended.
  [[nodiscard]] bool on_end(RemoteEnd end);
  /// Ends it before it was accepted.
  void refuse(ErrorInfo error);
  /// Ends what has not ended as `reason`.
  void fail(FinishReason reason, const ErrorInfo& error);

 private:
  using ReadPtr = std::unique_ptr<detail::PendingRead>;
  struct Choice {
    ChoiceFinish finish;
    [[nodiscard]] bool ended() const noexcept { return finish.reason != FinishReason::none; }
  };

  void run() override;
  void abandoned() noexcept override;
  void complete_call();
  void complete_rejected();
  void complete_read();
  void tell_notices();
  [[nodiscard]] std::shared_ptr<RemoteStream> self() {
    return std::static_pointer_cast<RemoteStream>(shared_from_this());
  }
  void mark_changed();
  void give_back(std::size_t tokens);
  void end(Finish finish);
  [[nodiscard]] Finish whole(RemoteEnd end) const;

  RemoteSetup setup_;
  const std::weak_ptr<RemoteOwner> owner_;
  std::atomic<std::uint64_t> credit_{0};  ///< Not sent yet.
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> changed_{false};

  // The strand's.
  Accepted accepted_;
  bool is_accepted_ = false;
  std::vector<Choice> choices_;
  std::uint64_t allowed_;  ///< Tokens that the server may send yet.

  mutable std::mutex mutex_;
  std::unique_ptr<detail::PendingCall> call_;
  bool call_aborted_ = false;
  bool answered_ = false;  ///< Accepted or refused.
  std::deque<Token> ready_;
  std::deque<Notice> notices_;
  std::uint64_t next_read_ = 0;
  std::uint64_t read_number_ = 0;
  std::size_t read_limit_ = 0;
  ReadPtr read_;
  std::deque<ReadPtr> cancelled_reads_;  ///< To be completed with operation_aborted.
  std::deque<ReadPtr> second_reads_;     ///< To be completed with Errc::read_pending.
  std::uint64_t unreturned_ = 0;         ///< Tokens read whose credit was not given back.
  bool ended_ = false;
  bool dropped_ = false;
  Finish finish_;
};

}  // namespace tickertape::net
