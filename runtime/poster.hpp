// Poster: runs Works in somebody else's execution context, which may end at any time.
#pragma once
#include "runtime/scheduler.hpp"

namespace tickertape::runtime {

/// Hears that the context of a poster has ended.
struct ShutdownListener {
  /// Called once, from the thread that destroys the context, with no lock of the poster held that
  /// post() takes. Works of the poster that have not run by now never will.
  virtual void context_shutdown() noexcept = 0;

 protected:
  ~ShutdownListener() = default;
};

/// One per executor. The poster may outlive the context and the context may outlive the poster; a
/// posted Work runs in both cases unless the context ends first, so its owner keeps it alive until
/// it ran or the listener was told.
///
/// Thread rules: any thread, at any time, also while the context is being destroyed.
class Poster {
 public:
  Poster() = default;
  Poster(const Poster&) = delete;
  Poster& operator=(const Poster&) = delete;
  virtual ~Poster() = default;

  /// Queues `work` in the context; never runs it inside this call. False once the context is gone:
  /// the Work will never run. After true, either it runs or the listener is told.
  [[nodiscard]] virtual bool post(Work* work) = 0;

  /// Who is told of the context's end; null for nobody. When this returns, the former listener is
  /// not called any more. A context that has ended already is told at once, inside this call.
  virtual void set_shutdown_listener(ShutdownListener* listener) = 0;
};

}  // namespace tickertape::runtime
