// Workloads: what their names give, and what is wrong with other names.
#include <unistd.h>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include <tickertape/errors.hpp>
#include <tickertape/workload.hpp>

#include "kernels/fake/fixed_point.hpp"

using namespace tickertape;

namespace {

std::string error_of(const std::string& text, double rate_per_s = 0) {
  WorkloadOptions options;
  options.rate_per_s = rate_per_s;
  try {
    static_cast<void>(parse_workload(text, options));
  } catch (const Error& error) {
    BOOST_TEST(error.info().param == "workload");
    return error.what();
  }
  return {};
}

struct Means {
  double prompt = 0;
  double output = 0;
};

Means means_of(const std::string& name, std::size_t count) {
  Means means;
  for (const WorkloadRequest& one : parse_workload(name).draw(count)) {
    means.prompt += one.prompt_tokens;
    means.output += one.output_tokens;
    BOOST_REQUIRE(one.prompt_tokens + one.output_tokens <= 2048);
  }
  means.prompt /= static_cast<double>(count);
  means.output /= static_cast<double>(count);
  return means;
}

/// A file that goes when the test does.
struct File {
  explicit File(const std::string& text) { std::ofstream(path) << text; }
  ~File() { std::remove(path.c_str()); }
  std::string path = "workload_test_" + std::to_string(::getpid()) + ".jsonl";
};

}  // namespace

BOOST_AUTO_TEST_SUITE(workload)

BOOST_AUTO_TEST_CASE(names_give_the_lengths_that_they_say) {
  const auto uniform = parse_workload("uniform:128,64").draw(3);
  BOOST_TEST(uniform.at(2).prompt_tokens == 128U);
  BOOST_TEST(uniform.at(2).output_tokens == 64U);

  const Workload outputs = parse_workload("outputs:31x20,2000");
  BOOST_TEST(outputs.natural_size() == 32U);
  const auto listed = outputs.draw(40);
  BOOST_TEST(listed[30].output_tokens == 20U);
  BOOST_TEST(listed[31].output_tokens == 2000U);
  BOOST_TEST(listed[32].output_tokens == 20U);
  BOOST_TEST(listed[31].prompt_tokens == 32U);

  std::uint32_t least = 1000;
  std::uint32_t most = 0;
  for (const WorkloadRequest& one : parse_workload("mixed").draw(3000)) {
    least = std::min(least, one.prompt_tokens);
    most = std::max(most, one.prompt_tokens);
    const std::uint32_t expected[] = {6, 50, 300};
    BOOST_REQUIRE(one.output_tokens == expected[one.index % 3]);
  }
  BOOST_TEST(least == 16U);
  BOOST_TEST(most == 256U);

  const auto both = parse_workload("long-and-short").draw(8);
  BOOST_TEST(both[4].prompt_tokens == 1500U);
  BOOST_TEST(both[5].prompt_tokens == 20U);
}

