// ClientFrame: types, ids and what is refused.
#include "net/client_frame.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

namespace tickertape::net {
namespace {

ClientFrame accept(FrameReader& reader, const std::string& text) {
  auto result = reader.read(text);
  const auto* bad = std::get_if<BadFrame>(&result);
  BOOST_REQUIRE_MESSAGE(bad == nullptr, text << ": " << (bad ? bad->error.message : ""));
  return std::get<ClientFrame>(std::move(result));
}

BadFrame refuse(FrameReader& reader, const std::string& text) {
  auto result = reader.read(text);
  BOOST_REQUIRE_MESSAGE(std::holds_alternative<BadFrame>(result), text);
  return std::get<BadFrame>(std::move(result));
}

struct Fixture {
  FrameReader reader{1U << 20, {"m", 1000}};
};

BOOST_FIXTURE_TEST_SUITE(client_frame, Fixture)

BOOST_AUTO_TEST_CASE(every_type_is_read) {
  const auto submit = accept(reader, R"({"type":"submit","id":"a","prompt":"x","window":2})");
  BOOST_TEST((submit.type == ClientFrame::Type::submit));
  BOOST_TEST(submit.id == "a");
  BOOST_TEST(submit.submit.request.prompt == "x");
  const auto credit = accept(reader, R"({"type":"credit","id":"a","tokens":65536})");
  BOOST_TEST((credit.type == ClientFrame::Type::credit));
  BOOST_TEST(credit.tokens == 65536U);
  const auto cancel = accept(reader, R"({"id":"a","type":"cancel","why":1})");
  BOOST_TEST((cancel.type == ClientFrame::Type::cancel));
  BOOST_TEST((accept(reader, R"({"type":"ping"})").type == ClientFrame::Type::ping));
}

BOOST_AUTO_TEST_CASE(an_id_has_1_to_64_characters) {
  std::string id;
  for (int i = 0; i < 64; ++i) id += "\xC3\xA9";  // 64 characters in 128 bytes.
  BOOST_TEST(accept(reader, R"({"type":"cancel","id":")" + id + "\"}").id == id);
  for (const std::string& bad : {std::string("\"\""), std::string("5"), std::string("null"),
                                 '"' + id + "x\"", std::string("[\"a\"]")}) {
    const BadFrame frame = refuse(reader, R"({"type":"cancel","id":)" + bad + "}");
    BOOST_TEST(frame.id.empty());
    BOOST_TEST(frame.error.param == "id");
  }
  BOOST_TEST(refuse(reader, R"({"type":"submit","prompt":"x"})").error.param == "id");
}

BOOST_AUTO_TEST_CASE(a_refusal_names_its_generation) {
  const BadFrame frame = refuse(reader, R"({"type":"submit","id":"q","prompt":"x","top_p":2})");
  BOOST_TEST(frame.id == "q");
  BOOST_TEST(frame.error.param == "top_p");
  BOOST_TEST(frame.error.status == 400);
}

BOOST_AUTO_TEST_CASE(types_are_checked) {
  BOOST_TEST(refuse(reader, R"({"id":"a"})").error.param == "type");
  BOOST_TEST(refuse(reader, R"({"type":5,"id":"a"})").id == "a");
  BOOST_TEST(refuse(reader, R"({"type":"Submit","id":"a"})").error.param == "type");
  const BadFrame watch = refuse(reader, R"({"type":"watch","every_ms":100})");
  BOOST_TEST(watch.error.message.find("not supported") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(credit_is_an_integer_from_1_to_65536) {
  for (const char* tokens : {"0", "-1", "65537", "1.5", "\"1\"", "true", "null"}) {
    const auto text = R"({"type":"credit","id":"a","tokens":)" + std::string(tokens) + "}";
    BOOST_TEST(refuse(reader, text).error.param == "tokens");
  }
  BOOST_TEST(refuse(reader, R"({"type":"credit","id":"a"})").error.param == "tokens");
}

BOOST_AUTO_TEST_CASE(what_is_no_object_is_refused_without_an_id) {
  for (const char* text : {"", " ", "[]", "5", "null", "\"x\"", "{", "{}}", "{\"type\":\"ping\"} x",
                           "{'type':'ping'}", "{\"type\":\"ping\",}", "\xEF\xBB\xBF{}"}) {
    BOOST_TEST(refuse(reader, text).id.empty());
  }
}

// One such number makes the whole text unreadable; it is refused as every other bad field is.
BOOST_AUTO_TEST_CASE(numbers_that_nothing_holds_are_attributed) {
  const auto submit = [](const std::string& members) {
    return R"({"type":"submit","id":"a","prompt":"x",)" + members + "}";
  };
  const std::pair<std::string, std::string> cases[] = {
      {R"("temperature":1e999)", "temperature"},
      {R"("max_tokens":36893488147419103232)", "max_tokens"},
      {R"("logit_bias":{"1":1e999})", "logit_bias"},
      {R"("stop_token_ids":[1,2,99999999999999999999],"seed":-1e999)", "stop_token_ids"},
      {R"("user":"1e999 \" [{","top_k":01)", "top_k"}};
  for (const auto& [members, param] : cases) {
    const BadFrame bad = refuse(reader, submit(members));
    BOOST_TEST(bad.id == "a", members);
    BOOST_TEST(bad.error.param == param, members);
    BOOST_TEST(bad.error.status == 400);
  }
  BOOST_TEST(refuse(reader, R"({"x\u0001":1e999})").error.param == "");
  BOOST_TEST(refuse(reader, "[1e999]").error.param == "");
  BOOST_TEST(refuse(reader, R"({"id":"a","top_k":1e999)").id == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
