// Templates as tests render them: variables as JSON, the text or the error as a string.
#pragma once
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/errors.hpp>

#include "kernels/text/jinja/json_value.hpp"
#include "kernels/text/jinja/template.hpp"

namespace tickertape::test {

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr kernels::text::jinja::Limits kLimits{
    .steps = 2'000'000, .memory_bytes = 48 * kMiB, .output_bytes = 8 * kMiB};

inline std::vector<PromptSpan> rendered_spans(
    std::string_view source, std::string_view variables = "{}",
    const kernels::text::jinja::Limits& limits = kLimits) {
  namespace jinja = kernels::text::jinja;
  const jinja::Clock clock = [] { return std::int64_t{0}; };
  return jinja::Template(source).render(
      [&](jinja::Interpreter& interpreter) {
        const jinja::Value all = jinja::read_json(interpreter.runtime().budget(), variables);
        for (const auto& [name, value] : all.dict()->entries()) {
          interpreter.set_variable(name.text()->bytes(), value);
        }
      },
      limits, clock);
}

inline std::string text_of(const std::vector<PromptSpan>& spans) {
  std::string text;
  for (const PromptSpan& span : spans) text += span.text;
  return text;
}

inline std::string rendered(std::string_view source, std::string_view variables = "{}") {
  return text_of(rendered_spans(source, variables));
}

/// The message of the error that rendering ends with; every one must be a 400.
inline std::string fault(std::string_view source, std::string_view variables = "{}",
                         const kernels::text::jinja::Limits& limits = kLimits) {
  try {
    return "no error: " + text_of(rendered_spans(source, variables, limits));
  } catch (const Error& error) {
    BOOST_TEST(error.info().status() == 400);
    return error.what();
  }
}

inline bool has(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  BOOST_TEST(found, "\"" << part << "\" in \"" << text << "\"");
  return found;
}

inline std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace tickertape::test
