// TokenSink: every token once, then the end, whenever the sink comes and whatever it does.
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/stream.hpp"
#include "runtime/asio_poster.hpp"

namespace tickertape::actors {
namespace {

/// Writes down what it is handed: "0 1 2 end".
class Record final : public TokenSink {
 public:
  void on_token(Token&& token) noexcept override {
    text += std::to_string(token.id) + " ";
    if (then) then();
  }
  void on_end() noexcept override { text += "end"; }

  std::string text;
  std::function<void()> then;
};

struct Fixture {
  Fixture() {
    StreamSetup setup;
    setup.window = 4;
    stream = std::make_shared<Stream>(std::move(setup), port, outbox,
                                      [this] { return io.get_executor(); });
  }
  ~Fixture() {
    port->close();  // There is no lane to take what was marked.
    std::vector<std::shared_ptr<Stream>> marked;
    port->take_dirty(marked);
  }
  void send(TokenId id) { outbox->stage(stream, StreamEvent::of_token(id, 0)); }
  void send_end() {
    outbox->stage(stream, StreamEvent::of_end(FinishReason::length, ErrorInfo(), 0));
  }
  void deliver() {
    outbox->flush();
    io.restart();
    io.run();
  }

  boost::asio::io_context io;
  std::shared_ptr<LanePort> port = std::make_shared<LanePort>();
  std::shared_ptr<Outbox> outbox =
      std::make_shared<Outbox>(runtime::make_asio_poster(io.get_executor()));
  std::shared_ptr<Stream> stream;
  Record record;
};

BOOST_FIXTURE_TEST_SUITE(token_sink, Fixture)

BOOST_AUTO_TEST_CASE(what_was_ready_comes_first_and_the_end_last) {
  send(0);
  send(1);
  deliver();
  BOOST_TEST(record.text == "");
  stream->set_sink(record);
  BOOST_TEST(record.text == "");  // Never inside the call.
  send(2);
  deliver();
  BOOST_TEST(record.text == "0 1 2 ");
  send(3);
  send_end();
  deliver();
  BOOST_TEST(record.text == "0 1 2 3 end");
  BOOST_TEST((stream->finish().reason == FinishReason::length));
  BOOST_TEST(stream->done());
}

BOOST_AUTO_TEST_CASE(a_sink_that_comes_after_the_end_hears_of_all) {
  send(0);
  send_end();
  deliver();
  stream->set_sink(record);
  deliver();
  BOOST_TEST(record.text == "0 end");
}

BOOST_AUTO_TEST_CASE(tokens_give_their_credit_back) {
  stream->set_sink(record);
  for (TokenId id = 0; id < 12; ++id) {
    send(id);
    deliver();
  }
  BOOST_TEST(stream->granted() == 4U + 12U);
}

BOOST_AUTO_TEST_CASE(a_sink_may_drop_its_stream) {
  record.then = [this] { stream->drop(); };
  stream->set_sink(record);
  send(0);
  send(1);
  send_end();
  deliver();
  BOOST_TEST(record.text == "0 ");
  BOOST_TEST((stream->finish().reason == FinishReason::cancelled));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::actors
