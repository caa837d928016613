// The path from tick to reader: what handing a token to a coroutine costs the reactor's thread.
//
// usage: tick_to_reader [TICKS [RUNS [ROWS]]]        ROWS: some of "fabc", all of them by default
//
// 10,000 streams, each read by a coroutine of its own; every tick gives 256 of them one token. The
// lane waits until a tick's tokens were read before it makes the next, as with a pass longer than
// the delivery. Figures are CPU time of the reactor's thread per token, with the wake-up of the
// thread and all that readers do; the floor is a post per tick that carries nothing. Ways take
// turns; the best run is the one that was disturbed least.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tickertape/assert.hpp>
#include <tickertape/fake.hpp>
#include <tickertape/model.hpp>
#include <tickertape/token_stream.hpp>

#include "actors/lane_port.hpp"
#include "actors/outbox.hpp"
#include "actors/stream.hpp"
#include "runtime/asio_poster.hpp"
#include "runtime/task.hpp"

namespace tickertape::bench {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kStreams = 10'000;
constexpr std::size_t kTokensPerTick = 256;

double thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// What readers have got. The reactor writes; the lane looks at whole ticks only, so that counting
/// costs next to nothing.
class Tally {
 public:
  void add(TokenId id, std::size_t num_bytes = 0) {
    sum_ += static_cast<std::uint64_t>(id) + num_bytes;
    if (++count_ % kTokensPerTick == 0) published_.store(count_, std::memory_order_release);
  }
  void wait_for(std::uint64_t count) const {
    while (published_.load(std::memory_order_acquire) < count) std::this_thread::yield();
  }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }  ///< After the reactor has ended.

 private:
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::atomic<std::uint64_t> published_{0};
};

/// A way to hand tokens over. Readers run on `io`; deliver() and finish() are called by the lane.
class Way {
 public:
  virtual ~Way() = default;
  virtual void start_readers() = 0;
  /// One token for each of these streams.
  virtual void deliver(const std::vector<std::size_t>& streams, TokenId id) = 0;
  virtual void finish() = 0;

  asio::io_context io{1};
  Tally tally;
};

/// The product's streams: tokens are staged in the executor's outbox, and posted once per tick.
class Streams : public Way {
 public:
  explicit Streams(std::shared_ptr<const Tokenizer> tokenizer)
      : outbox_(std::make_shared<actors::Outbox>(runtime::make_asio_poster(io.get_executor()))) {
    for (std::size_t i = 0; i < kStreams; ++i) {
      actors::StreamSetup setup;
      setup.accepted.request_id = i;
      setup.request.tokenizer = tokenizer;
      streams_.push_back(std::make_shared<actors::Stream>(
          std::move(setup), port_, outbox_,
          [executor = io.get_executor()] { return asio::any_io_executor(executor); }));
    }
  }

  void deliver(const std::vector<std::size_t>& streams, TokenId id) override {
    for (const std::size_t i : streams) {
      outbox_->stage(streams_[i], actors::StreamEvent::of_token(id, 0));
    }
    outbox_->flush();
    port_->take_dirty(dirty_);  // The credit that reading gave back, as before each plan.
    for (const auto& stream : dirty_) stream->clear_dirty();
  }

  void finish() override {
    for (const auto& stream : streams_) {
      outbox_->stage(stream, actors::StreamEvent::of_end(FinishReason::length, ErrorInfo(), 0));
    }
    outbox_->flush();
  }

 protected:
  std::vector<std::shared_ptr<actors::Stream>> streams_;

 private:
  std::shared_ptr<actors::LanePort> port_ = std::make_shared<actors::LanePort>();
  std::shared_ptr<actors::Outbox> outbox_;
  std::vector<std::shared_ptr<actors::Stream>> dirty_;
};

/// Where a task of our own awaits the tokens of a stream, without an Asio handler.
class IdReader final : public actors::TokenSink {
 public:
  void on_token(Token&& token) noexcept override {
    id_ = token.id;
    resume();
  }
  void on_end() noexcept override {
    id_.reset();
    resume();
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> reader) noexcept { reader_ = reader; }
  std::optional<TokenId> await_resume() const noexcept { return id_; }

