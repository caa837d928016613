// D12: what a template refuses is the request's fault, in the template's own words.
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include <tickertape/errors.hpp>

#include "kernels/text/jinja_template.hpp"
#include "kernels/text/load.hpp"
#include "tests/support/jinja.hpp"
#include "tests/unit/text/golden.hpp"

namespace tickertape {
namespace {

using kernels::text::JinjaTemplate;
using Messages = std::vector<ChatMessage>;

const JinjaTemplate kStrict(
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate, found ' ~ m.role) }}{% endif %}"
    "{{ m.content + undefined_name.of_a_member if m.content == 'fault' else m.content }}"
    "{% endfor %}",
    {});

std::string refusal(const ChatTemplate& chat_template, const Messages& messages) {
  try {
    static_cast<void>(chat_template.render(messages, {}));
    return "rendered";
  } catch (const Error& error) {
    BOOST_TEST(error.info().status() == 400);
    BOOST_TEST(error.info().param.starts_with("messages"));
    return error.info().message;
  }
}

BOOST_AUTO_TEST_SUITE(d12)

BOOST_AUTO_TEST_CASE(refusals_are_400_and_leave_no_state) {
  const std::pair<Messages, std::string> cases[] = {
      {{{"user", "a"}, {"user", "b"}}, "Roles must alternate, found user"},
      {{{"assistant", "a"}}, "Roles must alternate, found assistant"},
      {{{"system", "a"}}, "System role not supported"},
      {{{"tool", "a"}}, "Roles must alternate, found tool"},
      {{{"foo", "a"}}, "Roles must alternate, found foo"},
      {{{"", "a"}}, "messages[0].role must not be empty"},
      {{}, "messages must not be empty"},
      {{{"user", "fault"}},
       "the messages cannot be rendered: 'undefined_name' is undefined in line 1 of the chat "
       "template"},
      {{{"user", "a"}, {"assistant", "b"}, {"user", "c"}}, "rendered"}};
  for (int round = 0; round < 2; ++round) {
    for (const auto& [messages, message] : cases) {
      BOOST_TEST(refusal(kStrict, messages) == message);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_template_that_does_not_mind_renders_them) {
  const auto chat_template = kernels::text::make_chat_template(test::smollm2_file());
  BOOST_REQUIRE(chat_template != nullptr);
  for (const Messages& messages :
       {Messages{{"user", "a"}, {"user", "b"}}, Messages{{"assistant", "a"}},
        Messages{{"foo", "a"}}, Messages{{"tool", "a"}}, Messages{{"system", "a"}}}) {
    BOOST_TEST(refusal(*chat_template, messages) == "rendered");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape
