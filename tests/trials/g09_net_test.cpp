// G09: the server answers others while it reads one client's long text.
#include <boost/test/unit_test.hpp>
#include <future>
#include <string>

#include "tests/support/hooked_model.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/ws_client.hpp"

namespace tickertape::test {
namespace {

BOOST_AUTO_TEST_CASE(g09_a_megabyte_of_text_keeps_nobody_waiting) {
  constexpr std::size_t kLongText = 1'000'000;
  Script script;
  script.max_model_len = kLongText + 100;
  script.fallback.text = "fine";
  std::promise<void> begun;
  std::promise<void> open;
  TokenizerHooks hooks;
  hooks.on_encode = [&](std::string_view text) {
    if (text.size() < kLongText) return;
    begun.set_value();
    open.get_future().wait_for(std::chrono::minutes(2));  // A guard against hanging.
  };
  EngineOptions options = large_pool();
  options.page_size = 1024;
  options.num_kv_pages = 1100;
  options.max_num_batched_tokens = 65'536;
  TestServer server(std::make_shared<HookedModel>(make_scripted_model(script), std::move(hooks)),
                    options);
  WsClient writer(server.port());
  writer.until("hello");
  writer.send({{"type", "submit"}, {"id", "w"}, {"prompt", std::string(kLongText, 'x')}});
  begun.get_future().wait();
  // The text is being read now, and will be until the gate opens.
  BOOST_TEST(get(server.port(), "/health").status == 200);
  WsClient other(server.port());
  other.until("hello");
  other.send({{"type", "submit"}, {"id", "o"}, {"prompt", "x"}});
  BOOST_TEST(read_answer(other, "o").text == "fine");
  writer.send({{"type", "ping"}});
  writer.until("pong");
  open.set_value();
  BOOST_TEST(read_answer(writer, "w").text == "fine");
  server.wait_idle();
}

}  // namespace
}  // namespace tickertape::test
