// SimScheduler: drawing the next step, and the record of all steps.
#include "runtime/sim_scheduler.hpp"

#include <algorithm>

#include <tickertape/assert.hpp>

namespace tickertape::runtime {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// 2014): a bijection that spreads every bit of its input.
std::uint64_t scramble(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

}  // namespace

/// A posted work on its way to the ready queue.
struct SimScheduler::Delayed : Timer {
  SimScheduler* scheduler = nullptr;
  Work* work = nullptr;
};

SimScheduler::SimScheduler(std::uint64_t seed) : state_(scramble(seed + kGolden)) {}

SimScheduler::~SimScheduler() = default;

std::uint64_t SimScheduler::random() noexcept {
  state_ += kGolden;
  return scramble(state_);
}

void SimScheduler::mix(std::uint64_t value) noexcept {
  digest_ = scramble((digest_ ^ value) + kGolden);
}

void SimScheduler::note(char kind, std::uint64_t a) {
  mix(static_cast<std::uint64_t>(kind));
  mix(static_cast<std::uint64_t>(now_));
  mix(a);
  if (out_ != nullptr) *out_ << steps_ << ' ' << now_ << ' ' << kind << ' ' << a << '\n';
}

void SimScheduler::trace(std::uint32_t event, std::uint64_t a, std::uint64_t b) {
  mix(event);
  mix(a);
  mix(b);
  if (out_ == nullptr) return;
  *out_ << steps_ << ' ' << now_ << " X " << event << ' ' << a << ' ' << b << '\n';
}

void SimScheduler::delay_posts(unsigned per_1024, Nanoseconds max_delay_ns) {
  TICKERTAPE_ASSERT(per_1024 == 0 || max_delay_ns > 0);
  delay_per_1024_ = per_1024;
  max_delay_ns_ = max_delay_ns;
}

void SimScheduler::post(Work* work) {
  TICKERTAPE_ASSERT(std::this_thread::get_id() == thread_);
  if (delay_per_1024_ == 0 || random(1024) >= delay_per_1024_) {
    ready_.push_back(work);
    return;
  }
  auto delayed = std::make_unique<Delayed>();
  delayed->scheduler = this;
  delayed->work = work;
  delayed->fire = [](Timer* timer) {
    auto* self = static_cast<Delayed*>(timer);
    SimScheduler& scheduler = *self->scheduler;
    Work* ready = self->work;
    std::erase_if(scheduler.delayed_, [self](const auto& other) { return other.get() == self; });
    scheduler.note('D', ready->tag);
    scheduler.ready_.push_back(ready);
  };
  const auto delay = 1 + random(static_cast<std::uint64_t>(max_delay_ns_));
  timers_.arm(delayed.get(), now_ + static_cast<Nanoseconds>(delay));
  delayed_.push_back(std::move(delayed));
}

bool SimScheduler::cancel(Work* work) {
  const auto ready = std::find(ready_.begin(), ready_.end(), work);
  if (ready != ready_.end()) {
    ready_.erase(ready);
    return true;
  }
  const auto delayed =
      std::find_if(delayed_.begin(), delayed_.end(),
                   [work](const auto& candidate) { return candidate->work == work; });
  if (delayed == delayed_.end()) return false;
  timers_.disarm(delayed->get());
  delayed_.erase(delayed);
  return true;
}

bool SimScheduler::step() {
  const bool due = timers_.first_when() <= now_;
  const std::size_t num_choices = ready_.size() + (due ? 1 : 0);
  if (num_choices == 0 && timers_.empty()) return false;
  ++steps_;
  const std::size_t choice = num_choices < 2 ? 0 : static_cast<std::size_t>(random(num_choices));
  if (choice < ready_.size()) {
    run_ready(choice);
  } else {
    fire_first();
  }
  return true;
}

bool SimScheduler::run(std::uint64_t max_steps) {
  for (std::uint64_t i = 0; i < max_steps; ++i) {
    if (!step()) return true;
  }
  return ready_.empty() && timers_.empty();
}

void SimScheduler::run_ready(std::size_t place) {
  Work* work = ready_[place];
  ready_[place] = ready_.back();
  ready_.pop_back();
  note('W', work->tag);
  work->run(work);
}

void SimScheduler::fire_first() {
  Timer& timer = timers_.first();
  now_ = std::max(now_, timer.when);
  timers_.disarm(&timer);
  note('T', timer.seq);
  timer.fire(&timer);
}

}  // namespace tickertape::runtime
