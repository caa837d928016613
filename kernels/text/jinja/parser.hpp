// Parser: tokens to a syntax tree.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/text/jinja/lexer.hpp"
#include "kernels/text/jinja/syntax_tree.hpp"

namespace tickertape::kernels::text::jinja {

/// Brackets, blocks and prefix operators inside each other.
constexpr std::size_t kMaxNesting = 100;

/// Recursive descent over Jinja's grammar. Everything throws the syntax error with its line.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] SyntaxTree run();

 private:
  using EndNames = std::vector<std::string_view>;

  // The tokens (parser.cpp).
  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const;
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool skip_symbol(std::string_view symbol);
  bool skip_name(std::string_view name);
  void expect_symbol(std::string_view symbol);
  void expect_name(std::string_view name);
  std::string expect_any_name(std::string_view what);
  [[noreturn]] void fail_expected(std::string_view what) const;
  [[noreturn]] void fail_here(const std::string& what) const;

  // Statements (parser.cpp).
  Body body(const EndNames& ends);
  [[nodiscard]] bool at_block(const EndNames& ends) const;
  const Statement* statement();
  void end_of_block();
  void end_block(std::string_view name);
  Statement& add_statement(StatementKind kind);
  const Statement* output();
  const Statement* branch();
  const Statement* loop();
  const Statement* loop_exit(StatementKind kind);
  const Statement* set();
  const Statement* macro();
  const Statement* call_block();
  const Statement* filter_block();
  const Statement* with();
  const Statement* scope(const std::string& tag);
  void parameters(MacroCode& code);
  void macro_body(MacroCode& code, std::string_view end);
  Target target(bool with_members);
  Target single_target(bool with_members);

  // Expressions (parse_expression.cpp).
  const Expr* expression(bool conditional = true);
  /// An expression, or several with commas between them as a tuple.
  const Expr* tuple(bool conditional = true);
  const Expr* any_of();
  const Expr* all_of();
  const Expr* negation();
  const Expr* comparison();
  const Expr* sum();
  const Expr* concat();
  const Expr* product();
  const Expr* power();
  const Expr* unary(bool with_filters = true);
  const Expr* primary();
  const Expr* name();
  const Expr* string();
  const Expr* parenthesised();
  const Expr* list();
  const Expr* dict();
  const Expr* postfix(const Expr* subject);
  const Expr* attribute(const Expr* subject);
  const Expr* subscript(const Expr* subject);
  const Expr* call(const Expr* subject);
  const Expr* filtered(const Expr* subject);
  const Expr* filter(const Expr* subject);
  const Expr* test(const Expr* subject);
  void arguments(CallArguments& arguments);
  std::string dotted_name(std::string_view what);
  Expr& add(ExprKind kind, std::vector<const Expr*> items = {});
  Value literal(std::string_view text) const { return make_text(nullptr, text); }

  /// Counts one level of nesting for as long as it lives.
  class Level {
   public:
    explicit Level(Parser& parser);
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  SyntaxTree tree_;
  std::size_t depth_ = 0;
  std::size_t branches_ = 0;  ///< Filters inside of conditions may be unknown until they run.
  std::size_t loops_ = 0;
  MacroCode* macro_ = nullptr;  ///< Whose body is being read.
};

}  // namespace tickertape::kernels::text::jinja
