// Recordings: written, read, cut off, damaged, planned again.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <tickertape/errors.hpp>
#include <tickertape/policy.hpp>
#include <tickertape/recording.hpp>
#include <tickertape/simulated.hpp>
#include <tickertape/simulation.hpp>

#include "actors/record_bytes.hpp"
#include "actors/record_calls.hpp"
#include "actors/schedule_recorder.hpp"

using namespace tickertape;

namespace {

/// A file of the test's own, and a short run under memory pressure to record into it.
struct Fixture {
  std::filesystem::path file = std::filesystem::temp_directory_path() /
                               ("tickertape_recording_" + std::to_string(::getpid()) + ".rec");
  EngineOptions options;

  Fixture() {
    options.num_kv_pages = 30;
    options.max_num_seqs = 8;
    options.request_timeout_s = 0;
    options.admission = Admission::prompt_only;
    options.record = file.string();
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  ~Fixture() { std::filesystem::remove(file); }

  SimulationReport run(std::size_t num_requests) const {
    constexpr std::uint32_t kVocab = 32000;
    WorkloadOptions drawn;
    drawn.rate_per_s = 100;
    return simulate(
        make_simulated_model({find_device("a100"), find_model_shape("llama-7b")}), options,
        simulated_load(parse_workload("uniform:30,60", drawn), num_requests, 200, kVocab));
  }
  std::string bytes() const {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& bytes) const {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
};

bool is_whole(const ReplayReport& report) {
  return report.end == RecordingEnd::closed && !report.difference;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(recording, Fixture)

BOOST_AUTO_TEST_CASE(the_checksum_is_crc32c) {
  BOOST_TEST(actors::crc32c(std::string("123456789")) == 0xe3069283U);  // The catalogue's check.
}

BOOST_AUTO_TEST_CASE(integers_come_back) {
  actors::RecordWriter writer;
  writer(std::uint64_t{UINT64_MAX});
  writer(std::int64_t{INT64_MIN});
  writer(std::int64_t{INT64_MAX});
  writer(std::int32_t{-1});
  writer(0.05);
  writer(true);
  const std::string bytes = writer.take();
  actors::RecordReader reader(bytes);
  std::uint64_t most = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int32_t minus = 0;
  double real = 0;
  bool yes = false;
  reader(most);
  reader(low);
  reader(high);
  reader(minus);
  reader(real);
  reader(yes);
  BOOST_TEST((most == UINT64_MAX && low == INT64_MIN && high == INT64_MAX));
  BOOST_TEST((minus == -1 && real == 0.05 && yes && reader.at_end()));
  BOOST_CHECK_THROW(reader(most), actors::RecordDamage);
}

BOOST_AUTO_TEST_CASE(rows_come_back_whatever_the_last_pass_was) {
  using actors::RowDone;
  const std::vector<std::vector<RowDone>> passes = {
      {{1, 5, 0, 1, false, false}, {2, 6, 3, 0, false, false}, {3, 1, 0, 1, false, false}},
      {{1, 1, 0, 1, false, false}, {2, 1, 0, 1, false, false}, {3, 1, 0, 1, true, true}},
      {{2, 1, 0, 1, false, false}, {9, 64, 0, 0, false, false}, {9, 70, 0, 1, false, false}},
      {},
      {{9, 1, 0, 1, false, false}, {2, 1, 0, 1, false, false}}};
  actors::CallWriter writer;
  for (const auto& done : passes) {
    actors::Demand demand;
    demand.done = done;
    demand.named = {{7, 0x123456789abcdef0ULL}};
    writer.commit(demand);
  }
  const std::string bytes = writer.take();
  actors::CallReader reader;
  reader.open(bytes);
  for (const auto& done : passes) {
    const auto call = reader.next();
    const auto& demand = std::get<actors::Demand>(*call);
    BOOST_REQUIRE(demand.done.size() == done.size());
    BOOST_TEST(demand.named.at(0).name == 0x123456789abcdef0ULL);
    for (std::size_t i = 0; i < done.size(); ++i) {
      BOOST_TEST(demand.done[i].id == done[i].id);
      BOOST_TEST(demand.done[i].num_computed == done[i].num_computed);
      BOOST_TEST(demand.done[i].num_scored == done[i].num_scored);
      BOOST_TEST(demand.done[i].num_emitted == done[i].num_emitted);
      BOOST_TEST(demand.done[i].ended == done[i].ended);
      BOOST_TEST(demand.done[i].by_itself == done[i].by_itself);
    }
  }
  BOOST_TEST(!reader.next().has_value());
}

BOOST_AUTO_TEST_CASE(a_run_is_planned_again_and_recording_changes_nothing) {
  const SimulationReport recorded = run(200);
  const ReplayReport report = replay(file);
  BOOST_TEST(is_whole(report));
  BOOST_TEST(report.num_requests == 200U);
  BOOST_TEST(report.num_ticks == recorded.stats.ticks);
  BOOST_TEST(report.num_preemptions == recorded.stats.preemptions);
  BOOST_TEST(report.num_preemptions > 0U);
  BOOST_TEST(recorded.stats.recorded_bytes == report.num_bytes);
  BOOST_TEST(report.num_read == report.num_bytes);
  options.record.clear();
  BOOST_TEST(run(200).end_ns == recorded.end_ns);
}

BOOST_AUTO_TEST_CASE(a_recording_cut_off_anywhere_is_good_up_to_the_cut) {
  (void)run(12);
  const std::string whole = bytes();
  const ReplayReport all = replay(file);
  BOOST_REQUIRE(is_whole(all));
  std::uint64_t plans = 0;
  std::uint64_t refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    try {
      const ReplayReport report = replay(file);
      BOOST_REQUIRE((report.end == RecordingEnd::cut && !report.difference));
      BOOST_REQUIRE(report.num_plans >= plans);
      plans = report.num_plans;
    } catch (const Error&) {
      ++refused;
      BOOST_REQUIRE(plans == 0U);  // Only in front of the first call.
    }
  }
  BOOST_TEST(refused < 200U);
  BOOST_TEST(plans == all.num_plans);
}

BOOST_AUTO_TEST_CASE(any_changed_byte_is_found) {
  (void)run(12);
  const std::string whole = bytes();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    write(damaged);
    try {
      const ReplayReport report = replay(file);
      BOOST_REQUIRE((report.end == RecordingEnd::damaged || report.end == RecordingEnd::cut));
      BOOST_REQUIRE(!report.difference);
      BOOST_REQUIRE(report.num_read <= i);
    } catch (const Error&) {
      BOOST_REQUIRE(i < 200U);
    }
  }
  write(whole + "x");
  BOOST_TEST((replay(file).end == RecordingEnd::damaged));
}

BOOST_AUTO_TEST_CASE(another_policy_is_found_at_its_first_different_tick) {
  (void)run(200);
  ReplayOptions changes;
  changes.admission = Admission::reserve;
  const ReplayReport report = replay(file, changes);
  BOOST_REQUIRE(report.difference.has_value());
  BOOST_TEST((report.end == RecordingEnd::difference));
  BOOST_TEST(report.difference->tick > 1U);
  BOOST_TEST(report.difference->what.find(", now ") != std::string::npos);
  changes.admission = Admission::prompt_only;  // As recorded.
  BOOST_TEST(is_whole(replay(file, changes)));
}

BOOST_AUTO_TEST_CASE(layer_groups_with_windows_are_recorded) {
  actors::ScheduleSettings settings;
  settings.planner.pool = KvPoolOptions{64, 16};
  settings.planner.windows = {LayerGroup{1, 32, 0, 8}, LayerGroup{1, 64, 0, 12}};
  settings.planner.max_num_batched_tokens = 64;
  settings.planner.max_model_len = 1024;
  actors::CallWriter writer;
  writer.settings(settings);
  const std::string block = writer.take();
  const std::vector<LayerGroup> read = actors::CallReader::settings(block).planner.windows;
  BOOST_TEST_REQUIRE(read.size() == 2U);
  BOOST_TEST((read[0].window == 32 && read[0].num_pages == 8));
  BOOST_TEST((read[1].window == 64 && read[1].num_pages == 12));

  constexpr std::uint64_t kLimit = 1 << 20;
  actors::ScheduleRecorder(file, settings, kLimit).finish();
  BOOST_TEST(is_whole(replay(file)));
  ReplayOptions whole_prompts;  // Of 1,024 tokens: 8 pages are too few.
  whole_prompts.batching = Batching::iteration;
  BOOST_CHECK_THROW(static_cast<void>(replay(file, whole_prompts)), Error);
}

BOOST_AUTO_TEST_CASE(a_recording_ends_at_its_limit_with_a_mark) {
  options.record_limit = 5000;
  const SimulationReport recorded = run(200);
  BOOST_TEST(!recorded.stats.recording_failed);
  const ReplayReport report = replay(file);
  BOOST_TEST((report.end == RecordingEnd::limit && !report.difference));
  BOOST_TEST(report.num_bytes <= 5000U);
}

BOOST_AUTO_TEST_CASE(a_full_disk_ends_the_recording_and_not_the_run) {
  options.record = "/dev/full";
  const SimulationReport recorded = run(50);
  BOOST_TEST(recorded.stats.recording_failed);
  BOOST_TEST(recorded.stats.recorded_bytes == 0U);
  BOOST_TEST(recorded.requests.size() == 50U);
  options.record = "/nowhere/at/all";
  BOOST_CHECK_THROW((void)run(1), Error);
}

BOOST_AUTO_TEST_CASE(what_is_no_recording_is_refused) {
  write("Once upon a time");
  BOOST_CHECK_THROW((void)replay(file), Error);
  std::filesystem::remove(file);
  BOOST_CHECK_THROW((void)replay(file), Error);
}

BOOST_AUTO_TEST_SUITE_END()
