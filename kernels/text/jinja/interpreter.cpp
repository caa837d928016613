// Interpreter: statements, scopes and macros.
#include "kernels/text/jinja/interpreter.hpp"

#include <algorithm>

#include "kernels/text/jinja/loop_state.hpp"
#include "kernels/text/jinja/python.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

constexpr std::uint32_t kMaxMacroDepth = 100;

/// A macro, or the caller of a call block.
class Macro final : public Object {
 public:
  Macro(Interpreter& interpreter, const MacroCode& code, Scope& closure)
      : interpreter_(interpreter), code_(code), closure_(closure) {}
  [[nodiscard]] std::string_view type_name() const noexcept override { return "Macro"; }
  [[nodiscard]] bool callable() const noexcept override { return true; }
  [[nodiscard]] std::optional<Value> attribute(Runtime& run, std::string_view name) override {
    if (name == "name") return run.text(code_.name);
    return std::nullopt;
  }
  [[nodiscard]] Value call(Runtime&, Arguments arguments) override {
    return interpreter_.call_macro(code_, closure_, std::move(arguments));
  }

 private:
  Interpreter& interpreter_;
  const MacroCode& code_;
  Scope& closure_;
};

/// A function of the engine, such as range.
class Function final : public Object {
 public:
  explicit Function(const Native& native) : native_(native) {}
  [[nodiscard]] std::string_view type_name() const noexcept override { return "function"; }
  [[nodiscard]] bool callable() const noexcept override { return true; }
  [[nodiscard]] Value call(Runtime& run, Arguments arguments) override {
    return invoke(run, native_, Value{}, std::move(arguments));
  }

 private:
  const Native& native_;
};

}  // namespace

Interpreter::Interpreter(const SyntaxTree& tree, const Limits& limits, const Clock& clock)
    : tree_(tree), run_(limits, clock), globals_(std::make_unique<Scope>(nullptr)) {
  for (const auto& [name, symbol] : tree_.symbols) {
    if (const Native* function = find_function(name)) {
      globals_->set(symbol, run_.make<Function>(*function));
    }
  }
}

Interpreter::~Interpreter() = default;

void Interpreter::set_variable(const std::string& name, Value value) {
  const auto found = tree_.symbols.find(name);
  if (found != tree_.symbols.end()) globals_->set(found->second, std::move(value));
}

TextPtr Interpreter::render() {
  TextBuilder out(run_.budget());
  out_ = &out;
  auto scope = open(globals_.get());
  run_body(tree_.body, *scope);
  close(std::move(scope));
  return out.finish();
}

std::unique_ptr<Scope> Interpreter::open(Scope* parent) {
  return std::make_unique<Scope>(parent);
}

void Interpreter::close(std::unique_ptr<Scope> scope) {
  if (!scope->held()) return;
  run_.budget()->take(sizeof(Scope));
  held_scopes_.push_back(std::move(scope));
}