 private:
  void resume() {
    TICKERTAPE_ASSERT(reader_ != nullptr);  // These readers wait for nothing else.
    std::exchange(reader_, nullptr).resume();
  }

  std::coroutine_handle<> reader_;
  std::optional<TokenId> id_;
};

runtime::Task<> read_ids(actors::Stream& stream, Tally& tally) {
  IdReader tokens;
  stream.set_sink(tokens);
  while (const std::optional<TokenId> id = co_await tokens) tally.add(*id);
}

class OwnTasks final : public Streams {
 public:
  OwnTasks() : Streams(nullptr) {}
  void start_readers() override {
    for (const auto& stream : streams_) {
      readers_.push_back(read_ids(*stream, tally));
      const bool done = readers_.back().start([](void*) {}, nullptr);
      TICKERTAPE_ASSERT(!done);
    }
  }

 private:
  std::vector<runtime::Task<>> readers_;
};

asio::awaitable<void> read_text(TokenStream stream, Tally& tally) {
  while (const std::optional<Token> token = co_await stream.async_next(asio::use_awaitable)) {
    tally.add(token->id, token->text.size());
  }
}

/// What a user's coroutine does.
class Awaitables final : public Streams {
 public:
  explicit Awaitables(std::shared_ptr<const Tokenizer> tokenizer) : Streams(std::move(tokenizer)) {}
  void start_readers() override {
    for (const auto& stream : streams_) {
      asio::co_spawn(io, read_text(TokenStream(stream), tally), [](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
      });
    }
  }
};

using Channel = asio::experimental::concurrent_channel<void(error_code, TokenId)>;

asio::awaitable<void> read_channel(Channel& channel, Tally& tally) {
  for (;;) {
    const auto [error, id] = co_await channel.async_receive(asio::as_tuple(asio::use_awaitable));
    if (error || id < 0) break;
    tally.add(id);
  }
}

/// What one would do without an engine made for it: a channel per stream, sent to from the lane.
class Channels final : public Way {
 public:
  void start_readers() override {
    for (std::size_t i = 0; i < kStreams; ++i) {
      channels_.push_back(std::make_unique<Channel>(io, 8));
      asio::co_spawn(io, read_channel(*channels_.back(), tally), [](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
      });
    }
  }
  void deliver(const std::vector<std::size_t>& streams, TokenId id) override {
    for (const std::size_t i : streams) send(i, id);
  }
  void finish() override {
    for (std::size_t i = 0; i < channels_.size(); ++i) send(i, -1);
  }

 private:
  void send(std::size_t stream, TokenId id) {
    const bool sent = channels_[stream]->try_send(error_code(), id);
    TICKERTAPE_ASSERT(sent);
  }

  std::vector<std::unique_ptr<Channel>> channels_;
};

/// What remains when there is nothing to do: the reactor wakes up once a tick.
class EmptyPosts final : public Way {
 public:
  void start_readers() override {}
  void deliver(const std::vector<std::size_t>& streams, TokenId id) override {
    asio::post(io, [this, count = streams.size(), id] {
      for (std::size_t i = 0; i < count; ++i) tally.add(id);
    });
  }
  void finish() override {}
};

/// The reactor's CPU time per token.
double run(Way& way, std::size_t num_ticks) {
  std::optional work(asio::make_work_guard(way.io));
  way.start_readers();
  way.io.poll();  // Every reader waits now.
  double spent_ns = 0;
  std::thread reactor([&] {
    const double start_ns = thread_cpu_ns();
    way.io.run();
    spent_ns = thread_cpu_ns() - start_ns;
  });
  std::vector<std::size_t> streams(kTokensPerTick);
  std::size_t next = 0;
  std::uint64_t sent = 0;
  for (std::size_t tick = 0; tick < num_ticks; ++tick) {
    for (std::size_t& stream : streams) {
      stream = next;
      next = (next + 37) % kStreams;  // Never twice in a tick, and not in the order of memory.
    }
    way.deliver(streams, 1 + static_cast<TokenId>(tick % 100));
    sent += kTokensPerTick;
    way.tally.wait_for(sent);
  }
  // The readers' ends are not measured: a token is.
  asio::post(way.io, [&way] { way.io.stop(); });
  reactor.join();
  way.io.restart();
  way.finish();
  work.reset();
  way.io.run();
  return spent_ns / static_cast<double>(sent);
}

struct Row {
  char letter;
  const char* name;
  std::function<std::unique_ptr<Way>()> make;
  bool has_text = false;
  std::vector<double> figures;

  [[nodiscard]] double best() const { return figures.front(); }
  [[nodiscard]] double median() const { return figures[figures.size() / 2]; }
};

std::vector<Row> make_rows(const std::string& letters) {
  std::vector<Row> rows;
  const auto add = [&](char letter, const char* name, auto make, bool has_text = false) {
    if (letters.find(letter) != std::string::npos)
      rows.push_back({letter, name, make, has_text, {}});
  };
  add('f', "floor: an empty post", [] { return std::make_unique<EmptyPosts>(); });
  add('a', "own task, ids", [] { return std::make_unique<OwnTasks>(); });
  add('b', "concurrent_channel, ids", [] { return std::make_unique<Channels>(); });
  add(
      'c', "async_next(use_awaitable), text",
      [tokenizer = make_paged_fake_model()->tokenizer()] {
        return std::make_unique<Awaitables>(tokenizer);
      },
      true);
  return rows;
}

/// Runs the rows in turn; every way must have read the same tokens.
void measure(std::vector<Row>& rows, std::size_t num_ticks, std::size_t num_runs) {
  std::optional<std::uint64_t> ids;
  for (std::size_t i = 0; i < num_runs; ++i) {
    for (Row& row : rows) {
      const std::unique_ptr<Way> way = row.make();
      row.figures.push_back(run(*way, num_ticks));
      if (row.has_text) continue;
      TICKERTAPE_ASSERT(way->tally.sum() == ids.value_or(way->tally.sum()));
      ids = way->tally.sum();
    }
  }
  for (Row& row : rows) std::sort(row.figures.begin(), row.figures.end());
}

int main_program(std::size_t num_ticks, std::size_t num_runs, const std::string& letters) {
  std::vector<Row> rows = make_rows(letters);
  measure(rows, num_ticks, num_runs);
  std::printf("%zu streams, %zu tokens a tick, %zu ticks, %zu runs; ns per token on the reactor\n",
              kStreams, kTokensPerTick, num_ticks, num_runs);
  std::printf("%-40s %8s %8s\n", "", "best", "median");
  const Row* own = nullptr;
  const Row* channel = nullptr;
  for (const Row& row : rows) {
    std::printf("(%c) %-36s %8.1f %8.1f\n", row.letter, row.name, row.best(), row.median());
    if (row.letter == 'a') own = &row;
    if (row.letter == 'b') channel = &row;
  }
  if (own != nullptr && channel != nullptr) {
    std::printf("%-40s %8.1f %8.1f\n", "(b) / (a)", channel->best() / own->best(),
                channel->median() / own->median());
  }
  return 0;
}

}  // namespace
}  // namespace tickertape::bench

int main(int argc, char** argv) {
  const std::size_t num_ticks = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  const std::size_t num_runs = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 9;
  const std::string letters = argc > 3 ? argv[3] : "fabc";
  const bool known = letters.find_first_not_of("fabc") == std::string::npos;
  if (num_ticks == 0 || num_runs == 0 || letters.empty() || !known) {
    std::fputs("usage: tick_to_reader [TICKS [RUNS [ROWS]]]\n", stderr);
    return 2;
  }
  return tickertape::bench::main_program(num_ticks, num_runs, letters);
}
