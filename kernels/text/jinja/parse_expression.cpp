// Parser: expressions, with Jinja's precedence.
#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/text/jinja/parser.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

std::optional<Operator> operator_of(const Token& token,
                                    std::initializer_list<Operator> candidates) {
  if (token.type != TokenType::symbol) return std::nullopt;
  for (const Operator op : candidates) {
    if (token.text == spelling(op)) return op;
  }
  return std::nullopt;
}

}  // namespace

Expr& Parser::add(ExprKind kind, std::vector<const Expr*> items) {
  auto& expr = tree_.exprs.emplace_back(std::make_unique<Expr>());
  expr->kind = kind;
  expr->line = peek().line;
  expr->items = std::move(items);
  return *expr;
}

const Expr* Parser::expression(bool conditional) {
  const Level level(*this);
  const Expr* result = any_of();
  if (!conditional) return result;
  while (skip_name("if")) {
    const Expr* test = any_of();
    const Expr* otherwise = skip_name("else") ? expression() : nullptr;
    result = &add(ExprKind::conditional, {test, result, otherwise});
  }
  return result;
}

const Expr* Parser::tuple(bool conditional) {
  const Expr* first = expression(conditional);
  if (!peek().is_symbol(",")) return first;
  std::vector<const Expr*> items = {first};
  const auto at_end = [&] {
    const TokenType type = peek().type;
    return type == TokenType::variable_end || type == TokenType::block_end ||
           peek().is_symbol(")") || peek().is_name("in");
  };
  while (skip_symbol(",")) {
    if (at_end()) break;
    items.push_back(expression(conditional));
  }
  return &add(ExprKind::tuple, std::move(items));
}

const Expr* Parser::any_of() {
  const Expr* first = all_of();
  if (!peek().is_name("or")) return first;
  std::vector<const Expr*> items = {first};
  while (skip_name("or")) items.push_back(all_of());
  return &add(ExprKind::any_of, std::move(items));
}

const Expr* Parser::all_of() {
  const Expr* first = negation();
  if (!peek().is_name("and")) return first;
  std::vector<const Expr*> items = {first};
  while (skip_name("and")) items.push_back(negation());
  return &add(ExprKind::all_of, std::move(items));
}

const Expr* Parser::negation() {
  if (!skip_name("not")) return comparison();
  const Level level(*this);
  return &add(ExprKind::negation, {negation()});
}

const Expr* Parser::comparison() {
  const Expr* first = sum();
  std::vector<const Expr*> items = {first};
  std::vector<Operator> relations;
  for (;;) {
    auto op =
        operator_of(peek(), {Operator::equal, Operator::not_equal, Operator::less,
                             Operator::less_equal, Operator::greater, Operator::greater_equal});
    if (op) {
      next();
    } else if (skip_name("in")) {
      op = Operator::in;
    } else if (peek().is_name("not") && peek(1).is_name("in")) {
      next();
      next();
      op = Operator::not_in;
    } else {
      break;
    }
    relations.push_back(*op);
    items.push_back(sum());
  }
  if (relations.empty()) return first;
  Expr& result = add(ExprKind::compare, std::move(items));
  result.relations = std::move(relations);
  return &result;
}

const Expr* Parser::sum() {
  const Expr* left = concat();
  while (const auto op = operator_of(peek(), {Operator::add, Operator::subtract})) {
    next();
    Expr& result = add(ExprKind::binary, {left, concat()});
    result.op = *op;
    left = &result;
  }
  return left;
}

const Expr* Parser::concat() {
  const Expr* first = product();
  if (!peek().is_symbol("~")) return first;
  std::vector<const Expr*> items = {first};
  while (skip_symbol("~")) items.push_back(product());
  return &add(ExprKind::concat, std::move(items));
}

const Expr* Parser::product() {
  const Expr* left = power();
  while (const auto op = operator_of(peek(), {Operator::multiply, Operator::divide,
                                              Operator::floor_divide, Operator::modulo})) {
    next();
    Expr& result = add(ExprKind::binary, {left, power()});
    result.op = *op;
    left = &result;
  }
  return left;
}

