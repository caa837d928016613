// TimerHeap: armed timers, the earliest first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/scheduler.hpp"

namespace tickertape::runtime {

/// A binary heap whose timers know their places, so that disarming is O(log n). Not thread-safe.
class TimerHeap {
 public:
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  /// REQUIRES: !empty().
  [[nodiscard]] Timer& first() const noexcept { return *heap_.front(); }
  /// The earliest time, or kNever.
  [[nodiscard]] Nanoseconds first_when() const noexcept { return empty() ? kNever : first().when; }
  /// The seq that the next armed timer gets.
  [[nodiscard]] std::uint64_t next_seq() const noexcept { return next_seq_; }

  /// As Scheduler::arm.
  void arm(Timer* timer, Nanoseconds when) {
    disarm(timer);
    if (when == kNever) return;
    timer->when = when;
    timer->seq = next_seq_++;
    timer->index = heap_.size();
    heap_.push_back(timer);
    sift_up(timer->index);
  }

  void disarm(Timer* timer) noexcept {
    if (!timer->armed()) return;
    const std::size_t place = std::exchange(timer->index, Timer::kUnarmed);
    Timer* last = heap_.back();
    heap_.pop_back();
    if (last == timer) return;
    put(place, last);
    sift_up(place);
    sift_down(last->index);
  }

 private:
  static bool before(const Timer* a, const Timer* b) noexcept {
    return a->when != b->when ? a->when < b->when : a->seq < b->seq;
  }

  void put(std::size_t place, Timer* timer) noexcept {
    heap_[place] = timer;
    timer->index = place;
  }

  void swap_places(std::size_t a, std::size_t b) noexcept {
    Timer* timer = heap_[a];
    put(a, heap_[b]);
    put(b, timer);
  }

  void sift_up(std::size_t place) noexcept {
    while (place > 0) {
      const std::size_t parent = (place - 1) / 2;
      if (!before(heap_[place], heap_[parent])) return;
      swap_places(place, parent);
      place = parent;
    }
  }

  void sift_down(std::size_t place) noexcept {
    for (;;) {
      std::size_t least = place;
      for (std::size_t child = 2 * place + 1; child <= 2 * place + 2; ++child) {
        if (child < heap_.size() && before(heap_[child], heap_[least])) least = child;
      }
      if (least == place) return;
      swap_places(place, least);
      place = least;
    }
  }

  std::vector<Timer*> heap_;
  std::uint64_t next_seq_ = 1;
};

}  // namespace tickertape::runtime