BOOST_AUTO_TEST_CASE(log_normal_lengths_have_the_published_means) {
  const Means sharegpt = means_of("sharegpt-like", 50000);
  BOOST_TEST(sharegpt.prompt == 161, boost::test_tools::tolerance(0.02));
  BOOST_TEST(sharegpt.output == 338, boost::test_tools::tolerance(0.02));
  const Means alpaca = means_of("alpaca-like", 50000);
  BOOST_TEST(alpaca.prompt == 19, boost::test_tools::tolerance(0.02));
  BOOST_TEST(alpaca.output == 58, boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_requests_with_every_compiler) {
  WorkloadOptions options;
  options.seed = 7;
  options.rate_per_s = 3;
  std::uint64_t digest = 0;
  const Workload workload = parse_workload("sharegpt-like", options);
  for (const WorkloadRequest& one : workload.draw(200)) {
    for (const std::uint64_t part :
         {std::uint64_t{one.prompt_tokens}, std::uint64_t{one.output_tokens},
          static_cast<std::uint64_t>(one.arrival_ns),
          static_cast<std::uint64_t>(workload.make_request(one, 32000).prompt_ids.back())}) {
      digest = kernels::fake::scramble(digest ^ part);
    }
  }
  BOOST_TEST(digest == 9090116382041610723U);
  options.seed = 8;
  BOOST_TEST(parse_workload("sharegpt-like", options).draw(1)[0].arrival_ns !=
             workload.draw(1)[0].arrival_ns);
}

BOOST_AUTO_TEST_CASE(arrivals_are_a_poisson_process) {
  WorkloadOptions options;
  options.rate_per_s = 50;
  constexpr std::size_t kCount = 20000;
  const auto drawn = parse_workload("uniform:4,4", options).draw(kCount);
  const double mean_ms = static_cast<double>(drawn.back().arrival_ns) / 1e6 / kCount;
  BOOST_TEST(mean_ms == 20, boost::test_tools::tolerance(0.03));
  std::size_t long_gaps = 0;  // Of an exponential distribution, 1/e exceed the mean.
  for (std::size_t i = 1; i < kCount; ++i) {
    BOOST_REQUIRE(drawn[i].arrival_ns >= drawn[i - 1].arrival_ns);
    if (drawn[i].arrival_ns - drawn[i - 1].arrival_ns > 20'000'000) ++long_gaps;
  }
  BOOST_TEST(static_cast<double>(long_gaps) / kCount == std::exp(-1.0),
             boost::test_tools::tolerance(0.03));
}

BOOST_AUTO_TEST_CASE(a_prefix_is_shared_and_the_rest_is_not) {
  const Workload workload = parse_workload("prefix:48,16,8");
  const auto drawn = workload.draw(2);
  const Request a = workload.make_request(drawn[0], 1000);
  const Request b = workload.make_request(drawn[1], 1000);
  BOOST_REQUIRE(a.prompt_ids.size() == 64U);
  BOOST_TEST(std::equal(a.prompt_ids.begin(), a.prompt_ids.begin() + 48, b.prompt_ids.begin()));
  BOOST_TEST(!std::equal(a.prompt_ids.begin() + 48, a.prompt_ids.end(), b.prompt_ids.begin() + 48));
  for (const TokenId id : a.prompt_ids) BOOST_TEST((id >= 3 && id < 1000));
  BOOST_TEST(a.max_tokens == 8U);
  BOOST_TEST(a.sampling.ignore_eos);
}

BOOST_AUTO_TEST_CASE(errors_name_the_part_at_fault) {
  const std::pair<const char*, const char*> wrong[] = {
      {"uniform", "uniform:IN,OUT"},
      {"uniform:16", "uniform:IN,OUT"},
      {"uniform:16,x", "'x'"},
      {"uniform:0,5", "'0'"},
      {"uniform:1,2,3", "uniform:IN,OUT"},
      {"outputs:", "''"},
      {"outputs:3,,4", "''"},
      {"outputs:3x", "''"},
      {"outputs:ax3", "'a'"},
      {"outputs:99999999x1", "'99999999'"},
      {"prefix:1,2", "prefix:SHARED"},
      {"uniform:99999999999,1", "'99999999999'"},
      {"sharegpt", "sharegpt-like"},
      {"", "long-and-short"},
      {"missing.jsonl", "missing.jsonl"},
      {"mixed:3", "'mixed:3'"},
  };
  for (const auto& [text, named] : wrong) {
    BOOST_TEST_CONTEXT(text) {
      BOOST_TEST(error_of(text).find(named) != std::string::npos);
    }
  }
  BOOST_TEST(error_of("mixed", -1).find("rate") != std::string::npos);
  BOOST_TEST(error_of("mixed", std::nan("")).find("rate") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_file_gives_its_own_requests) {
  const File file(R"({"prompt": [5, 6, 7], "max_tokens": 9, "temperature": 0, "arrival_ms": 20}

{"messages": [{"role": "user", "content": "hi"}], "stop": "x", "user": "me", "output_tokens": 3}
)");
  const Workload workload = parse_workload(file.path);
  BOOST_TEST(workload.natural_size() == 2U);
  const auto drawn = workload.draw(4);
  BOOST_TEST(drawn[0].index == 1U);  // It arrives first.
  BOOST_TEST(drawn[0].output_tokens == 3U);
  BOOST_TEST(drawn[1].arrival_ns == 20'000'000);
  BOOST_TEST(drawn[3].arrival_ns == 40'000'000);
  const Request first = workload.make_request(drawn[0], 1000);
  BOOST_TEST(first.messages.at(0).content == "hi");
  BOOST_TEST(first.stop.at(0) == "x");
  BOOST_TEST(first.client == "me");
  const Request second = workload.make_request(drawn[1], 1000);
  BOOST_TEST(second.prompt_ids.size() == 3U);
  BOOST_TEST(second.max_tokens == 9U);
}

BOOST_AUTO_TEST_CASE(a_files_errors_name_line_and_field) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{\"prompt\": \"a\"}\nnot json\n", "line 2"},
      {"{}", "prompt or messages"},
      {"[1]", "object"},
      {"{\"prompt\": \"a\", \"max_tokens\": 0}", "max_tokens"},
      {"{\"prompt\": \"a\", \"temperature\": 3}", "temperature"},
      {"{\"prompt\": [-1]}", "prompt"},
      {"{\"prompt\": \"a\", \"arrival_ms\": -1}", "arrival_ms"},
      {"{\"prompt\": \"a\", \"ignore_eos\": 1}", "ignore_eos"},
      {"\n \n", "no request"},
  };
  for (const auto& [text, named] : wrong) {
    const File file(text);
    BOOST_TEST_CONTEXT(text) {
      BOOST_TEST(error_of(file.path).find(named) != std::string::npos);
    }
  }
}

BOOST_AUTO_TEST_CASE(fixed_point_agrees_with_the_real_functions) {
  using namespace kernels::fake;
  for (double x = -3; x < 12; x += 0.37) {
    const double got = static_cast<double>(exp2(static_cast<Fixed>(x * 4294967296.0))) / kOne;
    BOOST_TEST(got == std::exp2(x), boost::test_tools::tolerance(1e-6));
  }
  for (double x = 1e-9; x <= 1; x *= 1.7) {
    const auto fixed = static_cast<Fixed>(x * 4294967296.0);
    const double got = static_cast<double>(minus_ln(fixed)) / kOne;
    BOOST_TEST(got == -std::log(static_cast<double>(fixed) / kOne),
               boost::test_tools::tolerance(1e-6));
  }
  BOOST_TEST(minus_ln(kOne) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
