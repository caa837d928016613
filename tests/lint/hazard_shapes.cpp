// The shapes that the lint must find, one a function, and shapes that it must leave alone.
#include <coroutine>
#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  int await_resume() const noexcept { return 0; }
};

struct Message {
  std::string text;
  int number = 0;
};

class Built {
 public:
  explicit Built(std::string text) : text_(std::move(text)) {}

 private:
  std::string text_;
};

Task send(Message);
Task send_built(Built);
Task send_text(std::string);
Task send_many(std::initializer_list<int>);
Task send_default(std::string text = std::string("a"));
template <class Callable>
Task call(Callable);

Task bad_braced_temporary() {
  co_await send(Message{"a", 1});
}

Task bad_lambda_with_captured_object(std::shared_ptr<int> value) {
  co_await call([value] { return *value; });
}

Task bad_conditional_of_class_type(bool first) {
  const std::string a = "a";
  const std::string b = "b";
  co_await send_text(first ? a : b);
}

Task bad_initializer_list() {
  co_await send_many({1, 2, 3});
}

Task bad_default_argument_of_class_type() {
  co_await send_default();
}

void bad_capturing_lambda_coroutine(std::shared_ptr<int> value) {
  auto run = [number = *value]() -> Task { co_await send_text(std::to_string(number)); };
  run();
}

Task good_shapes(std::shared_ptr<int> value) {
  Message message{"a", 1};
  co_await send(std::move(message));
  co_await send_built(Built("a"));
  co_await send_built(Built{"a"});
  co_await send_text("literal");
  auto lambda = [value] { return *value; };
  co_await call(std::move(lambda));
  co_await call([&value] { return *value; });
  co_await send_text(std::to_string(*value == 0 ? 1 : 2));
  if (co_await send_text("a") > 0 && co_await send_text("b") > 0) co_return;
}

}  // namespace

int main() {  // Never run: the file is only read.
  bad_braced_temporary();
  bad_lambda_with_captured_object(nullptr);
  bad_conditional_of_class_type(true);
  bad_initializer_list();
  bad_default_argument_of_class_type();
  bad_capturing_lambda_coroutine(nullptr);
  good_shapes(nullptr);
}
