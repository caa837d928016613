// Template: reading, and rendering into spans.
#include "kernels/text/jinja/template.hpp"

#include <utility>

#include <tickertape/errors.hpp>

#include "kernels/text/jinja/parser.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

std::vector<PromptSpan> spans_of(const Text& text) {
  std::vector<PromptSpan> spans;
  const auto add = [&](std::size_t begin, std::size_t end, bool marked) {
    if (begin < end) spans.push_back({text.bytes().substr(begin, end - begin), marked});
  };
  std::size_t at = 0;
  for (const Mark& mark : text.marks()) {
    add(at, mark.begin, false);
    add(mark.begin, mark.end, true);
    at = mark.end;
  }
  add(at, text.size(), false);
  return spans;
}

[[noreturn]] void rethrow(const TemplateError& error, std::uint32_t line) {
  using Kind = TemplateError::Kind;
  std::string message = error.what();
  if (error.kind() != Kind::refusal) {
    const std::string place =
        line == 0 ? "" : " in line " + std::to_string(line) + " of the chat template";
    message = error.kind() == Kind::bound
                  ? "rendering the messages " + message + (line == 0 ? "" : ", ended" + place)
                  : "the messages cannot be rendered: " + message + place;
  }
  throw Error(ErrorInfo{Errc::invalid_request, std::move(message), "messages", 0});
}

}  // namespace

Template::Template(std::string_view source) : tree_(Parser(read_tokens(source)).run()) {}

std::vector<PromptSpan> Template::render(const SetVariables& set_variables, const Limits& limits,
                                         const Clock& clock) const {
  Interpreter interpreter(tree_, limits, clock);
  try {
    set_variables(interpreter);
    return spans_of(*interpreter.render());
  } catch (const TemplateError& error) {
    rethrow(error, interpreter.line());
  }
}

}  // namespace tickertape::kernels::text::jinja
