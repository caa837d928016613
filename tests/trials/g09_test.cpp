// G09: neither a long text nor a long pass keeps the thread that runs the handlers.
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <future>
#include <thread>

#include <tickertape/scripted.hpp>

#include "tests/support/engine_fixture.hpp"
#include "tests/support/hooked_model.hpp"

namespace tickertape::test {
namespace {

constexpr std::size_t kLongText = 1'000'000;
constexpr auto kGuard = std::chrono::minutes(2);

EngineOptions roomy_options() {
  EngineOptions options;
  options.page_size = 1024;
  options.num_kv_pages = 1100;
  options.max_num_batched_tokens = 65'536;
  options.threads = 1;
  return options;
}

BOOST_AUTO_TEST_CASE(g09_a_long_text_is_read_elsewhere_while_handlers_run) {
  Script script;
  script.max_model_len = kLongText + 100;
  script.fallback.text = "fine";
  std::promise<void> gate;
  bool in_time = false;
  std::thread::id reader;
  TokenizerHooks hooks;
  hooks.on_encode = [&](std::string_view text) {
    if (text.size() < kLongText) return;
    reader = std::this_thread::get_id();
    in_time = gate.get_future().wait_for(kGuard) == std::future_status::ready;
  };
  Engine engine(std::make_shared<HookedModel>(make_scripted_model(script), std::move(hooks)),
                roomy_options());
  asio::io_context io(1);

  Request long_one;
  long_one.prompt.assign(kLongText, 'x');
  bool long_accepted = false;
  engine.async_submit(std::move(long_one),
                      asio::bind_executor(io, [&](error_code error, TokenStream stream) {
                        BOOST_TEST(!error, error.message());
                        BOOST_TEST(stream.accepted().prompt_tokens >= kLongText);
                        long_accepted = true;
                      }));
  // Another's whole answer comes while the text is being read; only then may it be done.
  Answer other;
  Request short_one;
  short_one.prompt = "a question";
  asio::co_spawn(io, ask(engine, std::move(short_one), other), [&](std::exception_ptr error) {
    rethrow(error);
    BOOST_TEST(!long_accepted);
    gate.set_value();
  });
  io.run();
  BOOST_TEST(other.text == "fine");
  BOOST_TEST(long_accepted);
  BOOST_TEST(in_time);
  BOOST_TEST((reader != std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(g09_an_abort_is_noticed_during_a_pass_and_takes_effect_after_it) {
  Script script;
  script.probe = std::make_shared<ScriptedProbe>();
  script.fallback.text = "0123456789";
  script.fallback.block_at = 5;
  Engine engine(make_scripted_model(script), roomy_options());
  asio::io_context io(1);
  Request request;
  request.prompt = "x";
  TokenStream stream = engine.submit(io.get_executor(), std::move(request));
  script.probe->wait_until_blocked();
  std::string text;
  std::size_t handlers = 0;
  std::function<void()> read = [&] {
    stream.async_next([&](error_code error, std::optional<Token> token) {
      BOOST_TEST(!error);
      if (!token) return;
      text += token->text;
      if (text == "01234") asio::post(io, [&] { ++handlers, stream.cancel(); });
      read();
    });
  };
  read();
  io.run();  // To the end of the stream, although the pass is not done.
  BOOST_TEST(handlers == 1U);
  BOOST_TEST(text == "01234");
  BOOST_TEST((stream.finish().reason == FinishReason::cancelled));
  BOOST_TEST(engine.stats().pages_held > 0U);  // A pass reads them.
  script.probe->release();
  BOOST_TEST(idle_stats(engine).pages_held == 0U);
}

}  // namespace
}  // namespace tickertape::test
