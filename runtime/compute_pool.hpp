// ComputePool: the team of compute threads of a process.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <tickertape/parallel.hpp>

#include "runtime/cpu_count.hpp"

namespace tickertape::runtime {

/// The caller of run() computes as member 0; the helpers are threads that start with the first run
/// that needs them. A helper without a job spins for some 30 us, since a pass is a row of runs, and
/// then sleeps: an idle pool uses no CPU. Callers from several threads take turns, in order of
/// arrival.
class ComputePool final : public Parallel {
 public:
  /// `nice` is the helpers' priority (Linux: per thread, 0 to 19); what the system refuses is left
  /// as it is. REQUIRES: num_members >= 1.
  ComputePool(unsigned num_members, int nice);
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;
  /// REQUIRES: no run() is under way.
  ~ComputePool() override;

  [[nodiscard]] unsigned num_members() const noexcept override { return num_members_; }
  /// Throws std::system_error when the system gives no more threads; nothing has run then.
  void run(unsigned limit, Function function, void* context) override;
  using Parallel::run;
  void barrier() noexcept override;

 private:
  struct Helper;

  void take_turn() noexcept;
  void end_turn() noexcept;
  void start_helpers();
  void help(Helper& helper, unsigned member);

  const unsigned num_members_;
  const int nice_;
  std::vector<std::unique_ptr<Helper>> helpers_;  // Changed only by whoever has the turn.

  // Turns: as at a counter with numbered tickets.
  alignas(64) std::atomic<std::uint32_t> next_turn_{0};
  alignas(64) std::atomic<std::uint32_t> turn_{0};

  // The job: written by whoever has the turn, before its helpers are called.
  Function function_ = nullptr;
  void* context_ = nullptr;
  unsigned num_running_ = 1;
  alignas(64) std::atomic<std::uint32_t> num_unfinished_{0};

  alignas(64) std::atomic<std::uint32_t> num_arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
};

/// The pool that the engines of this process share: made by the first call, kept while somebody
/// holds it, and followed by a larger one when more members are asked for (holders keep theirs).
/// The `nice` of the call that makes a pool counts.
[[nodiscard]] std::shared_ptr<ComputePool> process_compute_pool(unsigned num_members, int nice);

/// Sets the calling thread's priority (Linux); false if the system refuses.
bool set_thread_nice(int nice) noexcept;

}  // namespace tickertape::runtime
