// ComputePool: handing out jobs, waiting for them, and the barrier inside of them.
#include "runtime/compute_pool.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>

#include <tickertape/assert.hpp>

namespace tickertape::runtime {
namespace {

constexpr std::chrono::microseconds kSpin{30};
/// Short, because the yields that follow are cheap on a core of one's own, and because members that
/// share a core spend this time twice at every barrier.
constexpr std::chrono::microseconds kBarrierSpin{5};

void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `done()`. False: time is up.
template <class Done>
bool spin_until(Done done, std::chrono::microseconds limit) noexcept {
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    // A look at the clock costs as much as a few pauses.
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_cpu();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// Waits until `value` is no longer `old`: spins, then sleeps.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) noexcept {
  const auto changed = [&] { return value.load(std::memory_order_acquire) != old; };
  if (!spin_until(changed, kSpin)) value.wait(old, std::memory_order_acquire);
}

}  // namespace

struct ComputePool::Helper {
  /// Counts the jobs given to this helper. Each has its own, so a job for few wakes only those.
  alignas(64) std::atomic<std::uint32_t> num_jobs{0};
  std::atomic<bool> quit{false};
  std::thread thread;

  void call() noexcept {
    num_jobs.fetch_add(1, std::memory_order_release);
    num_jobs.notify_one();
  }
};

ComputePool::ComputePool(unsigned num_members, int nice) : num_members_(num_members), nice_(nice) {
  TICKERTAPE_ASSERT(num_members >= 1);
}

ComputePool::~ComputePool() {
  for (const auto& helper : helpers_) {
    helper->quit.store(true, std::memory_order_relaxed);
    helper->call();
  }
  for (const auto& helper : helpers_) helper->thread.join();
}

void ComputePool::take_turn() noexcept {
  const std::uint32_t mine = next_turn_.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t current = turn_.load(std::memory_order_acquire);
    if (current == mine) return;
    wait_while(turn_, current);
  }
}

void ComputePool::end_turn() noexcept {
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
}

void ComputePool::start_helpers() {
  while (helpers_.size() + 1 < num_members_) {
    auto helper = std::make_unique<Helper>();
    const auto member = static_cast<unsigned>(helpers_.size() + 1);
    helpers_.reserve(num_members_);
    helper->thread = std::thread([this, &self = *helper, member] { help(self, member); });
    helpers_.push_back(std::move(helper));
  }
}

void ComputePool::help(Helper& helper, unsigned member) {
  pthread_setname_np(pthread_self(), ("compute-" + std::to_string(member)).c_str());
  set_thread_nice(nice_);
  for (std::uint32_t job = 0;; ++job) {
    wait_while(helper.num_jobs, job);
    if (helper.quit.load(std::memory_order_relaxed)) return;
    function_(context_, member, num_running_);
    if (num_unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) num_unfinished_.notify_one();
  }
}

void ComputePool::run(unsigned limit, Function function, void* context) {
  struct Turn {
    explicit Turn(ComputePool& pool) noexcept : pool_(pool) { pool_.take_turn(); }
    ~Turn() { pool_.end_turn(); }
    ComputePool& pool_;
  };
  const Turn turn(*this);
  const unsigned num_running = std::clamp(limit, 1u, num_members_);
  if (num_running > 1) start_helpers();
  function_ = function;
  context_ = context;
  num_running_ = num_running;
  num_unfinished_.store(num_running - 1, std::memory_order_relaxed);
  for (unsigned member = 1; member < num_running; ++member) helpers_[member - 1]->call();
  function(context, 0, num_running);
  for (;;) {
    const std::uint32_t left = num_unfinished_.load(std::memory_order_acquire);
    if (left == 0) return;
    wait_while(num_unfinished_, left);
  }
}

void ComputePool::barrier() noexcept {
  const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (num_arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == num_running_) {
    num_arrived_.store(0, std::memory_order_relaxed);
    phase_.store(phase + 1, std::memory_order_release);
    return;
  }
  const auto changed = [&] { return phase_.load(std::memory_order_acquire) != phase; };
  if (spin_until(changed, kBarrierSpin)) return;
  // A member that is not running may need this very core.
  while (!changed()) std::this_thread::yield();
}

std::shared_ptr<ComputePool> process_compute_pool(unsigned num_members, int nice) {
  static std::mutex mutex;
  static std::weak_ptr<ComputePool> shared;
  const std::lock_guard lock(mutex);
  auto pool = shared.lock();
  if (pool == nullptr || pool->num_members() < num_members) {
    pool = std::make_shared<ComputePool>(num_members, nice);
    shared = pool;
  }
  return pool;
}

bool set_thread_nice(int nice) noexcept {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  return setpriority(PRIO_PROCESS, thread, nice) == 0;
}

}  // namespace tickertape::runtime
