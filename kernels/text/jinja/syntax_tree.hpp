// Syntax tree: the expressions and statements of a template.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/operators.hpp"
#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text::jinja {

/// A variable's name as a number.
using Symbol = std::uint32_t;

struct Expr;

struct CallArguments {
  std::vector<const Expr*> positional;
  std::vector<std::pair<std::string, const Expr*>> named;
  const Expr* star = nullptr;       ///< *list
  const Expr* star_star = nullptr;  ///< **dict
};

enum class ExprKind : unsigned char {
  literal,
  name,
  captured,     ///< What a block wrote, as the input of its filters.
  list,         ///< items
  tuple,        ///< items
  dict,         ///< items: key, value, key, value ...
  negation,     ///< not items[0]
  unary,        ///< op items[0]
  all_of,       ///< items joined by `and`
  any_of,       ///< items joined by `or`
  compare,      ///< items[0] relations[0] items[1] relations[1] ...
  concat,       ///< items joined by ~
  conditional,  ///< items: test, then, else (may be null)
  // Those that work on items[0], which may be a long chain of the same.
  binary,       ///< items[0] op items[1]
  attribute,    ///< items[0].text
  item,         ///< items[0][items[1]]
  slice,        ///< items[0][items[1]:items[2]:items[3]]; those missing are null
  call,         ///< items[0](arguments)
  method_call,  ///< items[0].text(arguments)
  filter,       ///< items[0] | text(arguments)
  test          ///< items[0] is text(arguments)
};

struct Expr {
  ExprKind kind = ExprKind::literal;
  Operator op = Operator::add;
  std::uint32_t line = 1;
  Symbol symbol = 0;
  std::vector<const Expr*> items;
  std::vector<Operator> relations;
  Value value;  ///< Of a literal.
  std::string text;
  const Native* native = nullptr;  ///< Of a filter or test; null when there is none of that name.
  std::unique_ptr<CallArguments> arguments;
};

/// What an assignment writes to: a name, a member of a namespace, or several targets.
struct Target {
  Symbol symbol = 0;
  std::string member;  ///< Empty: the variable itself.
  std::vector<Target> parts;
  bool is_tuple = false;
};

struct Statement;
using Body = std::vector<const Statement*>;

struct Parameter {
  Symbol symbol = 0;
  std::string name;
  const Expr* missing = nullptr;  ///< The default; may be null.
};

/// A macro, or the body of a call block.
struct MacroCode {
  std::string name;
  std::vector<Parameter> parameters;
  Body body;
  // Names in the body that make it take more than its parameters.
  bool uses_varargs = false;
  bool uses_kwargs = false;
  bool uses_caller = false;
};

enum class StatementKind : unsigned char {
  data,
  output,
  branch,        ///< if
  loop,          ///< for
  set,           ///< target = expr
  set_block,     ///< target = body, through the filters of expr
  macro,         ///< target = code
  call_block,    ///< expr is a call that gets `code` as its caller
  filter_block,  ///< body, through the filters of expr
  with,          ///< assignments, then body
  scope,         ///< body in a scope of its own
  break_loop,
  continue_loop
};

struct Statement {
  struct Branch {
    const Expr* test = nullptr;  ///< Null: else.
    Body body;
  };
  StatementKind kind = StatementKind::data;
  std::uint32_t line = 1;
  TextPtr text;
  const Expr* expr = nullptr;
  const Expr* condition = nullptr;  ///< Of a loop; may be null.
  bool recursive = false;
  Target target;
  Body body;
  Body otherwise;  ///< Of a loop that ran not once.
  std::vector<Branch> branches;
  std::vector<std::pair<Target, const Expr*>> assignments;
  MacroCode code;
};

/// Owns the nodes; they point at each other freely, so however long a chain is, none is destroyed
/// recursively.
struct SyntaxTree {
  std::vector<std::unique_ptr<Expr>> exprs;
  std::vector<std::unique_ptr<Statement>> statements;
  std::unordered_map<std::string, Symbol> symbols;
  Body body;

  [[nodiscard]] Symbol symbol_of(const std::string& name) {
    return symbols.emplace(name, static_cast<Symbol>(symbols.size())).first->second;
  }
};

}  // namespace tickertape::kernels::text::jinja
