// RemoteTarget: something that runs, now and then, on an executor whose context may end.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <mutex>

#include "runtime/asio_poster.hpp"

namespace tickertape::net {

/// Runs run() on its executor when schedule() asks for it, never two at a time, however many
/// threads run the executor. While a run is to come the target stays alive.
///
/// Thread rules: schedule() and executor() on any thread, at any time.
class RemoteTarget : public std::enable_shared_from_this<RemoteTarget>,
                     private runtime::Work,
                     private runtime::ShutdownListener {
 public:
  /// REQUIRES: the executor's context is alive. Call listen() once the target is owned.
  explicit RemoteTarget(const boost::asio::any_io_executor& executor);
  RemoteTarget(const RemoteTarget&) = delete;
  RemoteTarget& operator=(const RemoteTarget&) = delete;
  virtual ~RemoteTarget();

  void listen() { poster_->set_shutdown_listener(this); }

  /// An empty one once the context has ended.
  [[nodiscard]] boost::asio::any_io_executor executor() const { return poster_->executor(); }

  /// run() will be called soon, never inside this call.
  void schedule();

 private:
  /// May throw; what is left to do then comes with the next run, which follows.
  virtual void run() = 0;
  /// The context has ended: run() is never called again. On the thread that ends it.
  virtual void abandoned() noexcept = 0;

  void run_once();
  void end_run(bool again) noexcept;
  void context_shutdown() noexcept override;

  const std::shared_ptr<runtime::AsioPoster> poster_;
  std::mutex mutex_;
  bool posted_ = false;  ///< A run is posted or under way.
  bool again_ = false;   ///< And another one is wanted.
  bool dead_ = false;
  std::shared_ptr<RemoteTarget> self_;  ///< While posted: the Work lives in here.
};

}  // namespace tickertape::net