Interpreter::Flow Interpreter::run_body(const Body& body, Scope& scope) {
  run_.check_stack();
  for (const Statement* statement : body) {
    if (const Flow flow = run_statement(*statement, scope); flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::run_statement(const Statement& statement, Scope& scope) {
  run_.budget()->step();
  line_ = statement.line;
  switch (statement.kind) {
    case StatementKind::data:
      write(statement.text);
      break;
    case StatementKind::output:
      write(evaluate(*statement.expr, scope));
      break;
    case StatementKind::branch:
      return run_branch(statement, scope);
    case StatementKind::loop:
      return run_loop(statement, scope,
                      loop_items(statement, scope, evaluate(*statement.expr, scope)), 0);
    case StatementKind::set:
      assign(statement.target, scope, evaluate(*statement.expr, scope));
      break;
    case StatementKind::set_block:
      run_set_block(statement, scope);
      break;
    case StatementKind::macro:
      scope.hold();
      scope.set(statement.target.symbol, run_.make<Macro>(*this, statement.code, scope));
      break;
    case StatementKind::call_block:
      run_call_block(statement, scope);
      break;
    case StatementKind::filter_block:
      run_filter_block(statement, scope);
      break;
    case StatementKind::with:
      return run_with(statement, scope);
    case StatementKind::scope:
      return run_scoped(statement, scope);
    case StatementKind::break_loop:
      return Flow::broken;
    case StatementKind::continue_loop:
      return Flow::continued;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::run_branch(const Statement& statement, Scope& scope) {
  for (const Statement::Branch& branch : statement.branches) {
    if (branch.test == nullptr || truthy(evaluate(*branch.test, scope))) {
      return run_body(branch.body, scope);
    }
  }
  return Flow::normal;
}

ListPtr Interpreter::loop_items(const Statement& statement, Scope& scope, const Value& all) {
  ListPtr items = items_of(run_.budget(), all);
  if (statement.condition == nullptr) return items;
  std::vector<Value> chosen;
  auto inner = open(&scope);
  for (const Value& item : items->items()) {
    run_.budget()->step();
    inner->clear();
    assign(statement.target, *inner, item);
    if (truthy(evaluate(*statement.condition, *inner))) chosen.push_back(item);
  }
  close(std::move(inner));
  return std::make_shared<const List>(std::move(chosen), ListKind::list, run_.budget());
}

Interpreter::Flow Interpreter::run_loop(const Statement& statement, Scope& scope, ListPtr items,
                                        std::int64_t depth) {
  if (items->size() == 0) {
    auto inner = open(&scope);
    const Flow flow = run_body(statement.otherwise, *inner);
    close(std::move(inner));
    return flow;
  }
  if (statement.recursive) scope.hold();
  static const std::string kLoop = "loop";
  const auto symbol = tree_.symbols.find(kLoop);
  LoopState* const loop = symbol == tree_.symbols.end()
                              ? nullptr
                              : run_.make<LoopState>(*this, statement, scope, items, depth);
  auto inner = open(&scope);
  for (std::size_t i = 0; i < items->size(); ++i) {
    run_.budget()->step();
    if (inner->held()) {
      close(std::move(inner));
      inner = open(&scope);
    }
    inner->clear();
    if (loop != nullptr) {
      loop->move_to(static_cast<std::int64_t>(i));
      inner->set(symbol->second, loop);
    }
    assign(statement.target, *inner, items->items()[i]);
    if (run_body(statement.body, *inner) == Flow::broken) break;
  }
  if (loop != nullptr) loop->finish();
  close(std::move(inner));
  return Flow::normal;
}

Interpreter::Flow Interpreter::run_scoped(const Statement& statement, Scope& scope) {
  auto inner = open(&scope);
  const Flow flow = run_body(statement.body, *inner);
  close(std::move(inner));
  return flow;
}

Interpreter::Flow Interpreter::run_with(const Statement& statement, Scope& scope) {
  auto inner = open(&scope);
  for (const auto& [target, value] : statement.assignments) {
    assign(target, *inner, evaluate(*value, scope));
  }
  const Flow flow = run_body(statement.body, *inner);
  close(std::move(inner));
  return flow;
}

template <class Work>
TextPtr Interpreter::capture(const Work& work) {
  TextBuilder text(run_.budget());
  TextBuilder* const outer = std::exchange(out_, &text);
  const bool was_capturing = std::exchange(capturing_, true);
  work();  // An exception ends the rendering, so nothing is put back then.
  out_ = outer;
  capturing_ = was_capturing;
  return text.finish();
}

void Interpreter::run_set_block(const Statement& statement, Scope& scope) {
  captured_ = capture([&] { run_scoped(statement, scope); });
  assign(statement.target, scope, evaluate(*statement.expr, scope));
}

void Interpreter::run_filter_block(const Statement& statement, Scope& scope) {
  captured_ = capture([&] { run_scoped(statement, scope); });
  write(evaluate(*statement.expr, scope));
}

void Interpreter::run_call_block(const Statement& statement, Scope& scope) {
  scope.hold();
  const Expr& call = *statement.expr;
  const Value subject = evaluate(*call.items[0], scope);
  Arguments arguments = evaluate_arguments(*call.arguments, scope);
  arguments.named.emplace_back("caller", run_.make<Macro>(*this, statement.code, scope));
  write(called(call, subject, std::move(arguments)));
}

Value Interpreter::call_macro(const MacroCode& code, Scope& closure, Arguments arguments) {
  if (macro_depth_ >= kMaxMacroDepth) {
    fail_bound("calls macros inside each other more than " + std::to_string(kMaxMacroDepth) +
               " deep");
  }
  ++macro_depth_;
  const std::uint32_t line = line_;
  auto scope = open(&closure);
  bind_arguments(code, std::move(arguments), *scope);
  const TextPtr text = capture([&] { run_body(code.body, *scope); });
  close(std::move(scope));
  line_ = line;
  --macro_depth_;
  return text;
}

void Interpreter::bind_arguments(const MacroCode& code, Arguments arguments, Scope& scope) {
  const auto symbol_of = [&](const char* name) { return tree_.symbols.at(name); };
  const std::string what = "macro '" + code.name + "'";
  std::vector<bool> given(code.parameters.size());
  std::vector<Value> more;
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    if (i < given.size()) {
      scope.set(code.parameters[i].symbol, arguments.positional[i]);
      given[i] = true;
    } else {
      more.push_back(arguments.positional[i]);
    }
  }
  if (!more.empty() && !code.uses_varargs) {
    fail(what + " takes at most " + std::to_string(given.size()) + " arguments");
  }
  DictBuilder named(run_.budget());
  if (code.uses_caller) {
    scope.set(
        symbol_of("caller"),
        Undefined{std::make_shared<const std::string>(what + " was called without a caller")});
  }
  for (auto& [name, value] : arguments.named) {
    const auto is_named = [&](const Parameter& p) { return p.name == name; };
    const auto found = std::find_if(code.parameters.begin(), code.parameters.end(), is_named);
    const auto index = static_cast<std::size_t>(found - code.parameters.begin());
    if (found != code.parameters.end()) {
      if (given[index]) fail(what + " got '" + name + "' twice");
      scope.set(found->symbol, std::move(value));
      given[index] = true;
    } else if (name == "caller" && code.uses_caller) {
      scope.set(symbol_of("caller"), std::move(value));
    } else if (code.uses_kwargs) {
      named.set(run_.text(name, arguments.names_marked), std::move(value));
    } else {
      fail(what + " has no argument '" + name + "'");
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    const Parameter& parameter = code.parameters[i];
    scope.set(parameter.symbol, parameter.missing != nullptr
                                    ? evaluate(*parameter.missing, scope)
                                    : Undefined{std::make_shared<const std::string>(
                                          what + " was called without '" + parameter.name + "'")});
  }
  if (code.uses_varargs) {
    scope.set(symbol_of("varargs"), make_list(run_.budget(), std::move(more), ListKind::tuple));
  }
  if (code.uses_kwargs) scope.set(symbol_of("kwargs"), named.finish());
}

Value Interpreter::call_loop(const Statement& loop, Scope& closure, const Value& items,
                             std::int64_t depth) {
  if (depth > static_cast<std::int64_t>(kMaxMacroDepth)) {
    fail_bound("runs a loop inside itself more than " + std::to_string(kMaxMacroDepth) + " deep");
  }
  return capture([&] { run_loop(loop, closure, loop_items(loop, closure, items), depth); });
}

void Interpreter::assign(const Target& target, Scope& scope, Value value) {
  if (target.is_tuple) {
    require_defined(value);
    const ListPtr items = items_of(run_.budget(), value);
    if (items->size() != target.parts.size()) {
      fail("expected " + std::to_string(target.parts.size()) + " values to unpack, got " +
           std::to_string(items->size()));
    }
    for (std::size_t i = 0; i < target.parts.size(); ++i) {
      assign(target.parts[i], scope, items->items()[i]);
    }
    return;
  }
  if (target.member.empty()) {
    scope.set(target.symbol, std::move(value));
    return;
  }
  const Value* owner = scope.find(target.symbol);
  const bool written = owner != nullptr && owner->is(Kind::object) &&
                       owner->object()->set_attribute(run_, target.member, std::move(value));
  if (!written) fail("'" + target.member + "' can be set on a namespace only");
}

void Interpreter::write(const Value& value) {
  if (value.is(Kind::text)) run_.budget()->touch(value.text()->size());
  append_str(*out_, value);
  if (!capturing_) run_.budget()->check_output(out_->size());
}

}  // namespace tickertape::kernels::text::jinja
