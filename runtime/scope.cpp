// Scope: the life of one child, from its first step to what its end means for the others.
#include "runtime/scope.hpp"

#include <memory>
#include <utility>

namespace tickertape::runtime {

struct Scope::Child : Work, ListNode<Child> {
  Child(Scope& owner, Task<> work, Down handler)
      : scope(owner), task(std::move(work)), down(std::move(handler)) {}
  ~Child() {
    if (posted) scope.scheduler_.cancel(this);
  }

  Scope& scope;
  Task<> task;
  Down down;
  bool posted = false;
};

Scope::Scope(Scheduler& scheduler, std::uint32_t tag)
    : scheduler_(scheduler), tag_(tag), idle_(scheduler, tag) {}

Scope::~Scope() {
  while (!children_.empty()) delete &children_.back();
}

void Scope::spawn(Task<> task, Down down) {
  auto child = std::make_unique<Child>(*this, std::move(task), std::move(down));
  child->tag = tag_;
  child->run = [](Work* work) {
    auto* self = static_cast<Child*>(work);
    self->posted = false;
    if (self->task.start(&Scope::finished, self)) finished(self);
  };
  idle_.reset();
  ++num_children_;
  children_.push_back(*child);
  child->posted = true;
  scheduler_.post(child.release());
}

void Scope::finished(void* context) {
  std::unique_ptr<Child> child(static_cast<Child*>(context));
  Scope& scope = child->scope;
  const std::exception_ptr error = child->task.error();
  const Down down = std::move(child->down);
  child.reset();
  // The child counts until its handler is through, so that a handler may spawn a successor.
  if (down) {
    try {
      down(error);
    } catch (...) {
      scope.fail(std::current_exception());
    }
  } else if (error) {
    scope.fail(error);
  }
  if (--scope.num_children_ == 0) scope.idle_.set();
}

void Scope::fail(std::exception_ptr error) {
  if (failure_) return;
  failure_ = std::move(error);
  stop_.request_stop();
}

Task<> Scope::join() {
  while (num_children_ != 0) static_cast<void>(co_await idle_.wait());
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace tickertape::runtime
