// D13: templates are programs; none of them runs without bound or ends the process.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <string>
#include <utility>

#include <tickertape/errors.hpp>

#include "kernels/text/jinja_template.hpp"
#include "tests/support/jinja.hpp"
#include "tests/support/sanitized.hpp"

namespace tickertape {
namespace {

using kernels::text::JinjaTemplate;
using test::repeated;

/// The most memory that the process has had so far, in KiB.
long peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
  }
  return 0;
}

/// The error of rendering one message with the template.
std::string outcome(const std::string& source) {
  const JinjaTemplate chat_template(source, {});
  const std::vector<ChatMessage> messages = {{"user", "hi"}};
  try {
    return "rendered " + std::to_string(test::text_of(chat_template.render(messages, {})).size());
  } catch (const Error& error) {
    BOOST_TEST(error.info().status() == 400);
    return error.what();
  }
}

BOOST_AUTO_TEST_SUITE(d13)

BOOST_AUTO_TEST_CASE(every_template_is_refused_or_stopped) {
  const std::string nested =
      repeated("{% for i in range(1000) %}", 5) + "x" + repeated("{% endfor %}", 5);
  const std::pair<std::string, std::string> cases[] = {
      {"{% for i in range(1000000000) %}x{% endfor %}", "range()"},
      {nested, "steps"},
      {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deep"},
      {"{{ 'x' * 100000000 }}", "memory"},
      {"{{ " + std::string(10'000, '(') + "1" + std::string(10'000, ')') + " }}", "line 1: nested"},
      {"{% if true %}", "line 1: a block is not closed"},
      {"{{ 'x' | no_such_filter }}", "there is no filter 'no_such_filter'"},
      {std::string(5'000'000, 'x'), "rendered 5000000"},
      {"{{ '" + std::string(5'000'000, 'x') + "' }}", "rendered 5000000"}};
  const long before = peak_kib();
  for (const auto& [source, message] : cases) {
    BOOST_TEST_CONTEXT(source.substr(0, 60)) {
      test::has(outcome(source), message);
    }
  }
  if (!test::kSanitized) BOOST_TEST(peak_kib() - before < 100L * 1024);
}

// What the file's template makes of messages is the only way to a prompt: there is no fallback.
BOOST_AUTO_TEST_CASE(a_template_that_cannot_be_read_is_told_with_every_request) {
  const JinjaTemplate chat_template("a\n{% nope %}", {});
  BOOST_TEST(chat_template.source() == "a\n{% nope %}");
  for (int round = 0; round < 2; ++round) {
    BOOST_CHECK_EXCEPTION(
        static_cast<void>(chat_template.render(std::vector<ChatMessage>{{"user", "x"}}, {})), Error,
        [](const Error& error) {
          return test::has(error.what(), "line 2: unknown or misplaced tag 'nope'");
        });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