const Expr* Parser::power() {
  const Expr* left = unary();
  while (skip_symbol("**")) {
    Expr& result = add(ExprKind::binary, {left, unary()});
    result.op = Operator::power;
    left = &result;
  }
  return left;
}

const Expr* Parser::unary(bool with_filters) {
  const Expr* result = nullptr;
  if (peek().is_symbol("-") || peek().is_symbol("+")) {
    const Level level(*this);
    const Operator op = next().text == "-" ? Operator::negate : Operator::affirm;
    Expr& sign = add(ExprKind::unary, {unary(false)});
    sign.op = op;
    result = &sign;
  } else {
    result = primary();
  }
  result = postfix(result);
  return with_filters ? filtered(result) : result;
}

const Expr* Parser::primary() {
  switch (peek().type) {
    case TokenType::name:
      return name();
    case TokenType::string:
      return string();
    case TokenType::integer: {
      Expr& result = add(ExprKind::literal);
      result.value = next().integer;
      return &result;
    }
    case TokenType::number: {
      Expr& result = add(ExprKind::literal);
      result.value = next().number;
      return &result;
    }
    default:
      break;
  }
  if (peek().is_symbol("(")) return parenthesised();
  if (peek().is_symbol("[")) return list();
  if (peek().is_symbol("{")) return dict();
  fail_expected("an expression");
}

const Expr* Parser::name() {
  const Token& token = next();
  const bool yes = token.text == "true" || token.text == "True";
  if (yes || token.text == "false" || token.text == "False") {
    Expr& result = add(ExprKind::literal);
    result.value = yes;
    return &result;
  }
  if (token.text == "none" || token.text == "None") {
    Expr& result = add(ExprKind::literal);
    result.value = None{};
    return &result;
  }
  constexpr std::string_view kWords[] = {"and", "else", "if", "in", "is", "not", "or"};
  if (std::find(std::begin(kWords), std::end(kWords), token.text) != std::end(kWords)) {
    fail_syntax(token.line, "expected an expression, found '" + token.text + "'");
  }
  if (macro_ != nullptr) {
    macro_->uses_varargs |= token.text == "varargs";
    macro_->uses_kwargs |= token.text == "kwargs";
    macro_->uses_caller |= token.text == "caller";
  }
  Expr& result = add(ExprKind::name);
  result.text = token.text;
  result.symbol = tree_.symbol_of(token.text);
  return &result;
}

const Expr* Parser::string() {
  std::string text;
  while (peek().type == TokenType::string) text += next().text;
  Expr& result = add(ExprKind::literal);
  result.value = literal(text);
  return &result;
}

const Expr* Parser::parenthesised() {
  next();
  if (skip_symbol(")")) return &add(ExprKind::tuple);
  const Expr* inner = tuple();
  expect_symbol(")");
  return inner;
}

const Expr* Parser::list() {
  next();
  std::vector<const Expr*> items;
  while (!skip_symbol("]")) {
    if (!items.empty()) {
      expect_symbol(",");
      if (skip_symbol("]")) break;
    }
    items.push_back(expression());
  }
  return &add(ExprKind::list, std::move(items));
}

const Expr* Parser::dict() {
  next();
  std::vector<const Expr*> items;
  while (!skip_symbol("}")) {
    if (!items.empty()) {
      expect_symbol(",");
      if (skip_symbol("}")) break;
    }
    items.push_back(expression());
    expect_symbol(":");
    items.push_back(expression());
  }
  return &add(ExprKind::dict, std::move(items));
}

const Expr* Parser::postfix(const Expr* subject) {
  for (;;) {
    if (peek().is_symbol(".")) {
      subject = attribute(subject);
    } else if (peek().is_symbol("[")) {
      subject = subscript(subject);
    } else if (peek().is_symbol("(")) {
      subject = call(subject);
    } else {
      return subject;
    }
  }
}

const Expr* Parser::attribute(const Expr* subject) {
  next();
  if (peek().type == TokenType::integer) {
    Expr& index = add(ExprKind::literal);
    index.value = next().integer;
    return &add(ExprKind::item, {subject, &index});
  }
  const std::string name = expect_any_name("a member's name");
  Expr& result = add(ExprKind::attribute, {subject});
  result.text = name;
  return &result;
}

