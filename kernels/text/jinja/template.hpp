// Template: a Jinja template that was read once and is rendered many times.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/tokenizer.hpp>

#include "kernels/text/jinja/interpreter.hpp"
#include "kernels/text/jinja/syntax_tree.hpp"

namespace tickertape::kernels::text::jinja {

/// Jinja 3.1 as chat templates use it: what transformers' sandbox gives them, without includes,
/// imports and inheritance. Values are those of Python; integers have 64 bits.
///
/// Immutable: any number of threads may render at the same time. A rendering needs less than
/// 400 KiB of stack, whatever the template does.
class Template {
 public:
  /// Throws Error(Errc::invalid_request) with the line and what is wrong there.
  explicit Template(std::string_view source);

  /// Gives the variables their values: set(name, value) for each. Values are made on the budget.
  using SetVariables = std::function<void(Interpreter&)>;

  /// The text, with marks on what came from messages. Throws Error(Errc::invalid_request,
  /// "messages") when the template refuses, fails, or goes beyond its limits.
  [[nodiscard]] std::vector<PromptSpan> render(const SetVariables& set_variables,
                                               const Limits& limits, const Clock& clock) const;

 private:
  SyntaxTree tree_;
};

}  // namespace tickertape::kernels::text::jinja
