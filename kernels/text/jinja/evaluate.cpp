// Interpreter: expressions.
#include <algorithm>

#include "kernels/text/jinja/interpreter.hpp"
#include "kernels/text/jinja/python.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

bool is_chain(const Expr& expr) {
  return expr.kind >= ExprKind::binary;
}

}  // namespace

Value Interpreter::evaluate(const Expr& expr, Scope& scope) {
  if (!is_chain(expr)) return evaluate_plain(expr, scope);
  const Expr& first = *expr.items[0];
  if (!is_chain(first)) return apply(expr, evaluate_plain(first, scope), scope);
  // A chain may be as long as the template likes, so it is walked and not descended into.
  std::vector<const Expr*> chain;
  const Expr* at = &expr;
  for (; is_chain(*at); at = at->items[0]) chain.push_back(at);
  Value value = evaluate_plain(*at, scope);
  for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
    value = apply(**link, std::move(value), scope);
  }
  return value;
}

Value Interpreter::evaluate_plain(const Expr& expr, Scope& scope) {
  run_.budget()->step();
  switch (expr.kind) {
    case ExprKind::literal:
      return expr.value;
    case ExprKind::name:
      return look_up(expr, scope);
    case ExprKind::captured:
      return captured_;
    default:
      break;
  }
  run_.check_stack();
  switch (expr.kind) {
    case ExprKind::list:
    case ExprKind::tuple:
      return collection(expr, scope);
    case ExprKind::dict:
      return dictionary(expr, scope);
    case ExprKind::negation:
      return !truthy(evaluate(*expr.items[0], scope));
    case ExprKind::unary:
      return unary(expr.op, evaluate(*expr.items[0], scope));
    case ExprKind::all_of:
    case ExprKind::any_of:
      return junction(expr, scope);
    case ExprKind::compare:
      return comparison(expr, scope);
    case ExprKind::concat:
      return concat(expr, scope);
    case ExprKind::conditional:
      return conditional(expr, scope);
    default:
      return evaluate(expr, scope);
  }
}

Value Interpreter::apply(const Expr& expr, Value subject, Scope& scope) {
  run_.budget()->step();
  run_.check_stack();
  switch (expr.kind) {
    case ExprKind::binary: {
      const Value right = evaluate(*expr.items[1], scope);
      line_ = expr.line;
      return arithmetic(run_.budget(), expr.op, subject, right);
    }
    case ExprKind::attribute:
      line_ = expr.line;
      return run_.attribute(subject, expr.text);
    case ExprKind::item: {
      const Value key = evaluate(*expr.items[1], scope);
      line_ = expr.line;
      return run_.item(subject, key);
    }
    case ExprKind::slice:
      return sliced(expr, subject, scope);
    case ExprKind::filter:
      return filtered(expr, subject, scope);
    case ExprKind::test:
      return tested(expr, subject, scope);
    default:
      return called(expr, subject, evaluate_arguments(*expr.arguments, scope));
  }
}

Value Interpreter::look_up(const Expr& expr, Scope& scope) {
  if (const Value* found = scope.find(expr.symbol)) return *found;
  line_ = expr.line;
  return Undefined{std::make_shared<const std::string>("'" + expr.text + "' is undefined")};
}

Value Interpreter::conditional(const Expr& expr, Scope& scope) {
  const Expr* at = &expr;
  while (at->kind == ExprKind::conditional) {
    if (truthy(evaluate(*at->items[0], scope))) return evaluate(*at->items[1], scope);
    if (at->items[2] == nullptr) {
      return Undefined{
          std::make_shared<const std::string>("the condition was false and there is no else part")};
    }
    at = at->items[2];
  }
  return evaluate(*at, scope);
}

Value Interpreter::junction(const Expr& expr, Scope& scope) {
  const bool ends_with = expr.kind == ExprKind::any_of;
  for (std::size_t i = 0;; ++i) {
    Value value = evaluate(*expr.items[i], scope);
    if (i + 1 == expr.items.size() || truthy(value) == ends_with) return value;
  }
}

