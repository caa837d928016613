// Budget: what a rendering may still use, and the error of going beyond it or of a template's
// fault.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace tickertape::kernels::text::jinja {

/// A fault of a template or of what it was given.
class TemplateError : public std::runtime_error {
 public:
  enum class Kind : unsigned char {
    fault,   ///< A wrong type, an undefined name, a missing argument ...
    bound,   ///< More steps, memory, output or depth than allowed.
    refusal  ///< raise_exception(): the message is the template's own.
  };
  explicit TemplateError(const std::string& message, Kind kind = Kind::fault)
      : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] Kind kind() const noexcept { return kind_; }

 private:
  Kind kind_;
};

[[noreturn]] inline void fail(const std::string& message) {
  throw TemplateError(message);
}
[[noreturn]] inline void fail_bound(const std::string& message) {
  throw TemplateError(message, TemplateError::Kind::bound);
}

struct Limits {
  std::uint64_t steps = 0;         ///< Nodes evaluated, plus one per 64 bytes of text touched.
  std::uint64_t memory_bytes = 0;  ///< Of all values alive at one time.
  std::uint64_t output_bytes = 0;  ///< Of the whole prompt.
};

/// Used by one thread at a time, like everything of a rendering.
class Budget {
 public:
  explicit Budget(const Limits& limits) noexcept : limits_(limits), steps_left_(limits.steps) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  void step(std::uint64_t count = 1) {
    if (count > steps_left_) fail_steps();
    steps_left_ -= count;
  }
  /// Steps for touching a text of this size.
  void touch(std::size_t bytes) { step(bytes / 64); }
  void take(std::uint64_t bytes) {
    if (bytes > limits_.memory_bytes - used_) fail_memory();
    used_ += bytes;
  }
  void give_back(std::uint64_t bytes) noexcept { used_ -= bytes; }
  void check_output(std::size_t bytes) const {
    if (bytes > limits_.output_bytes) fail_output();
  }

 private:
  [[noreturn]] void fail_steps() const {
    fail_bound("takes more than " + std::to_string(limits_.steps) + " steps");
  }
  [[noreturn]] void fail_memory() const {
    fail_bound("takes more than " + std::to_string(limits_.memory_bytes) + " bytes of memory");
  }
  [[noreturn]] void fail_output() const {
    fail_bound("writes more than " + std::to_string(limits_.output_bytes) + " bytes");
  }

  Limits limits_;
  std::uint64_t steps_left_;
  std::uint64_t used_ = 0;
};

/// Memory taken from a budget until this ends. Without a budget (a template's own literals) nothing
/// is counted.
class Charge {
 public:
  Charge() = default;
  Charge(Budget* budget, std::uint64_t bytes) : budget_(budget) { add(bytes); }
  Charge(Charge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge() {
    if (budget_ != nullptr) budget_->give_back(bytes_);
  }
  void add(std::uint64_t bytes) {
    if (budget_ == nullptr) return;
    budget_->take(bytes);
    bytes_ += bytes;
  }
  [[nodiscard]] Budget* budget() const noexcept { return budget_; }

 private:
  Budget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace tickertape::kernels::text::jinja