const Expr* Parser::subscript(const Expr* subject) {
  next();
  const auto at_bound = [&] { return !peek().is_symbol(":") && !peek().is_symbol("]"); };
  const Expr* start = at_bound() ? tuple() : nullptr;
  if (start != nullptr && skip_symbol("]")) return &add(ExprKind::item, {subject, start});
  if (!peek().is_symbol(":")) fail_expected("':' or an index");
  next();
  const Expr* stop = at_bound() ? expression() : nullptr;
  const Expr* step = nullptr;
  if (skip_symbol(":") && at_bound()) step = expression();
  expect_symbol("]");
  return &add(ExprKind::slice, {subject, start, stop, step});
}

const Expr* Parser::call(const Expr* subject) {
  auto given = std::make_unique<CallArguments>();
  arguments(*given);
  const bool method = subject->kind == ExprKind::attribute;
  Expr& result =
      add(method ? ExprKind::method_call : ExprKind::call, {method ? subject->items[0] : subject});
  if (method) result.text = subject->text;
  result.arguments = std::move(given);
  return &result;
}

void Parser::arguments(CallArguments& arguments) {
  expect_symbol("(");
  bool first = true;
  while (!skip_symbol(")")) {
    if (!std::exchange(first, false)) {
      expect_symbol(",");
      if (skip_symbol(")")) break;
    }
    if (skip_symbol("**")) {
      arguments.star_star = expression();
    } else if (skip_symbol("*")) {
      arguments.star = expression();
    } else if (peek().type == TokenType::name && peek(1).is_symbol("=")) {
      std::string name = next().text;
      next();
      arguments.named.emplace_back(std::move(name), expression());
    } else {
      if (!arguments.named.empty()) fail_here("a positional argument comes behind a named one");
      arguments.positional.push_back(expression());
    }
  }
}

const Expr* Parser::filtered(const Expr* subject) {
  for (;;) {
    if (skip_symbol("|")) {
      subject = filter(subject);
    } else if (skip_name("is")) {
      subject = test(subject);
    } else if (peek().is_symbol("(")) {
      subject = call(subject);
    } else {
      return subject;
    }
  }
}

std::string Parser::dotted_name(std::string_view what) {
  std::string name = expect_any_name(what);
  while (skip_symbol(".")) name += "." + expect_any_name(what);
  return name;
}

const Expr* Parser::filter(const Expr* subject) {
  const std::string name = dotted_name("a filter's name");
  const Native* native = find_filter(name);
  if (native == nullptr && branches_ == 0) fail_here("there is no filter '" + name + "'");
  Expr& result = add(ExprKind::filter, {subject});
  result.text = name;
  result.native = native;
  result.arguments = std::make_unique<CallArguments>();
  if (peek().is_symbol("(")) arguments(*result.arguments);
  return &result;
}

const Expr* Parser::test(const Expr* subject) {
  const bool negated = skip_name("not");
  const std::string name = dotted_name("a test's name");
  const Native* native = find_test(name);
  if (native == nullptr && branches_ == 0) fail_here("there is no test '" + name + "'");
  auto given = std::make_unique<CallArguments>();
  const Token& token = peek();
  const bool word = token.type == TokenType::name && !token.is_name("else") &&
                    !token.is_name("or") && !token.is_name("and");
  if (token.is_symbol("(")) {
    arguments(*given);
  } else if (word || token.type == TokenType::string || token.type == TokenType::integer ||
             token.type == TokenType::number || token.is_symbol("[") || token.is_symbol("{")) {
    if (token.is_name("is")) fail_here("tests cannot be chained with 'is'");
    // `x is y if z` ends here: a condition follows.
    if (!token.is_name("if") && !token.is_name("in") && !token.is_name("not")) {
      given->positional.push_back(postfix(primary()));
    }
  }
  Expr& result = add(ExprKind::test, {subject});
  result.text = name;
  result.native = native;
  result.arguments = std::move(given);
  return negated ? &add(ExprKind::negation, {&result}) : &result;
}

}  // namespace tickertape::kernels::text::jinja
