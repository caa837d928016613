// simulate(): an engine's own actors in virtual time.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <string>

#include <tickertape/errors.hpp>
#include <tickertape/simulated.hpp>
#include <tickertape/simulation.hpp>

using namespace tickertape;

namespace {

constexpr std::uint32_t kVocab = 32000;

std::shared_ptr<const Model> model_7b() {
  return make_simulated_model({find_device("a100"), find_model_shape("llama-7b")});
}

EngineOptions options_of(std::uint32_t num_pages, std::uint32_t max_num_seqs) {
  EngineOptions options;
  options.num_kv_pages = num_pages;
  options.max_num_seqs = max_num_seqs;
  options.request_timeout_s = 0;
  return options;
}

SimulationReport run(const std::string& workload, std::size_t count, const EngineOptions& options,
                     std::uint32_t max_tokens, double rate_per_s = 0,
                     const SimulationOptions& what = {}) {
  WorkloadOptions drawn;
  drawn.rate_per_s = rate_per_s;
  return simulate(model_7b(), options,
                  simulated_load(parse_workload(workload, drawn), count, max_tokens, kVocab), what);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(simulation)

BOOST_AUTO_TEST_CASE(every_request_gets_its_true_length_whatever_it_declares) {
  const Workload workload = parse_workload("sharegpt-like");
  const auto drawn = workload.draw(60);
  const SimulationReport report = run("sharegpt-like", 60, options_of(600, 16), 2048);
  std::uint64_t tokens = 0;
  for (const RequestRecord& one : report.requests) {
    BOOST_TEST((one.reason == FinishReason::stop));
    BOOST_TEST(one.completion_tokens == drawn[one.index].output_tokens);
    BOOST_TEST(one.prompt_tokens == drawn[one.index].prompt_tokens);
    BOOST_TEST((0 <= one.started_ns && one.started_ns < one.first_token_ns &&
                one.first_token_ns <= one.last_token_ns && one.last_token_ns <= one.end_ns));
    BOOST_TEST(one.computed_ns == one.last_token_ns);  // Nothing is held back.
    tokens += one.completion_tokens;
  }
  BOOST_TEST(report.num_tokens == tokens);
  BOOST_TEST(report.stats.generation_tokens == tokens);
  BOOST_TEST(report.gaps_us.size() == tokens - report.requests.size());
  BOOST_TEST(report.stats.pages_free + report.stats.pages_cached == 600U);
}

BOOST_AUTO_TEST_CASE(the_forecast_is_what_is_declared_until_answers_have_ended) {
  const SimulationReport report = run("uniform:40,100", 300, options_of(4096, 4), 2000);
  for (const RequestRecord& one : report.requests) {
    BOOST_TEST_REQUIRE(one.forecast_p50 <= one.forecast_p90);
  }
  BOOST_TEST(report.requests.front().forecast_p50 == 2000U);
  // All have 100 tokens, which lie in the bucket of 92 to 107.
  BOOST_TEST(report.requests.back().forecast_p50 >= 92U);
  BOOST_TEST(report.requests.back().forecast_p90 <= 108U);
}

BOOST_AUTO_TEST_CASE(ticks_and_rows_tell_what_ran) {
  SimulationOptions what;
  what.keep_rows = true;
  std::size_t heard = 0;
  what.on_tick = [&](const TickRecord& tick, std::span<const TickRow> rows) {
    ++heard;
    BOOST_TEST(rows.size() == tick.num_rows);
  };
  const SimulationReport report = run("outputs:6,50,300", 12, options_of(4096, 3), 0, 0, what);
  BOOST_TEST(heard == report.ticks.size());
  BOOST_TEST(report.stats.ticks == report.ticks.size());
  std::vector<std::uint32_t> decodes(12, 0);
  std::vector<std::uint32_t> prefills(12, 0);
  std::int64_t end_ns = 0;
  std::size_t place = 0;
  for (const TickRecord& tick : report.ticks) {
    BOOST_TEST(tick.start_ns >= end_ns);
    BOOST_TEST(tick.duration_ns > 0);
    end_ns = tick.start_ns + tick.duration_ns;
    BOOST_TEST(tick.pages_free + tick.pages_cached + tick.pages_held == 4096U);
    BOOST_TEST(tick.first_row == place);
    BOOST_TEST(tick.last_page_places < tick.num_rows * 16U);
    BOOST_TEST(tick.last_page_places + tick.held_tokens <= tick.held_places);
    std::uint32_t tokens = 0;
    for (; place < tick.first_row + tick.num_rows; ++place) {
      const TickRow& row = report.rows.at(place);
      BOOST_TEST(row.slot < 3U);
      tokens += row.num_tokens;
      (row.prefill ? prefills : decodes).at(row.request) += row.num_tokens;
    }
    BOOST_TEST(tokens == tick.num_tokens);
  }
  BOOST_TEST(place == report.rows.size());
  for (std::size_t i = 0; i < 12; ++i) {
    // The first token comes out of the prompt's last row.
    BOOST_TEST(decodes[i] + 1 == report.requests[i].completion_tokens);
    BOOST_TEST(prefills[i] == 32U);
  }
  BOOST_TEST(report.end_ns == end_ns);
  BOOST_TEST(report.busy_ns <= end_ns);
}

BOOST_AUTO_TEST_CASE(the_same_arguments_give_the_same_report) {
  const auto digest = [] {
    const SimulationReport report = run("alpaca-like", 300, options_of(120, 32), 256, 200);
    std::uint64_t mix = static_cast<std::uint64_t>(report.end_ns);
    for (const RequestRecord& one : report.requests) {
      mix = mix * 31 + static_cast<std::uint64_t>(one.end_ns + one.first_token_ns);
    }
    return std::pair(mix, report.stats.preemptions);
  };
  const auto first = digest();
  BOOST_TEST(first.second > 0U);  // Pages were short.
  BOOST_TEST((first == digest()));
}

BOOST_AUTO_TEST_CASE(a_full_queue_refuses_nobody_and_keeps_the_arrival) {
  EngineOptions options = options_of(4096, 2);
  options.max_queued_requests = 4;
  const SimulationReport report = run("uniform:16,16", 40, options, 0);
  for (const RequestRecord& one : report.requests) {
    BOOST_TEST((one.reason == FinishReason::length || one.reason == FinishReason::stop));
    BOOST_TEST(one.arrival_ns == 0);
    BOOST_TEST(one.started_ns >= 0);
  }
  for (const TickRecord& tick : report.ticks) BOOST_TEST(tick.num_waiting <= 4U);
  BOOST_TEST(report.requests.back().started_ns > report.requests.front().end_ns);
}

BOOST_AUTO_TEST_CASE(arrivals_keep_their_times_and_an_idle_device_waits) {
  const SimulationReport report = run("uniform:8,4", 30, options_of(4096, 8), 0, 5);
  for (const RequestRecord& one : report.requests) {
    BOOST_TEST(one.started_ns >= one.arrival_ns);
    BOOST_TEST(one.first_token_ns > one.arrival_ns);
  }
  // Five a second that take about 30 ms each: the device is idle most of the time.
  BOOST_TEST(report.busy_ns < report.end_ns / 3);
}

BOOST_AUTO_TEST_CASE(a_refused_request_ends_with_an_error_and_the_rest_goes_on) {
  SimulationLoad load = simulated_load(parse_workload("uniform:8,4"), 3, 0, kVocab);
  load.make_request = [make = load.make_request](std::size_t index) {
    Request request = make(index);
    if (index == 1) request.prompt_ids.assign(100000, 5);
    return request;
  };
  const SimulationReport report = simulate(model_7b(), options_of(512, 4), load);
  BOOST_TEST((report.requests[1].reason == FinishReason::error));
  BOOST_TEST(report.requests[2].completion_tokens == 4U);
}

BOOST_AUTO_TEST_CASE(bad_options_are_refused) {
  SimulationLoad load;
  load.arrivals_ns = {5, 3};
  BOOST_CHECK_THROW(static_cast<void>(simulate(model_7b(), options_of(16, 1), load)), Error);
  EngineOptions options = options_of(16, 0);
  BOOST_CHECK_THROW(static_cast<void>(simulate(model_7b(), options, {})), Error);
  BOOST_TEST(simulate(model_7b(), options_of(16, 1), {}).end_ns == 0);
}

BOOST_AUTO_TEST_SUITE_END()
