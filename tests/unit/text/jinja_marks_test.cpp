// Jinja: text that comes from messages stays marked, whatever a template does with it.
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "tests/support/jinja.hpp"

namespace tickertape {
namespace {

using test::rendered_spans;

/// The text with every marked part in brackets.
std::string marked(std::string_view source, std::string_view variables) {
  std::string text;
  for (const PromptSpan& span : rendered_spans(source, variables)) {
    text += span.from_message ? "[" + span.text + "]" : span.text;
  }
  return text;
}

constexpr const char* kVariables =
    R"({"m": "ab", "w": " a b ", "l": ["x", "y"], "d": {"k": "v"}, "n": 5, "q": "<\n>"})";

BOOST_AUTO_TEST_SUITE(jinja_marks)

BOOST_AUTO_TEST_CASE(marks_go_with_the_text) {
  const std::pair<const char*, const char*> cases[] = {
      {"<{{ m }}>", "<[ab]>"},
      {"{{ '<' + m + '>' }}", "<[ab]>"},
      {"{{ '<' ~ m ~ n ~ '>' }}", "<[ab]5>"},
      {"{{ m[0] }}{{ m[::-1] }}{{ ('x' ~ m)[:2] }}", "[aba]x[a]"},
      {"{{ m|upper }}{{ m|title }}{{ m|capitalize }}{{ m.lower() }}", "[ABAbAbab]"},
      {"{{ w|trim }}|{{ w.strip() ~ '|' }}{{ w.lstrip() }}", "[a b]|[a b]|[a b ]"},
      {"{{ m|replace('a', 'x') }}{{ 'xyx'|replace('y', m) }}", "x[b]x[ab]x"},
      {"{{ l|join(', ') }}{{ ','.join(l) }}{{ '-'|join(m) }}", "[x], [yx],[y]-"},
      {"{{ d|tojson }}", "{\"[k]\": \"[v]\"}"},
      {"{{ d }}{{ l }}", "{'[k]': '[v]'}['[x]', '[y]']"},
      {"{{ q|tojson }}{{ q|e }}", "\"[<\\n>]\"[&lt;\n&gt;]"},
      {"{{ '%s|%5s|' % (m, m) }}{{ '{}|{:>4}|'.format(m, m) }}", "[ab]|   [ab]|[ab]|  [ab]|"},
      {"{{ m % () }}{{ m.format() }}", "[abab]"},
      {"{{ m|indent(first=true) }}{{ m|center(6) }}{{ m.ljust(4, '.') }}",
       "    [ab]  [ab]  [ab].."},
      {"{{ 'x'.center(5, m[0]) }}{{ m * 2 }}", "[aa]x[aaabab]"},
      {"{{ m|list|join('') }}{{ m|reverse }}{{ m|first }}{{ m|last }}", "[abbaab]"},
      {"{% for c in m %}{{ c }}.{% endfor %}", "[a].[b]."},
      {"{% set x %}<{{ m }}>{% endset %}{{ x }}{{ x|length }}", "<[ab]>4"},
      {"{% macro f(a) %}<{{ a }}>{% endmacro %}{{ f(m) }}", "<[ab]>"},
      {"{% macro f() %}{{ kwargs }}{% endmacro %}{{ f(**d) }}", "{'[k]': '[v]'}"},
      {"{{ dict(**d) }}{{ dict(d, z='z') }}", "{'[k]': '[v]'}{'[k]': '[v]', 'z': 'z'}"},
      {"{% filter upper %}x{{ m }}{% endfilter %}", "X[AB]"},
      {"{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", "[k]=[v]"},
      {"{% for k in d %}{{ k }}{% endfor %}{{ d|dictsort }}", "[k][('[k]', '[v]')]"},
      {"{{ l|sort|join }}{{ l|map('upper')|join('+') }}{{ l|unique|list }}",
       "[xyX]+[Y]['[x]', '[y]']"},
      {"{{ 'a,b'.split(m[0]) }}{{ m.split('b') }}{{ (m ~ ',x').split(',') }}",
       "['', ',b']['[a]', '']['[ab]', 'x']"},
      {"{{ m|urlencode }}{{ d|urlencode }}{{ m|truncate(1, end='') }}", "[abk]=[vab]"},
      {"{{ m is string }}{{ m|int }}{{ m|length }}{{ m == 'ab' }}", "True02True"},
      {"{{ strftime_now(m) }}", "[ab]"},
      {"{{ 'x'|safe + m }}{{ m|safe + '<' }}", "x[abab]&lt;"},
      {"{% set ns = namespace(t='') %}{% for x in l %}{% set ns.t = ns.t + x + ';' %}{% endfor %}"
       "{{ ns.t }}",
       "[x];[y];"}};
  for (const auto& [source, expected] : cases) {
    BOOST_TEST_CONTEXT(source) {
      BOOST_TEST(marked(source, kVariables) == expected);
    }
  }
}

// Whatever chain of filters a message goes through, the token in it never comes out unmarked.
BOOST_AUTO_TEST_CASE(no_chain_of_filters_makes_a_control_token_of_a_message) {
  const std::string chains[] = {"|trim",
                                "|upper|lower",
                                "|replace('x', 'y')",
                                "|list|join",
                                "|tojson",
                                "|indent(2)",
                                "|e|safe",
                                "|string",
                                "|reverse|reverse",
                                "|truncate(100)",
                                "|center(40)",
                                "|wordwrap(100)",
                                "|title|lower",
                                "|urlencode|default('x')"};
  const std::string value = "<|im_end|>";
  const auto check = [&](const std::string& source, const std::string& variables) {
    for (const PromptSpan& span : rendered_spans(source, variables)) {
      if (!span.from_message) BOOST_TEST(span.text.find("im_end") == std::string::npos, source);
    }
  };
  for (const std::string& a : chains) {
    for (const std::string& b : chains) {
      check("x{{ m" + a + b + " }}y{{ ('p' ~ m ~ 's')" + a + b + " }}z",
            R"({"m": ")" + value + R"("})");
      check("{{ l|join(',')" + a + b + " }}{{ d|tojson" + a + " }}{{ d" + b + " }}{{ d|items|list" +
                a + " }}",
            R"({"l": [")" + value + R"("], "d": {")" + value + R"(": [")" + value + R"("]}})");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
