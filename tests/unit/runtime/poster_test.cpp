// Posters: works in contexts that die before, during and after the posts.
#include "runtime/poster.hpp"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/asio_poster.hpp"
#include "runtime/sim_poster.hpp"
#include "runtime/sim_scheduler.hpp"

namespace tickertape::runtime::test {
namespace {

namespace asio = boost::asio;

struct Counted : Work {
  explicit Counted(std::atomic<int>& count) : num_runs(count) {
    run = [](Work* work) { ++static_cast<Counted*>(work)->num_runs; };
  }
  std::atomic<int>& num_runs;
};

struct Listener final : ShutdownListener {
  void context_shutdown() noexcept override {
    ++num_calls;
    if (then) then();
  }
  std::atomic<int> num_calls{0};
  std::function<void()> then;
};

struct Fixture {
  std::atomic<int> num_runs{0};
  std::deque<Counted> works;
  Listener listener;

  Work* work() { return &works.emplace_back(num_runs); }
};

/// An executor that accepts everything and runs nothing.
struct DroppingExecutor {
  asio::execution_context* context_;

  asio::execution_context& query(asio::execution::context_t) const noexcept { return *context_; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  DroppingExecutor require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
  template <class Function>
  void execute(Function&& function) const {
    const std::decay_t<Function> dropped(std::forward<Function>(function));
  }
  friend bool operator==(const DroppingExecutor& a, const DroppingExecutor& b) noexcept {
    return a.context_ == b.context_;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(poster, Fixture)

BOOST_AUTO_TEST_CASE(works_run_in_the_context_and_never_inside_the_post) {
  asio::io_context io;
  const auto poster = make_asio_poster(io.get_executor());
  for (int i = 0; i < 3; ++i) BOOST_TEST(poster->post(work()));
  BOOST_TEST(num_runs == 0);
  io.run();
  BOOST_TEST(num_runs == 3);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_context_is_told_once_and_later_posts_fail) {
  auto io = std::make_unique<asio::io_context>();
  const auto poster = make_asio_poster(io->get_executor());
  bool posted_from_listener = true;
  listener.then = [&] { posted_from_listener = poster->post(work()); };
  poster->set_shutdown_listener(&listener);
  BOOST_TEST(poster->post(work()));
  io.reset();
  BOOST_TEST(listener.num_calls == 1);
  BOOST_TEST(!posted_from_listener);
  BOOST_TEST(!poster->post(work()));
  BOOST_TEST(num_runs == 0);
  BOOST_TEST(listener.num_calls == 1);
}

BOOST_AUTO_TEST_CASE(a_strand_may_be_older_or_younger_than_the_service) {
  for (const bool older : {false, true}) {
    auto io = std::make_unique<asio::io_context>();
    std::shared_ptr<Poster> other;
    if (!older) other = make_asio_poster(io->get_executor());
    Listener told;
    auto poster = make_asio_poster(asio::make_strand(*io));
    poster->set_shutdown_listener(&told);
    BOOST_TEST(poster->post(work()));
    BOOST_TEST(poster->post(work()));
    io.reset();
    BOOST_TEST(told.num_calls == 1);
    BOOST_TEST(!poster->post(work()));
  }
  BOOST_TEST(num_runs == 0);
}

BOOST_AUTO_TEST_CASE(a_work_outlives_its_poster) {
  asio::io_context io;
  auto poster = make_asio_poster(asio::make_strand(io));
  poster->set_shutdown_listener(&listener);
  BOOST_TEST(poster->post(work()));
  poster.reset();
  io.run();
  BOOST_TEST(num_runs == 1);
  BOOST_TEST(listener.num_calls == 0);
}

BOOST_AUTO_TEST_CASE(the_death_of_one_context_leaves_the_other_alone) {
  auto doomed = std::make_unique<asio::io_context>();
  asio::io_context io;
  const auto first = make_asio_poster(doomed->get_executor());
  const auto second = make_asio_poster(io.get_executor());
  second->set_shutdown_listener(&listener);
  doomed.reset();
  BOOST_TEST(!first->post(work()));
  BOOST_TEST(second->post(work()));
  io.run();
  BOOST_TEST(num_runs == 1);
  BOOST_TEST(listener.num_calls == 0);
}

BOOST_AUTO_TEST_CASE(a_poster_knows_its_executor_while_the_context_lives) {
  asio::io_context io;
  auto doomed = std::make_unique<asio::io_context>();
  const auto strand = asio::make_strand(io);
  const auto poster = make_asio_poster(strand);
  const auto other = make_asio_poster(doomed->get_executor());
  BOOST_TEST(poster->uses(plain_executor(strand)));
  BOOST_TEST(!poster->uses(plain_executor(asio::make_strand(io))));
  BOOST_TEST(!poster->uses(plain_executor(io.get_executor())));
  BOOST_TEST((poster->executor() == plain_executor(strand)));
  BOOST_TEST(!other->uses(plain_executor(strand)));
  doomed.reset();
  BOOST_TEST(!other->uses(asio::any_io_executor()));
  BOOST_TEST(!other->executor());
}

BOOST_AUTO_TEST_CASE(a_listener_can_be_withdrawn_and_one_that_comes_late_is_told) {
  auto io = std::make_unique<asio::io_context>();
  const auto poster = make_asio_poster(io->get_executor());
  poster->set_shutdown_listener(&listener);
  poster->set_shutdown_listener(nullptr);
  io.reset();
  BOOST_TEST(listener.num_calls == 0);
  poster->set_shutdown_listener(&listener);
  BOOST_TEST(listener.num_calls == 1);
}

BOOST_AUTO_TEST_CASE(a_listener_may_destroy_the_poster_that_tells_it) {
  auto io = std::make_unique<asio::io_context>();
  auto poster = make_asio_poster(io->get_executor());
  listener.then = [&poster] { poster.reset(); };
  poster->set_shutdown_listener(&listener);
  io.reset();
  BOOST_TEST(listener.num_calls == 1);
  BOOST_TEST(!poster);
}

BOOST_AUTO_TEST_CASE(an_executor_that_drops_a_work_counts_as_gone) {
  asio::io_context io;
  const auto poster = make_asio_poster(DroppingExecutor{&io});
  poster->set_shutdown_listener(&listener);
  BOOST_TEST(!poster->post(work()));
  BOOST_TEST(listener.num_calls == 1);
  BOOST_TEST(!poster->post(work()));
  BOOST_TEST(num_runs == 0);
}

BOOST_AUTO_TEST_CASE(a_poster_is_no_outstanding_work) {
  asio::io_context io;
  const auto tracked = asio::require(io.get_executor(), asio::execution::outstanding_work.tracked);
  auto poster = make_asio_poster(tracked);
  BOOST_TEST(poster->post(work()));
  io.poll();
  BOOST_TEST(num_runs == 1);
  BOOST_TEST(!io.stopped());
}

BOOST_AUTO_TEST_CASE(an_exception_from_a_work_leaves_through_run_and_kills_nothing) {
  asio::io_context io;
  const auto poster = make_asio_poster(io.get_executor());
  poster->set_shutdown_listener(&listener);
  Work throws;
  throws.run = [](Work*) { throw std::runtime_error("work"); };
  BOOST_TEST(poster->post(&throws));
  BOOST_CHECK_THROW(io.run(), std::runtime_error);
  io.restart();
  BOOST_TEST(poster->post(work()));
  io.run();
  BOOST_TEST(num_runs == 1);
  BOOST_TEST(listener.num_calls == 0);
}

namespace {

/// Posts until the poster refuses; returns how many were accepted.
int post_until_refused(Poster& poster, std::deque<Counted>& works, std::atomic<int>& num_runs) {
  for (int accepted = 0;; ++accepted) {
    if (!poster.post(&works.emplace_back(num_runs))) return accepted;
    std::this_thread::yield();
  }
}

/// Two threads post while `destroy` ends the context of both posters.
void race(const std::shared_ptr<Poster>& first, const std::shared_ptr<Poster>& second,
          const std::function<void()>& destroy) {
  std::atomic<int> num_runs{0};
  Listener told;
  first->set_shutdown_listener(&told);
  std::deque<Counted> works[2];
  std::atomic<int> accepted{0};
  std::thread posters[] = {
      std::thread([&] { accepted += post_until_refused(*first, works[0], num_runs); }),
      std::thread([&] { accepted += post_until_refused(*second, works[1], num_runs); })};
  destroy();
  for (std::thread& thread : posters) thread.join();
  BOOST_TEST(told.num_calls == 1);
  BOOST_TEST(num_runs <= accepted);
  first->set_shutdown_listener(nullptr);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_io_context_is_destroyed_while_other_threads_post) {
  for (int round = 0; round < 100; ++round) {
    auto io = std::make_unique<asio::io_context>();
    const auto plain = make_asio_poster(io->get_executor());
    const auto strand = make_asio_poster(asio::make_strand(*io));
    race(round % 2 == 0 ? plain : strand, round % 2 == 0 ? strand : plain, [&io, round] {
      for (int i = 0; i < round; ++i) io->poll_one();
      io.reset();
    });
  }
}

BOOST_AUTO_TEST_CASE(a_thread_pool_is_destroyed_while_other_threads_post) {
  for (int round = 0; round < 50; ++round) {
    auto pool = std::make_unique<asio::thread_pool>(2);
    const auto plain = make_asio_poster(pool->get_executor());
    const auto strand = make_asio_poster(asio::make_strand(*pool));
    race(plain, strand, [&pool] { pool.reset(); });
  }
}

BOOST_AUTO_TEST_CASE(a_poster_is_destroyed_while_its_context_is) {
  for (int round = 0; round < 200; ++round) {
    auto io = std::make_unique<asio::io_context>();
    std::vector<std::shared_ptr<Poster>> posters;
    std::deque<Listener> listeners;
    for (int i = 0; i < 8; ++i) {
      posters.push_back(make_asio_poster(asio::make_strand(*io)));
      posters.back()->set_shutdown_listener(&listeners.emplace_back());
      BOOST_TEST(posters.back()->post(work()));
    }
    std::thread other([&io] { io.reset(); });
    for (auto& poster : posters) {
      if (round % 2 == 0) poster->set_shutdown_listener(nullptr);
      poster.reset();
    }
    listeners.clear();
    other.join();
  }
  BOOST_TEST(num_runs == 0);
}

BOOST_AUTO_TEST_CASE(a_simulated_context_dies_when_it_is_killed) {
  SimScheduler scheduler(1);
  SimPoster sim(scheduler);
  sim.set_shutdown_listener(&listener);
  BOOST_TEST(sim.post(work()));
  BOOST_TEST(scheduler.run(10));
  BOOST_TEST(num_runs == 1);
  BOOST_TEST(sim.post(work()));
  BOOST_TEST(sim.post(work()));
  sim.kill();
  sim.kill();
  BOOST_TEST(listener.num_calls == 1);
  BOOST_TEST(!sim.post(work()));
  BOOST_TEST(!scheduler.step());
  BOOST_TEST(num_runs == 1);
  sim.set_shutdown_listener(&listener);
  BOOST_TEST(listener.num_calls == 2);
}

BOOST_AUTO_TEST_CASE(a_simulated_posters_works_outlive_it) {
  SimScheduler scheduler(1);
  std::optional<SimPoster> sim(scheduler);
  Work ends_poster;
  static std::optional<SimPoster>* const target = &sim;
  ends_poster.run = [](Work*) { target->reset(); };
  BOOST_TEST(sim->post(&ends_poster));
  BOOST_TEST(sim->post(work()));
  BOOST_TEST(scheduler.run(10));
  BOOST_TEST(!sim);
  BOOST_TEST(num_runs == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tickertape::runtime::test
