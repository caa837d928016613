// Task: a coroutine that starts when it is awaited and hands one result to whoever awaits it.
#pragma once
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include <tickertape/assert.hpp>

namespace tickertape::runtime {

template <class T = void>
class Task;

namespace detail {

/// What both kinds of result share. A task that ends while its starter is still inside start() only
/// sets `done`; one that was suspended calls `completed`. So a loop over tasks that end at once
/// needs constant stack with every compiler and at every level of optimisation, which symmetric
/// transfer does not give.
struct TaskPromiseBase {
  void (*completed)(void*) = nullptr;
  void* context = nullptr;
  bool starting = false;
  bool done = false;
  std::exception_ptr error;

  struct Final {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) noexcept {
      TaskPromiseBase& promise = handle.promise();
      promise.done = true;
      // The callee may destroy this frame: nothing of it is touched afterwards.
      if (!promise.starting) promise.completed(promise.context);
    }
    void await_resume() noexcept {}
  };

  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }
};

template <class T>
struct TaskPromise : TaskPromiseBase {
  std::optional<T> value;

  Task<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
    return std::move(*value);
  }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Task<void> get_return_object();
  void return_void() noexcept {}
  void take() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

}  // namespace detail

/// Owns a coroutine's frame. Nothing runs until the task is awaited (`co_await std::move(task)` or
/// `co_await function()`) or started. Destroying an unfinished task destroys its frame and, through
/// it, the tasks that it awaits; a task that is running must not be destroyed.
///
/// Thread rules: everything on the thread of one scheduler.
template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() { reset(); }

  /// Runs the task until it first suspends or ends. True: it ended, and `completed` is never
  /// called. False: `completed(context)` is called once, when it ends; it may destroy the task.
  bool start(void (*completed)(void*), void* context) {
    TICKERTAPE_ASSERT(handle_ && handle_.promise().completed == nullptr);
    promise_type& promise = handle_.promise();
    promise.completed = completed;
    promise.context = context;
    promise.starting = true;
    handle_.resume();
    promise.starting = false;
    return promise.done;
  }

  [[nodiscard]] bool done() const noexcept { return handle_ && handle_.promise().done; }

  /// The exception that ended a started task, or null.
  [[nodiscard]] std::exception_ptr error() const noexcept { return handle_.promise().error; }

  class Awaiter {
   public:
    explicit Awaiter(Task& task) noexcept : task_(task) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> parent) {
      return !task_.start(
          [](void* address) { std::coroutine_handle<>::from_address(address).resume(); },
          parent.address());
    }
    T await_resume() { return task_.handle_.promise().take(); }

   private:
    Task& task_;
  };

  Awaiter operator co_await() && noexcept { return Awaiter(*this); }

 private:
  void reset() noexcept {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }

  Handle handle_;
};

namespace detail {

template <class T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise<T>>::from_promise(*this));
}

inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise<void>>::from_promise(*this));
}

}  // namespace detail

}  // namespace tickertape::runtime