Value Interpreter::comparison(const Expr& expr, Scope& scope) {
  Value left = evaluate(*expr.items[0], scope);
  for (std::size_t i = 0; i < expr.relations.size(); ++i) {
    Value right = evaluate(*expr.items[i + 1], scope);
    line_ = expr.line;
    if (!relation(run_.budget(), expr.relations[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::concat(const Expr& expr, Scope& scope) {
  TextBuilder out(run_.budget());
  for (const Expr* item : expr.items) {
    append_str(out, evaluate(*item, scope));
  }
  run_.budget()->touch(out.size());
  return out.finish();
}

Value Interpreter::collection(const Expr& expr, Scope& scope) {
  std::vector<Value> items;
  items.reserve(expr.items.size());
  for (const Expr* item : expr.items) items.push_back(evaluate(*item, scope));
  return make_list(run_.budget(), std::move(items),
                   expr.kind == ExprKind::tuple ? ListKind::tuple : ListKind::list);
}

Value Interpreter::dictionary(const Expr& expr, Scope& scope) {
  DictBuilder entries(run_.budget());
  for (std::size_t i = 0; i < expr.items.size(); i += 2) {
    Value key = evaluate(*expr.items[i], scope);
    entries.set(std::move(key), evaluate(*expr.items[i + 1], scope));
  }
  return entries.finish();
}

Value Interpreter::sliced(const Expr& expr, const Value& subject, Scope& scope) {
  const auto bound = [&](std::size_t i) {
    return expr.items[i] == nullptr ? Value(None{}) : evaluate(*expr.items[i], scope);
  };
  const Value start = bound(1);
  const Value stop = bound(2);
  const Value step = bound(3);
  line_ = expr.line;
  return slice(run_.budget(), subject, start, stop, step);
}

Value Interpreter::filtered(const Expr& expr, const Value& subject, Scope& scope) {
  if (expr.native == nullptr) fail("there is no filter '" + expr.text + "'");
  Arguments arguments = evaluate_arguments(*expr.arguments, scope);
  line_ = expr.line;
  return invoke(run_, *expr.native, subject, std::move(arguments));
}

Value Interpreter::tested(const Expr& expr, const Value& subject, Scope& scope) {
  if (expr.native == nullptr) fail("there is no test '" + expr.text + "'");
  Arguments arguments = evaluate_arguments(*expr.arguments, scope);
  line_ = expr.line;
  return invoke(run_, *expr.native, subject, std::move(arguments));
}

Value Interpreter::called(const Expr& expr, const Value& subject, Arguments arguments) {
  line_ = expr.line;
  if (expr.kind == ExprKind::method_call) {
    return run_.call_method(subject, expr.text, std::move(arguments));
  }
  return run_.call(subject, std::move(arguments));
}

Arguments Interpreter::evaluate_arguments(const CallArguments& arguments, Scope& scope) {
  Arguments result;
  result.positional.reserve(arguments.positional.size());
  for (const Expr* argument : arguments.positional) {
    result.positional.push_back(evaluate(*argument, scope));
  }
  for (const auto& [name, argument] : arguments.named) {
    result.named.emplace_back(name, evaluate(*argument, scope));
  }
  if (arguments.star != nullptr) {
    const ListPtr more = items_of(run_.budget(), evaluate(*arguments.star, scope));
    result.positional.insert(result.positional.end(), more->items().begin(), more->items().end());
  }
  if (arguments.star_star != nullptr) {
    const Value more = evaluate(*arguments.star_star, scope);
    if (!more.is(Kind::dict)) fail("** needs a dictionary, not " + type_name(more));
    for (const auto& [name, value] : more.dict()->entries()) {
      if (!name.is(Kind::text)) fail("the keys behind ** must be strings");
      result.named.emplace_back(name.text()->bytes(), value);
      result.names_marked |= name.text()->any_marked();
    }
  }
  return result;
}

}  // namespace tickertape::kernels::text::jinja
