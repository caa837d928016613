// D14: nothing to run is a 400 that names the field; blank is something.
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

BOOST_AUTO_TEST_CASE(d14_empty_prompts) {
  Script script;
  script.fallback.text = "fine";
  TestServer server(make_scripted_model(script));
  WsClient client(server.port());
  client.until("hello");
  const auto submit = [&](const std::string& members) {
    client.send_text(R"({"type":"submit","id":"a",)" + members + "}");
    return read_answer(client, "a");
  };
  const std::vector<std::pair<std::string, std::string>> refused = {
      {R"("prompt":"")", "prompt"},
      {R"("prompt":[""])", "prompt"},
      {R"("prompt":[])", "prompt"},
      {R"("prompt":[[]])", "prompt"},
      {R"("prompt":["a",""])", "prompt"},
      {R"("prompt":"","max_tokens":0)", "prompt"},
      {R"("prompt_ids":[])", "prompt_ids"},
      {R"("messages":[])", "messages"},
      {R"("max_tokens":5)", "prompt"},
      {R"("prompt":"x","max_tokens":0)", "max_tokens"},
      {R"("prompt":"","echo":true)", "prompt"}};
  for (const auto& [members, param] : refused) {
    const Json error = submit(members).frames.back();
    BOOST_TEST(error["type"] == "error", members);
    BOOST_TEST(error["status"] == 400, members);
    BOOST_TEST(error["param"] == param, members);
  }
  for (const char* members :
       {R"("prompt":" ")", R"("prompt":[" "])", R"("messages":[{"role":"user","content":""}])"}) {
    const Answer answer = submit(members);
    BOOST_TEST(answer.trouble == "", members);
    BOOST_TEST(answer.text == "fine", members);
  }
  server.wait_idle();
}

}  // namespace
}  // namespace tickertape::test
