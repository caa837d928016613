// AsioPoster: an executor that is let go of before its execution context is destroyed.
#include "runtime/asio_poster.hpp"

#include <atomic>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/strand.hpp>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>

namespace tickertape::runtime {
namespace {

class PosterService;

/// What the poster, its queued handlers and the context's service share. While executor_ is there
/// the context is alive, because its shutdown waits for mutex_ to take the executor away.
class PosterState : public std::enable_shared_from_this<PosterState> {
 public:
  explicit PosterState(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  void join(PosterService& service);
  /// The poster is gone: nothing is posted or told any more.
  void leave() noexcept;
  bool post(Work* work);
  /// The context is gone, or is about to go.
  void end() noexcept;
  /// A handler was destroyed unrun, perhaps by the executor inside of post().
  void handler_lost() noexcept;
  void set_listener(ShutdownListener* listener);
  [[nodiscard]] boost::asio::any_io_executor executor() const {
    const std::lock_guard lock(mutex_);
    return executor_.value_or(boost::asio::any_io_executor());
  }
  [[nodiscard]] bool uses(const boost::asio::any_io_executor& executor) const {
    const std::lock_guard lock(mutex_);
    return executor_ == executor;
  }

 private:
  void tell() noexcept;

  mutable std::mutex mutex_;
  std::optional<boost::asio::any_io_executor> executor_;  // Under mutex_.
  PosterService* service_ = nullptr;                      // Under mutex_; valid with executor_.
  std::atomic<std::thread::id> posting_thread_{};
  bool refused_ = false;  // Under mutex_: the executor destroyed the handler inside of post().

  // Recursive, so that a listener may withdraw itself or its poster while it is told.
  std::recursive_mutex listener_mutex_;
  ShutdownListener* listener_ = nullptr;  // Under listener_mutex_.
  bool ended_ = false;                    // Under listener_mutex_.
};

/// Lives in the execution context and is shut down before the context's queues are.
class PosterService final : public boost::asio::execution_context::service {
 public:
  static inline boost::asio::execution_context::id id;

  explicit PosterService(boost::asio::execution_context& context) : service(context) {}

  /// False once the context shuts down.
  bool add(std::shared_ptr<PosterState> state) {
    const std::lock_guard lock(mutex_);
    if (shut_down_) return false;
    states_.insert(std::move(state));
    return true;
  }

  void remove(const std::shared_ptr<PosterState>& state) {
    const std::lock_guard lock(mutex_);
    states_.erase(state);
  }

 private:
  void shutdown() override {
    std::unordered_set<std::shared_ptr<PosterState>> states;
    {
      const std::lock_guard lock(mutex_);
      shut_down_ = true;
      states.swap(states_);
    }
    for (const auto& state : states) state->end();
  }

  std::mutex mutex_;
  bool shut_down_ = false;
  std::unordered_set<std::shared_ptr<PosterState>> states_;
};

/// Runs the work once, or tells that it never will.
class PostedHandler {
 public:
  PostedHandler(std::shared_ptr<PosterState> state, Work* work)
      : state_(std::move(state)), work_(work) {}
  PostedHandler(PostedHandler&&) = default;
  PostedHandler& operator=(PostedHandler&&) = delete;
  ~PostedHandler() {
    if (state_ != nullptr) state_->handler_lost();
  }

  void operator()() {
    state_.reset();
    work_->run(work_);
  }

 private:
  std::shared_ptr<PosterState> state_;
  Work* work_;
};

void PosterState::join(PosterService& service) {
  {
    const std::lock_guard lock(mutex_);
    service_ = &service;
  }
  if (!service.add(shared_from_this())) end();
}

void PosterState::leave() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (executor_) service_->remove(shared_from_this());
    executor_.reset();
  }
  set_listener(nullptr);
}

bool PosterState::post(Work* work) {
  {
    const std::lock_guard lock(mutex_);
    if (!executor_) return false;
    refused_ = false;
    posting_thread_ = std::this_thread::get_id();
    try {
      boost::asio::post(*executor_, PostedHandler(shared_from_this(), work));
    } catch (...) {
      posting_thread_ = std::thread::id();
      throw;
    }
    posting_thread_ = std::thread::id();
    if (!refused_) return true;
    executor_.reset();
  }
  tell();
  return false;
}

void PosterState::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    executor_.reset();
  }
  tell();
}

void PosterState::handler_lost() noexcept {
  if (posting_thread_ == std::this_thread::get_id()) {
    refused_ = true;
  } else {
    end();
  }
}

void PosterState::set_listener(ShutdownListener* listener) {
  const std::lock_guard lock(listener_mutex_);
  listener_ = listener;
  if (ended_) tell();
}

void PosterState::tell() noexcept {
  const std::lock_guard lock(listener_mutex_);
  ended_ = true;
  ShutdownListener* listener = std::exchange(listener_, nullptr);
  if (listener != nullptr) listener->context_shutdown();
}

class StatePoster final : public AsioPoster {
 public:
  explicit StatePoster(std::shared_ptr<PosterState> state) : state_(std::move(state)) {}
  ~StatePoster() override { state_->leave(); }

  bool post(Work* work) override { return state_->post(work); }
  void set_shutdown_listener(ShutdownListener* listener) override {
    state_->set_listener(listener);
  }
  boost::asio::any_io_executor executor() const override { return state_->executor(); }
  bool uses(const boost::asio::any_io_executor& executor) const override {
    return state_->uses(executor);
  }

 private:
  std::shared_ptr<PosterState> state_;
};

}  // namespace

boost::asio::any_io_executor plain_executor(const boost::asio::any_io_executor& executor) {
  // One that counts as outstanding work would keep its context running as long as we live.
  return boost::asio::prefer(executor, boost::asio::execution::outstanding_work.untracked);
}

std::shared_ptr<AsioPoster> make_asio_poster(const boost::asio::any_io_executor& executor) {
  boost::asio::execution_context& context = executor.context();
  // Services are shut down youngest first. Asio's strand service must be older than ours, since its
  // shutdown looks into the strands' queues without their locks: by then nobody may post.
  if (!boost::asio::has_service<PosterService>(context)) {
    static_cast<void>(boost::asio::make_strand(executor));
  }
  auto state = std::make_shared<PosterState>(plain_executor(executor));
  state->join(boost::asio::use_service<PosterService>(context));
  return std::make_shared<StatePoster>(std::move(state));
}

}  // namespace tickertape::runtime
