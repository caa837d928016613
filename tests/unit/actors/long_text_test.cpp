// Long prompts: read on the text thread, so that no reactor waits for them.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tests/support/engine_fixture.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

/// Stands in the door of a tokenizer: long texts wait there until it is opened.
struct Gate {
  void pass() {
    std::unique_lock lock(mutex);
    reader = std::this_thread::get_id();
    ++num_arrived;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
  }
  void wait_for_arrival() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return num_arrived > 0; });
  }
  void release() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  int num_arrived = 0;
  std::thread::id reader;
};

class GatedTokenizer final : public Tokenizer {
 public:
  GatedTokenizer(std::shared_ptr<const Tokenizer> base, std::shared_ptr<Gate> gate)
      : base_(std::move(base)), gate_(std::move(gate)) {}
  std::vector<TokenId> encode(std::string_view text, bool special) const override {
    if (text.size() > 4096) gate_->pass();
    return base_->encode(text.substr(0, 8), special);
  }
  std::vector<TokenId> encode_spans(std::span<const PromptSpan> spans) const override {
    return base_->encode_spans(spans);
  }
  std::string_view bytes(TokenId id) const override { return base_->bytes(id); }
  bool is_control(TokenId id) const override { return base_->is_control(id); }
  std::size_t vocab_size() const noexcept override { return base_->vocab_size(); }
  std::span<const TokenId> end_tokens() const noexcept override { return base_->end_tokens(); }
  TokenId begin_token() const noexcept override { return base_->begin_token(); }
  std::size_t longest_token() const noexcept override { return 256; }

 private:
  std::shared_ptr<const Tokenizer> base_;
  std::shared_ptr<Gate> gate_;
};

class GatedModel final : public Model {
 public:
  explicit GatedModel(const std::shared_ptr<Gate>& gate)
      : base_(make_paged_fake_model()),
        tokenizer_(std::make_shared<GatedTokenizer>(base_->tokenizer(), gate)) {}
  const ModelInfo& info() const noexcept override { return base_->info(); }
  std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }
  std::shared_ptr<const ChatTemplate> chat_template() const override { return nullptr; }
  std::unique_ptr<Backend> make_backend(const BackendOptions& options, BackendHost& host,
                                        Parallel& parallel) const override {
    return base_->make_backend(options, host, parallel);
  }

 private:
  std::shared_ptr<const Model> base_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

struct GatedEngine {
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  std::optional<Engine> engine;
  GatedEngine() { engine.emplace(std::make_shared<GatedModel>(gate), tiny_options()); }
};

Request long_request() {
  Request request;
  request.prompt.assign(5000, 'x');
  request.max_tokens = 4;
  return request;
}

struct Outcome {
  int calls = 0;
  error_code error;
  TokenStream stream;
  auto handler() {
    return [this](error_code code, TokenStream its_stream) {
      ++calls;
      error = code;
      stream = std::move(its_stream);
    };
  }
};

BOOST_AUTO_TEST_CASE(a_long_prompt_keeps_nobody_waiting) {
  GatedEngine gated;
  asio::io_context io;
  Outcome outcome;
  gated.engine->async_submit(long_request(), asio::bind_executor(io, outcome.handler()));
  gated.gate->wait_for_arrival();
  BOOST_TEST(gated.engine->stats().num_waiting == 1U);
  // Others are served from first to last while the text is read.
  Answer answer;
  asio::co_spawn(io, ask(*gated.engine, varied_request(1), answer), rethrow);
  while (answer.finish.reason == FinishReason::none) io.run_one();
  BOOST_TEST(outcome.calls == 0);
  BOOST_TEST((gated.gate->reader != std::this_thread::get_id()));
  gated.gate->release();
  io.run();
  BOOST_TEST(outcome.calls == 1);
  BOOST_TEST(!outcome.error);
  BOOST_TEST(outcome.stream.accepted().prompt_tokens == 8U);
  BOOST_TEST(gated.engine->stats().submitted == 2U);
}

BOOST_AUTO_TEST_CASE(a_text_that_cannot_fit_is_refused_unread) {
  GatedEngine gated;
  asio::io_context io;
  Outcome outcome;
  Request request = long_request();
  request.prompt.assign(1'000'000, 'x');
  gated.engine->async_submit(std::move(request), asio::bind_executor(io, outcome.handler()));
  io.run();
  BOOST_TEST((outcome.error == make_error_code(Errc::prompt_too_long)));
  BOOST_TEST(gated.gate->num_arrived == 0);
}

BOOST_AUTO_TEST_CASE(a_cancelled_submit_completes_at_once_and_runs_nothing) {
  GatedEngine gated;
  asio::io_context io;
  asio::cancellation_signal signal;
  Outcome outcome;
  gated.engine->async_submit(
      long_request(),
      asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, outcome.handler())));
  gated.gate->wait_for_arrival();
  signal.emit(asio::cancellation_type::terminal);
  io.run();
  BOOST_TEST(outcome.calls == 1);
  BOOST_TEST((outcome.error == asio::error::operation_aborted));
  BOOST_TEST(!outcome.stream);
  gated.gate->release();
  gated.engine.reset();  // Joins the text thread.
  io.restart();
  io.run();
  BOOST_TEST(outcome.calls == 1);
}

BOOST_AUTO_TEST_CASE(the_context_may_end_while_its_text_is_read) {
  GatedEngine gated;
  Outcome outcome;
  {
    asio::io_context io;
    gated.engine->async_submit(long_request(), asio::bind_executor(io, outcome.handler()));
    gated.gate->wait_for_arrival();
  }
  gated.gate->release();
  BOOST_TEST(idle_stats(*gated.engine).num_running == 0U);
  gated.engine.reset();
  BOOST_TEST(outcome.calls == 0);
}

BOOST_AUTO_TEST_CASE(the_engine_may_end_while_a_text_is_read) {
  GatedEngine gated;
  asio::io_context io;
  Outcome first;
  Outcome second;
  Request request = long_request();
  request.max_tokens = 300;  // More than the window: nobody reads, so it cannot end by itself.
  request.sampling.ignore_eos = true;
  gated.engine->async_submit(request, asio::bind_executor(io, first.handler()));
  gated.engine->async_submit(request, asio::bind_executor(io, second.handler()));
  gated.gate->wait_for_arrival();
  std::thread destroyer([&] { gated.engine.reset(); });
  gated.gate->release();
  destroyer.join();
  io.run();
  BOOST_TEST(first.calls == 1);
  BOOST_TEST(second.calls == 1);
  // Each was refused, or was read in time and then ended with the engine.
  for (const Outcome* outcome : {&first, &second}) {
    const Finish finish = outcome->stream.finish();
    if (outcome->error) BOOST_TEST((outcome->error == make_error_code(Errc::shutting_down)));
    if (!outcome->error) BOOST_TEST((finish.reason == FinishReason::shutdown));
  }
}

BOOST_AUTO_TEST_CASE(texts_that_are_being_read_count_in_the_queue) {
  auto gate = std::make_shared<Gate>();
  EngineOptions options = tiny_options();
  options.max_queued_requests = 1;
  Engine engine(std::make_shared<GatedModel>(gate), options);
  asio::io_context io;
  Outcome first;
  Outcome second;
  engine.async_submit(long_request(), asio::bind_executor(io, first.handler()));
  gate->wait_for_arrival();
  engine.async_submit(long_request(), asio::bind_executor(io, second.handler()));
  while (second.calls == 0) io.run_one();
  BOOST_TEST((second.error == make_error_code(Errc::queue_full)));
  gate->release();
  io.run();
  BOOST_TEST(!first.error);
}

}  // namespace
