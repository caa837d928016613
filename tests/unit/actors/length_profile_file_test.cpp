// Length profiles in files: between two lives of an engine, in recordings, and what is refused.
#include "actors/length_profile_file.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <tickertape/errors.hpp>
#include <tickertape/recording.hpp>
#include <tickertape/simulated.hpp>
#include <tickertape/simulation.hpp>

using namespace tickertape;
using namespace tickertape::actors;

namespace {

/// A folder of the test's own.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tickertape_lengths_" + std::to_string(::getpid()));

  Folder() { std::filesystem::create_directory(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }

  std::string file(const std::string& name) const { return (path / name).string(); }
};

std::string text_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Answers of 30 to 60 tokens that may be 1,000 long, in a pool for few of such.
SimulationReport run(const std::string& profile, const std::string& record = {}) {
  EngineOptions options;
  options.num_kv_pages = 200;
  options.max_num_seqs = 32;
  options.request_timeout_s = 0;
  options.length_profile = profile;
  options.record = record;
  constexpr std::uint32_t kVocab = 32000;
  WorkloadOptions drawn;
  return simulate(make_simulated_model({find_device("a100"), find_model_shape("llama-7b")}),
                  options,
                  simulated_load(parse_workload("uniform:30,60", drawn), 100, 1000, kVocab));
}

void agree(const LengthCounts& a, const LengthCounts& b) {
  BOOST_TEST(a.num_ended() == b.num_ended());
  BOOST_TEST_REQUIRE(a.buckets().size() == b.buckets().size());
  for (std::size_t i = 0; i < a.buckets().size(); ++i) {
    BOOST_TEST(a.buckets()[i].entered == b.buckets()[i].entered);
    BOOST_TEST(a.buckets()[i].ended == b.buckets()[i].ended);
    BOOST_TEST(a.buckets()[i].passed == b.buckets()[i].passed);
  }
  for (const std::uint64_t length : {0ULL, 1ULL, 40ULL, 100ULL, 1ULL << 33}) {
    BOOST_TEST(a.decay(length) == b.decay(length));
  }
}

BOOST_AUTO_TEST_CASE(what_one_engine_learned_another_knows) {
  const Folder folder;
  const std::string file = folder.file("lengths");
  const SimulationReport first = run(file);
  BOOST_TEST(read_length_profile(file).all.num_ended() == 100U);
  const SimulationReport second = run(file);
  BOOST_TEST(read_length_profile(file).all.num_ended() == 200U);
  // The first one began by reserving for answers of 1,000 tokens.
  constexpr std::size_t kSoon = 20;
  BOOST_TEST(first.ticks.at(kSoon).num_running * 4 < second.ticks.at(kSoon).num_running);
  BOOST_TEST(second.end_ns < first.end_ns);
}

BOOST_AUTO_TEST_CASE(counts_come_back_as_they_were) {
  const Folder folder;
  SharedLengths lengths;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    for (LengthCounts* counts : {&lengths.all, &lengths.kinds[5], &lengths.kinds[65]}) {
      const std::size_t last = i * 7 % 31;
      for (std::size_t bucket = 0; bucket <= last; ++bucket) counts->enter(bucket);
      if (i % 3 != 0) counts->end(last);
    }
  }
  write_length_profile(folder.file("a"), lengths);
  const SharedLengths again = read_length_profile(folder.file("a"));
  for (const std::size_t kind : {5, 65}) {
    BOOST_TEST(again.kinds[kind].num_ended() == 666U);
    BOOST_TEST(again.kinds[kind].buckets().size() == lengths.kinds[kind].buckets().size());
  }
  BOOST_TEST(again.kinds[6].buckets().empty());
  write_length_profile(folder.file("b"), again);
  BOOST_TEST(text_of(folder.file("a")) == text_of(folder.file("b")));
  agree(again.all, read_length_profile(folder.file("b")).all);
}

BOOST_AUTO_TEST_CASE(a_recording_knows_what_was_known_before) {
  const Folder folder;
  run(folder.file("lengths"));
  run(folder.file("lengths"), folder.file("run.rec"));
  const ReplayReport report = replay(folder.file("run.rec"));
  BOOST_TEST((report.end == RecordingEnd::closed));
  BOOST_TEST(report.num_requests == 100U);
  BOOST_TEST(!report.difference.has_value());
}

BOOST_AUTO_TEST_CASE(what_is_no_profile_is_refused) {
  const Folder folder;
  const std::string file = folder.file("lengths");
  const std::string head = "tickertape length profile, version 1\n";
  std::string many = "all 1";
  for (std::size_t i = 0; i <= LengthBucket::kCount; ++i) many += " 0/0/0";
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("tickertape length profile, version 2\n"),
        head + "all", head + "all -1", head + "all 4294967296", head + "all 1 1/1",
        head + "all 1 1/-1/0", head + "all 1 1/1/1/1", head + "all 1 1/1/1  1/1/1", head + many,
        head + "some 1", head + "chat 33 1", head + "chat 1", head + "completion a 1",
        head + "all 1\n\nchat 3 1"}) {
    std::ofstream(file, std::ios::trunc) << text;
    BOOST_CHECK_THROW(run(file), Error);
    BOOST_TEST(text_of(file) == text);  // It is not written over.
  }
  BOOST_CHECK_THROW(run(folder.file("no/folder/lengths")), Error);
  BOOST_CHECK_THROW(run(folder.path.string()), Error);
}

BOOST_AUTO_TEST_CASE(counts_beyond_all_that_are_told_do_no_harm) {
  const Folder folder;
  const std::string file = folder.file("lengths");
  std::ofstream(file) << "tickertape length profile, version 1\n"
                         "all 4294967295 0/4294967295/4294967295 4294967295/0/1\n";
  BOOST_TEST(run(file).requests.size() == 100U);
}

}  // namespace
