// TestHost: a BackendHost with a clock that a test moves.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <tickertape/backend.hpp>

namespace tickertape::test {

class TestHost final : public BackendHost {
 public:
  [[nodiscard]] std::int64_t now() const override { return now_ns_; }
  void post(Ticket ticket) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back({now_ns_, ticket});
    changed_.notify_all();
  }
  void post_at(Ticket ticket, std::int64_t when_ns) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back({when_ns, ticket});
    changed_.notify_all();
  }
  void beat() noexcept override { ++beats; }
  [[nodiscard]] bool stop_requested() const noexcept override { return stop; }

  /// The next posted ticket; the clock moves to its time. Empty when there is none.
  [[nodiscard]] std::optional<Ticket> next() {
    const std::lock_guard lock(mutex_);
    return pop();
  }

  /// next(), but waits for a post from another thread.
  [[nodiscard]] Ticket wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !posted_.empty(); });
    return *pop();
  }

  std::atomic<bool> stop{false};
  std::atomic<int> beats{0};

 private:
  struct Post {
    std::int64_t when_ns;
    Ticket ticket;
  };

  std::optional<Ticket> pop() {
    const auto first =
        std::min_element(posted_.begin(), posted_.end(),
                         [](const Post& a, const Post& b) { return a.when_ns < b.when_ns; });
    if (first == posted_.end()) return std::nullopt;
    now_ns_ = std::max<std::int64_t>(now_ns_, first->when_ns);
    const Ticket ticket = first->ticket;
    posted_.erase(first);
    return ticket;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Post> posted_;
  std::atomic<std::int64_t> now_ns_{0};
};

}  // namespace tickertape::test
