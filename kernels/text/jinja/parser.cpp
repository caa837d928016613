// Parser: tokens and statements.
#include "kernels/text/jinja/parser.hpp"

#include <algorithm>
#include <utility>

namespace tickertape::kernels::text::jinja {
namespace {

std::string described(const Token& token) {
  switch (token.type) {
    case TokenType::data:
      return "text";
    case TokenType::variable_begin:
      return "'{{'";
    case TokenType::variable_end:
      return "'}}'";
    case TokenType::block_begin:
      return "'{%'";
    case TokenType::block_end:
      return "'%}'";
    case TokenType::string:
      return "a string";
    case TokenType::integer:
    case TokenType::number:
      return "a number";
    case TokenType::end:
      return "the end of the template";
    default:
      return "'" + token.text + "'";
  }
}

}  // namespace

Parser::Level::Level(Parser& parser) : parser_(parser) {
  if (parser.depth_ >= kMaxNesting) {
    parser.fail_here("nested more than " + std::to_string(kMaxNesting) + " deep");
  }
  ++parser.depth_;
}

const Token& Parser::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

bool Parser::skip_symbol(std::string_view symbol) {
  if (!peek().is_symbol(symbol)) return false;
  next();
  return true;
}

bool Parser::skip_name(std::string_view name) {
  if (!peek().is_name(name)) return false;
  next();
  return true;
}

void Parser::expect_symbol(std::string_view symbol) {
  if (!skip_symbol(symbol)) fail_expected("'" + std::string(symbol) + "'");
}

void Parser::expect_name(std::string_view name) {
  if (!skip_name(name)) fail_expected("'" + std::string(name) + "'");
}

std::string Parser::expect_any_name(std::string_view what) {
  if (peek().type != TokenType::name) fail_expected(what);
  return next().text;
}

void Parser::fail_expected(std::string_view what) const {
  fail_here("expected " + std::string(what) + ", found " + described(peek()));
}

void Parser::fail_here(const std::string& what) const {
  fail_syntax(peek().line, what);
}

SyntaxTree Parser::run() {
  tree_.body = body({});
  return std::move(tree_);
}

bool Parser::at_block(const EndNames& ends) const {
  if (peek().type != TokenType::block_begin || peek(1).type != TokenType::name) return false;
  return std::find(ends.begin(), ends.end(), peek(1).text) != ends.end();
}

Body Parser::body(const EndNames& ends) {
  const Level level(*this);
  const std::uint32_t start = peek().line;
  Body statements;
  while (!at_block(ends)) {
    if (peek().type == TokenType::end) {
      if (ends.empty()) return statements;
      fail_syntax(start, "a block is not closed: expected {% " + std::string(ends.back()) +
                             " %}, found the end of the template");
    }
    if (const Statement* next_statement = statement()) statements.push_back(next_statement);
  }
  next();  // The opening of the block; its name is the caller's.
  return statements;
}

Statement& Parser::add_statement(StatementKind kind) {
  auto& statement = tree_.statements.emplace_back(std::make_unique<Statement>());
  statement->kind = kind;
  statement->line = peek().line;
  return *statement;
}

const Statement* Parser::statement() {
  if (peek().type == TokenType::data) {
    Statement& data = add_statement(StatementKind::data);
    data.text = make_text(nullptr, next().text);
    return &data;
  }
  if (peek().type == TokenType::variable_begin) return output();
  next();  // The lexer gives nothing else than a block here.
  const Token tag = peek();
  if (tag.type != TokenType::name) fail_expected("a tag's name");
  next();
  if (tag.text == "if") return branch();
  if (tag.text == "for") return loop();
  if (tag.text == "set") return set();
  if (tag.text == "macro") return macro();
  if (tag.text == "call") return call_block();
  if (tag.text == "filter") return filter_block();
  if (tag.text == "with") return with();
  if (tag.text == "break") return loop_exit(StatementKind::break_loop);
  if (tag.text == "continue") return loop_exit(StatementKind::continue_loop);
  if (tag.text == "generation" || tag.text == "block" || tag.text == "autoescape") {
    return scope(tag.text);
  }
  fail_syntax(tag.line, "unknown or misplaced tag '" + tag.text + "'");
}

void Parser::end_of_block() {
  if (peek().type != TokenType::block_end) fail_expected("'%}'");
  next();
}

void Parser::end_block(std::string_view name) {
  expect_name(name);
  end_of_block();
}

const Statement* Parser::output() {
  Statement& result = add_statement(StatementKind::output);
  next();
  result.expr = tuple();
  if (peek().type != TokenType::variable_end) fail_expected("'}}'");
  next();
  return &result;
}

const Statement* Parser::branch() {
  Statement& result = add_statement(StatementKind::branch);
  ++branches_;
  const Expr* test = tuple(false);
  for (;;) {
    end_of_block();
    Body part = body({"elif", "else", "endif"});
    result.branches.push_back({test, std::move(part)});
    if (skip_name("elif")) {
      test = tuple(false);
      continue;
    }
    if (!skip_name("else")) break;
    end_of_block();
    result.branches.push_back({nullptr, body({"endif"})});
    break;
  }
  --branches_;
  end_block("endif");
  return &result;
}

const Statement* Parser::loop() {
  Statement& result = add_statement(StatementKind::loop);
  result.target = target(false);
  expect_name("in");
  result.expr = tuple(false);
  if (skip_name("if")) result.condition = expression();
  result.recursive = skip_name("recursive");
  end_of_block();
  ++loops_;
  result.body = body({"else", "endfor"});
  --loops_;
  if (skip_name("else")) {
    end_of_block();
    result.otherwise = body({"endfor"});
  }
  end_block("endfor");
  return &result;
}

const Statement* Parser::loop_exit(StatementKind kind) {
  if (loops_ == 0) fail_here("break and continue belong into a loop");
  end_of_block();
  return &add_statement(kind);
}

const Statement* Parser::set() {
  Statement& result = add_statement(StatementKind::set);
  result.target = target(true);
  if (skip_symbol("=")) {
    result.expr = tuple();
    end_of_block();
    return &result;
  }
  result.kind = StatementKind::set_block;
  result.expr = filtered(&add(ExprKind::captured));
  end_of_block();
  result.body = body({"endset"});
  end_block("endset");
  return &result;
}

void Parser::parameters(MacroCode& code) {
  expect_symbol("(");
  while (!skip_symbol(")")) {
    if (!code.parameters.empty()) {
      expect_symbol(",");
      if (skip_symbol(")")) break;
    }
    Parameter parameter;
    parameter.name = expect_any_name("a parameter's name");
    parameter.symbol = tree_.symbol_of(parameter.name);
    if (skip_symbol("=")) {
      parameter.missing = expression();
    } else if (!code.parameters.empty() && code.parameters.back().missing != nullptr) {
      fail_here("a parameter without a default comes behind one with a default");
    }
    code.parameters.push_back(std::move(parameter));
  }
}

void Parser::macro_body(MacroCode& code, std::string_view end) {
  MacroCode* const outer = std::exchange(macro_, &code);
  const std::size_t loops = std::exchange(loops_, 0);
  code.body = body({end});
  loops_ = loops;
  macro_ = outer;
  if (outer != nullptr) {
    outer->uses_varargs |= code.uses_varargs;
    outer->uses_kwargs |= code.uses_kwargs;
    outer->uses_caller |= code.uses_caller;
  }
  // Inside of a call block, `caller` is the one of the macro around it.
  if (end == "endcall") code.uses_caller = false;
  end_block(end);
}

const Statement* Parser::macro() {
  Statement& result = add_statement(StatementKind::macro);
  result.code.name = expect_any_name("the macro's name");
  result.target.symbol = tree_.symbol_of(result.code.name);
  parameters(result.code);
  end_of_block();
  macro_body(result.code, "endmacro");
  return &result;
}

const Statement* Parser::call_block() {
  Statement& result = add_statement(StatementKind::call_block);
  result.code.name = "caller";
  if (peek().is_symbol("(")) parameters(result.code);
  result.expr = expression();
  if (result.expr->kind != ExprKind::call && result.expr->kind != ExprKind::method_call) {
    fail_here("a call block needs a call");
  }
  end_of_block();
  macro_body(result.code, "endcall");
  return &result;
}

const Statement* Parser::filter_block() {
  Statement& result = add_statement(StatementKind::filter_block);
  result.expr = filtered(filter(&add(ExprKind::captured)));
  end_of_block();
  result.body = body({"endfilter"});
  end_block("endfilter");
  return &result;
}

const Statement* Parser::with() {
  Statement& result = add_statement(StatementKind::with);
  while (peek().type != TokenType::block_end) {
    if (!result.assignments.empty()) expect_symbol(",");
    Target to = target(false);
    expect_symbol("=");
    const Expr* value = expression();
    result.assignments.emplace_back(std::move(to), value);
  }
  end_of_block();
  result.body = body({"endwith"});
  end_block("endwith");
  return &result;
}

const Statement* Parser::scope(const std::string& tag) {
  Statement& result = add_statement(StatementKind::scope);
  if (tag == "block") expect_any_name("the block's name");
  if (tag == "autoescape") {
    const Expr* on = expression();
    if (!on->value.is(Kind::boolean) || on->value.boolean()) fail_here("autoescape is always off");
  }
  end_of_block();
  const std::string end = "end" + tag;
  result.body = body({end});
  expect_name(end);
  if (tag == "block" && peek().type == TokenType::name) next();
  end_of_block();
  return &result;
}

Target Parser::target(bool with_members) {
  const Level level(*this);
  Target first = single_target(with_members);
  if (!peek().is_symbol(",")) return first;
  Target result;
  result.is_tuple = true;
  result.parts.push_back(std::move(first));
  while (skip_symbol(",")) {
    if (peek().type != TokenType::name && !peek().is_symbol("(")) break;
    if (peek().is_name("in")) break;
    result.parts.push_back(single_target(with_members));
  }
  return result;
}

Target Parser::single_target(bool with_members) {
  if (skip_symbol("(")) {
    Target inner = target(with_members);
    expect_symbol(")");
    return inner;
  }
  Target result;
  const std::string name = expect_any_name("a name to assign to");
  constexpr std::string_view kConstants[] = {"true",  "false", "none", "True",
                                             "False", "None",  "not"};
  if (std::find(std::begin(kConstants), std::end(kConstants), name) != std::end(kConstants)) {
    fail_here("'" + name + "' cannot be assigned to");
  }
  result.symbol = tree_.symbol_of(name);
  if (with_members && skip_symbol(".")) result.member = expect_any_name("a member's name");
  return result;
}

}  // namespace tickertape::kernels::text::jinja
