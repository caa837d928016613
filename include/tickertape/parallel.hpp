// Parallel: how computation asks for threads.
#pragma once
#include <memory>
#include <type_traits>

namespace tickertape {

/// A team of compute threads. The caller of run() is member 0. One team per process can be shared
/// by several engines: calls from different threads take turns.
///
/// Thread rules: run() may be called from any thread, but not from inside a run().
class Parallel {
 public:
  using Function = void (*)(void* context, unsigned member, unsigned num_members);

  virtual ~Parallel() = default;

  /// How many members run() uses at most, the caller included. At least 1.
  [[nodiscard]] virtual unsigned num_members() const noexcept = 0;

  /// Calls function(context, i, n) for i in [0, n) at the same time, n = min(limit, num_members()),
  /// and returns when all have returned. The functions must not throw.
  virtual void run(unsigned limit, Function function, void* context) = 0;

  /// run() for a callable `void(unsigned member, unsigned num_members)`.
  template <class Callable>
  void run(unsigned limit, Callable& callable) {
    static_assert(std::is_invocable_v<Callable&, unsigned, unsigned>);
    run(
        limit,
        [](void* context, unsigned member, unsigned num_members) {
          (*static_cast<Callable*>(context))(member, num_members);
        },
        &callable);
  }

  /// Meeting point inside a run(): every member calls it the same number of times; nobody leaves
  /// before all have come. Makes earlier writes of all members visible to all.
  virtual void barrier() noexcept = 0;
};

/// A team of one: everything runs on the caller.
class SingleThread final : public Parallel {
 public:
  [[nodiscard]] unsigned num_members() const noexcept override { return 1; }
  void run(unsigned, Function function, void* context) override { function(context, 0, 1); }
  using Parallel::run;
  void barrier() noexcept override {}
};

}  // namespace tickertape
