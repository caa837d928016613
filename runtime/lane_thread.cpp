// LaneThread: a thread with a scheduler of its own, which runs one task to its end.
#include "runtime/lane_thread.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <thread>
#include <utility>

#include <tickertape/assert.hpp>

#include "runtime/asio_scheduler.hpp"
#include "runtime/compute_pool.hpp"

namespace tickertape::runtime {

class LaneThread::Impl {
 public:
  explicit Impl(int nice) : nice_(nice), scheduler_(context_), guard_(context_.get_executor()) {}

  Scheduler& scheduler() noexcept { return scheduler_; }

  void start(Task<> main) {
    main_.emplace(std::move(main));
    thread_ = std::thread([this] { run(); });
  }

  void join() {
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] bool joined() const { return !thread_.joinable(); }

 private:
  void run() {
    set_thread_nice(nice_);
    const bool done =
        main_->start([](void* self) { static_cast<Impl*>(self)->context_.stop(); }, this);
    if (!done) context_.run();
  }

  const int nice_;
  boost::asio::io_context context_{1};
  AsioScheduler scheduler_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::optional<Task<>> main_;
  std::thread thread_;
};

LaneThread::LaneThread(int nice) : impl_(std::make_unique<Impl>(nice)) {}
LaneThread::~LaneThread() {
  TICKERTAPE_ASSERT(impl_->joined());
}

Scheduler& LaneThread::scheduler() noexcept {
  return impl_->scheduler();
}
void LaneThread::start(Task<> main) {
  impl_->start(std::move(main));
}
void LaneThread::join() {
  impl_->join();
}

}  // namespace tickertape::runtime
