// ScriptedProbe: the hold that a test has on blocked passes.
#include <chrono>
#include <tickertape/scripted.hpp>

namespace tickertape {

void ScriptedProbe::wait_until_blocked(std::uint64_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return num_blocked_ >= count; });
}

void ScriptedProbe::release() {
  const std::lock_guard lock(mutex_);
  num_released_ = num_blocked_;
  changed_.notify_all();
}

std::uint64_t ScriptedProbe::block() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
  return num_blocked_++;
}

bool ScriptedProbe::wait_released(std::uint64_t blocked, std::int64_t timeout_ns) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                           [&] { return num_released_ > blocked; });
}

}  // namespace tickertape
