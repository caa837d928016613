// Interpreter: runs a syntax tree once.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/jinja/runtime.hpp"
#include "kernels/text/jinja/scope.hpp"
#include "kernels/text/jinja/syntax_tree.hpp"

namespace tickertape::kernels::text::jinja {

class LoopState;

/// One rendering; used by one thread. Throws TemplateError for what goes wrong; line() is then the
/// line of the template where it did.
class Interpreter {
 public:
  Interpreter(const SyntaxTree& tree, const Limits& limits, const Clock& clock);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  [[nodiscard]] Runtime& runtime() noexcept { return run_; }
  /// Gives a variable its value; one that the template never names is passed over.
  void set_variable(const std::string& name, Value value);
  [[nodiscard]] TextPtr render();
  [[nodiscard]] std::uint32_t line() const noexcept { return line_; }

  /// What a macro writes when it is called. `closure` is the scope that it was defined in.
  [[nodiscard]] Value call_macro(const MacroCode& code, Scope& closure, Arguments arguments);
  /// What a recursive loop writes for these items.
  [[nodiscard]] Value call_loop(const Statement& loop, Scope& closure, const Value& items,
                                std::int64_t depth);

 private:
  enum class Flow : unsigned char { normal, broken, continued };

  // Statements (interpreter.cpp).
  Flow run_body(const Body& body, Scope& scope);
  Flow run_statement(const Statement& statement, Scope& scope);
  Flow run_branch(const Statement& statement, Scope& scope);
  Flow run_loop(const Statement& statement, Scope& scope, ListPtr items, std::int64_t depth);
  /// The body in a scope of its own.
  Flow run_scoped(const Statement& statement, Scope& scope);
  void run_set_block(const Statement& statement, Scope& scope);
  void run_call_block(const Statement& statement, Scope& scope);
  Flow run_with(const Statement& statement, Scope& scope);
  void run_filter_block(const Statement& statement, Scope& scope);
  [[nodiscard]] ListPtr loop_items(const Statement& statement, Scope& scope, const Value& all);
  void bind_arguments(const MacroCode& code, Arguments arguments, Scope& scope);
  void assign(const Target& target, Scope& scope, Value value);
  void write(const Value& value);
  /// What `work` writes, instead of writing it.
  template <class Work>
  [[nodiscard]] TextPtr capture(const Work& work);
  [[nodiscard]] std::unique_ptr<Scope> open(Scope* parent);
  void close(std::unique_ptr<Scope> scope);

  // Expressions (evaluate.cpp).
  [[nodiscard]] Value evaluate(const Expr& expr, Scope& scope);
  [[nodiscard]] Value evaluate_plain(const Expr& expr, Scope& scope);
  /// The step of a chain: what `expr` makes of its first item.
  [[nodiscard]] Value apply(const Expr& expr, Value subject, Scope& scope);
  [[nodiscard]] Value look_up(const Expr& expr, Scope& scope);
  [[nodiscard]] Value conditional(const Expr& expr, Scope& scope);
  [[nodiscard]] Value junction(const Expr& expr, Scope& scope);
  [[nodiscard]] Value comparison(const Expr& expr, Scope& scope);
  [[nodiscard]] Value concat(const Expr& expr, Scope& scope);
  [[nodiscard]] Value collection(const Expr& expr, Scope& scope);
  [[nodiscard]] Value dictionary(const Expr& expr, Scope& scope);
  [[nodiscard]] Value sliced(const Expr& expr, const Value& subject, Scope& scope);
  [[nodiscard]] Value filtered(const Expr& expr, const Value& subject, Scope& scope);
  [[nodiscard]] Value tested(const Expr& expr, const Value& subject, Scope& scope);
  [[nodiscard]] Value called(const Expr& expr, const Value& subject, Arguments arguments);
  [[nodiscard]] Arguments evaluate_arguments(const CallArguments& arguments, Scope& scope);

  const SyntaxTree& tree_;
  Runtime run_;
  std::vector<std::unique_ptr<Scope>> held_scopes_;
  std::unique_ptr<Scope> globals_;
  TextBuilder* out_ = nullptr;
  bool capturing_ = false;
  Value captured_;
  std::uint32_t line_ = 0;
  std::uint32_t macro_depth_ = 0;
};

}  // namespace tickertape::kernels::text::jinja
