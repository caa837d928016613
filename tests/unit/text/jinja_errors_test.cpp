// Jinja: errors of reading and of rendering, the sandbox, and the bounds.
#include <pthread.h>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include "tests/support/jinja.hpp"

namespace tickertape {
namespace {

using test::fault;
using test::has;
using test::kLimits;
using test::kMiB;
using test::rendered;
using test::repeated;

BOOST_AUTO_TEST_SUITE(jinja_errors)

BOOST_AUTO_TEST_CASE(a_template_that_cannot_be_read_says_where_and_what) {
  const std::pair<std::string, std::string> cases[] = {
      {"a\nb{{ x", "line 2: a tag is not closed: expected '}}'"},
      {"{% if x %}\n", "a block is not closed: expected {% endif %}"},
      {"{% if x %}{% endfor %}", "unknown or misplaced tag 'endfor'"},
      {"\n\n{{ 1 + }}", "line 3: expected an expression, found '}}'"},
      {"{{ x | nope }}", "line 1: there is no filter 'nope'"},
      {"{{ x is nope }}", "there is no test 'nope'"},
      {"{# open", "a comment is not closed"},
      {"{% raw %}{{", "a raw block is not closed"},
      {"{{ 'open }}", "a string is not closed"},
      {"{{ a $ b }}", "unexpected character '$'"},
      {"{{ (1 }}", "unexpected '}', expected ')'"},
      {"{{ 1) }}", "unexpected ')'"},
      {"{% include 'x' %}", "unknown or misplaced tag 'include'"},
      {"{% for x %}{% endfor %}", "expected 'in'"},
      {"{% for 1 in x %}{% endfor %}", "expected a name to assign to, found a number"},
      {"{% set true = 1 %}", "'true' cannot be assigned to"},
      {"{% break %}", "belong into a loop"},
      {"{{ 99999999999999999999 }}", "not an integer of 64 bits"},
      {"{{ '\\ud800' }}", "no character"},
      {"{{ f(a=1, 2) }}", "behind a named one"},
      {"{% macro m(a=1, b) %}{% endmacro %}", "without a default"},
      {"{{ x.1a }}", "expected"},
      {"{% %}", "expected a tag's name"},
      {"{{ }}", "expected an expression"}};
  for (const auto& [source, message] : cases) {
    BOOST_TEST_CONTEXT(source) {
      const std::string error = fault(source);
      BOOST_TEST(error.starts_with("the chat template cannot be read: line "));
      has(error, message);
    }
  }
}

// Templates name filters of other engines behind a condition that is never met.
BOOST_AUTO_TEST_CASE(an_unknown_filter_behind_a_condition_fails_when_it_is_used) {
  BOOST_TEST(rendered("{% if x %}{{ x|nope }}{% endif %}ok") == "ok");
  has(fault("{% if true %}{{ x|nope }}{% endif %}"), "there is no filter 'nope' in line 1");
}

BOOST_AUTO_TEST_CASE(faults_name_the_line_and_the_reason) {
  const std::pair<std::string, std::string> cases[] = {
      {"\n{{ x.y }}", "'x' is undefined in line 2"},
      {"{{ {'a': 1}.b.c }}", "'dict object' has no attribute 'b'"},
      {"{{ 'a' + 1 }}", "operator + does not take 'str' and 'int'"},
      {"{{ 1 < 'a' }}", "have no order"},
      {"{{ 1 // 0 }}", "division by zero"},
      {"{{ 9223372036854775807 + 1 }}", "beyond 64 bits"},
      {"{{ none() }}", "'NoneType' object is not callable"},
      {"{{ x() }}", "'x' is undefined"},
      {"{{ 'a'.nope() }}", "'str object' has no attribute 'nope'"},
      {"{% for i in 5 %}{% endfor %}", "'int' object is not iterable"},
      {"{% for a, b in [[1]] %}{% endfor %}", "expected 2 values to unpack, got 1"},
      {"{{ [[1]]|map('nope')|list }}", "there is no filter 'nope'"},
      {"{{ 'a'|replace('b') }}", "replace() needs the argument 'new'"},
      {"{{ 'a'|upper(1) }}", "upper() takes at most 0 arguments, 1 were given"},
      {"{{ 'a'|trim(x=1) }}", "has no argument 'x'"},
      {"{{ x|tojson }}", "'x' is undefined"},
      {"{{ range|tojson }}", "not JSON serializable"},
      {"{{ {[]: 1} }}", "unhashable type: 'list'"},
      {"{% set x = 1 %}{% set x.y = 2 %}", "can be set on a namespace only"},
      {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "macro 'm' takes at most 1 arguments"},
      {"{% macro m(a) %}{% endmacro %}{{ m(b=1) }}", "macro 'm' has no argument 'b'"},
      {"{{ '%d' % 'x' }}", "%d needs a number"},
      {"{{ '{}'.format() }}", "too few arguments"}};
  for (const auto& [source, message] : cases) {
    BOOST_TEST_CONTEXT(source) {
      has(fault(source), message);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_refusal_of_the_template_is_its_own_message) {
  BOOST_TEST(fault("{{ raise_exception('Roles must alternate: ' ~ 1) }}") ==
             "Roles must alternate: 1");
}

BOOST_AUTO_TEST_CASE(the_sandbox_changes_nothing_and_shows_no_insides) {
  for (const char* source : {"{{ l.append(1) }}", "{{ l.pop() }}", "{{ d.update({}) }}",
                             "{{ d.pop('a') }}", "{{ l.sort() }}", "{{ d.setdefault('b', 1) }}"}) {
    has(fault(source, R"({"l": [1], "d": {"a": 1}})"), "is unsafe");
  }
  BOOST_TEST(rendered("{{ ''.__class__ }}|{{ [].__class__ }}|{{ x.__init__ }}", R"({"x": 1})") ==
             "||");
  has(fault("{{ ''.__class__.__mro__ }}"), "has no attribute '__class__'");
}

BOOST_AUTO_TEST_CASE(steps_memory_and_output_are_bounded) {
  has(fault("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"),
      "takes more than 2000000 steps");
  has(fault("{% set x = range(100000)|list %}{% for i in range(100000) %}"
            "{% set y = x|reverse|list %}{% endfor %}"),
      "takes more than 2000000 steps");
  has(fault("{{ 'x' * 100000000 }}"), "bytes of memory");
  has(fault("{{ 'x' * 9223372036854775807 }}"), "bytes of memory");
  has(fault("{{ [1, 2] * 4611686018427387904 }}"), "bytes of memory");
  has(fault("{% set ns = namespace(s='x' * 1000) %}{% for i in range(30) %}"
            "{% set ns.s = ns.s + ns.s %}{% endfor %}"),
      "more than");
  has(fault("{{ 'abc'|center(100000000000) }}"), "bytes of memory");
  has(fault("{{ ('a' * 100000)|replace('a', 'b' * 100000) }}"), "bytes of memory");
  has(fault("{% set x = 'y' * 1000000 %}{% for i in range(20) %}{{ x }}{% endfor %}"),
      "writes more than 8388608 bytes");
  has(fault("{{ range(1000000000) }}"), "range() of more than 100000 numbers");
  has(fault("{{ '%1000000000d' % 1 }}"), "above 1000000");
}

// Values that refer to themselves many times are small to make and huge to walk over.
BOOST_AUTO_TEST_CASE(shared_values_are_not_walked_without_bound) {
  const std::string nested =
      "{% set ns = namespace(v=[1], w=[1]) %}{% for i in range(60) %}"
      "{% set ns.v = [ns.v, ns.v] %}{% set ns.w = [ns.w, ns.w] %}{% endfor %}";
  has(fault(nested + "{{ ns.v == ns.w }}"), "steps");
  has(fault(nested + "{{ ns.v|tojson }}"), "more than");
  has(fault(nested + "{{ ns.v }}"), "more than");
  has(fault("{% set ns = namespace(v=[]) %}{% for i in range(300) %}{% set ns.v = [ns.v] %}"
            "{% endfor %}"),
      "more than 200 deep");
}

BOOST_AUTO_TEST_CASE(a_value_that_holds_itself_ends_with_the_rendering) {
  BOOST_TEST(rendered("{% set ns = namespace() %}{% set ns.l = [ns] %}{% set ns.me = ns %}"
                      "{{ ns.me.me.l|length }}") == "1");
}

/// Runs on a thread with the stack that the text thread has.
template <class Work>
void on_a_small_stack(Work work) {
  constexpr std::size_t kStackBytes = 512 * 1024;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread{};
  const auto start = [](void* argument) -> void* {
    (*static_cast<Work*>(argument))();
    return nullptr;
  };
  BOOST_REQUIRE(pthread_create(&thread, &attributes, start, &work) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

BOOST_AUTO_TEST_CASE(depth_is_bounded_also_on_a_small_stack) {
  on_a_small_stack([] {
    has(fault("{{ " + repeated("(", 10'000) + "1" + repeated(")", 10'000) + " }}"), "deep");
    has(fault("{{ " + repeated("[", 10'000) + repeated("]", 10'000) + " }}"), "deep");
    has(fault("{{ " + repeated("not ", 10'000) + "1 }}"), "deep");
    has(fault("{{ " + repeated("-", 10'000) + "1 }}"), "deep");
    has(fault("{{ " + repeated("1 if 1 else ", 10'000) + "1 }}"), "deep");
    has(fault(repeated("{% if 1 %}", 10'000) + repeated("{% endif %}", 10'000)), "deep");
    has(fault("{% for " + repeated("(", 10'000) + "a" + repeated(")", 10'000) + " in x %}"),
        "deep");
    has(fault("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "deep");
    has(fault("{% macro m(f) %}{{ f(f) }}{% endmacro %}{{ m(m) }}"), "deep");
    has(fault("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"), "deep");
    has(fault("{{ x }}", "{\"x\": " + repeated("[", 2'000) + repeated("]", 2'000) + "}"), "");
    // As deep as a template may nest, in macros inside each other.
    const std::string deep =
        repeated("{% if 1 %}", 40) + "{{ m(n - 1) }}" + repeated("{% endif %}", 40);
    const std::string source =
        "{% macro m(n) %}{% if n > 0 %}" + deep + "{% endif %}{% endmacro %}";
    const std::string result = fault(source + "{{ m(90) }}");
    BOOST_TEST((result.find("no error") == 0 || result.find("deep") != std::string::npos));
  });
}

BOOST_AUTO_TEST_CASE(recursion_that_real_templates_use_is_no_trouble) {
  on_a_small_stack([] {
    BOOST_TEST(rendered("{% macro m(v, n) %}{% if n > 0 %}[{% for x in v %}{{ m(v, n - 1) }}"
                        "{% endfor %}]{% endif %}{% endmacro %}{{ m([1], 12) }}") ==
               repeated("[", 12) + repeated("]", 12));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
