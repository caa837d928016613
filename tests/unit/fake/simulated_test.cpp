// The simulated model: how long its passes take, and when its answers end.
#include <unistd.h>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>
#include <string>

#include <tickertape/errors.hpp>
#include <tickertape/simulated.hpp>

#include "tests/unit/fake/pass_driver.hpp"

using namespace tickertape;
using test::PassDriver;
using test::Sequence;

namespace {

SimulatedOptions h200_8b() {
  return {find_device("h200"), find_model_shape("llama-8b")};
}

/// A device with round figures and a model that is mostly one matrix.
SimulatedOptions simple() {
  SimulatedOptions options;
  options.device.bytes_per_s = 1'000'000'000;
  options.device.flops_per_s = 100'000'000'000;
  options.device.link_bytes_per_s = 1'000'000;
  options.device.pass_ns = 0;
  options.device.layer_ns = 0;
  options.device.bytes_percent = 100;
  options.device.flops_percent = 100;
  options.shape.num_layers = 1;
  options.shape.hidden_size = 8;
  options.shape.num_heads = 1;
  options.shape.num_kv_heads = 1;
  options.shape.head_size = 8;
  options.shape.ffn_size = 1000;
  options.shape.vocab_size = 300;
  options.shape.max_model_len = 4096;
  return options;
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(simulated)

BOOST_AUTO_TEST_CASE(shapes_have_the_published_numbers_of_weights) {
  const std::pair<const char*, double> expected[] = {
      {"llama-7b", 6.74e9},  {"llama-13b", 13.02e9}, {"llama-1b", 1.236e9},    {"llama-8b", 8.03e9},
      {"llama-70b", 70.6e9}, {"opt-13b", 12.85e9},   {"smollm2-135m", 134.5e6}};
  for (const auto& [name, weights] : expected) {
    const ModelShape shape = find_model_shape(name);
    const double got =
        static_cast<double>(shape.weight_bytes()) * 8 / static_cast<double>(shape.weight_bits);
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(got == weights, boost::test_tools::tolerance(0.005));
    }
  }
  BOOST_TEST(find_model_shape("llama-8b").kv_bytes_per_token() == 128U * 1024);
}

BOOST_AUTO_TEST_CASE(a_pass_takes_what_its_roofline_says) {
  const SimulatedOptions options = h200_8b();
  const PassTimer timer(options.device, options.shape);
  // One token: 15.0 GB of matrices at 4.32 TB/s are 3.475 ms, the keys and values nearly nothing.
  const auto alone_ns = static_cast<double>(timer.pass_ns(1, 1, 1, 1));
  BOOST_TEST(alone_ns == 3.475e6 + 0.2e6 + 32 * 5e3, boost::test_tools::tolerance(0.002));
  // 8,192 tokens of one prompt: 114 TFLOP in the layers and 4.4 in attention, at 791 TFLOP/s.
  const auto prompt_ns = static_cast<double>(timer.pass_ns(8192, 1, 8192, 8192ULL * 8193 / 2));
  const double expected_ns = (2.0 * 6.979e9 * 8192 + 4.0 * 32 * 32 * 128 * 8192 * 4096.5) / 791.2e3;
  BOOST_TEST(prompt_ns == expected_ns + 0.36e6, boost::test_tools::tolerance(0.002));
  // Memory-bound below the balance, bound by arithmetic above.
  const std::uint64_t balance = timer.balance_tokens();
  BOOST_TEST((balance > 150 && balance < 210));
  BOOST_TEST(timer.pass_ns(balance - 5, balance - 5, 0, 0) - timer.pass_ns(10, 10, 0, 0) < 10'000);
  BOOST_TEST(timer.pass_ns(2 * balance, 2 * balance, 0, 0) >
             timer.pass_ns(balance, balance, 0, 0) * 3 / 2);
}

BOOST_AUTO_TEST_CASE(figures_that_make_no_sense_give_long_times_and_no_overflow) {
  SimulatedOptions options = h200_8b();
  options.device.bytes_per_s = 1;
  options.device.flops_per_s = 1;
  const PassTimer timer(options.device, options.shape);
  BOOST_TEST(timer.pass_ns(1 << 20, 1 << 20, 1ULL << 40, 1ULL << 50) > 1'000'000'000'000'000);
  BOOST_TEST(timer.copy_ns(1ULL << 40) > 0);
  const SimulatedOptions real = h200_8b();
  BOOST_TEST(PassTimer(real.device, real.shape, 4).pass_ns(1, 1, 100000, 100000) >
             PassTimer(real.device, real.shape).pass_ns(1, 1, 100000, 100000) + 2'500'000);
}

BOOST_AUTO_TEST_CASE(an_answer_ends_where_its_seed_says) {
  const auto model = make_simulated_model(simple());
  PassDriver driver(*model);
  Sequence sequence(0, {10, 11, 12}, {0, 1, 2, 3, 4, 5});
  sequence.seed = simulated_seed(7, 3);
  driver.generate(sequence, 12);
  const auto generated = sequence.generated();
  for (std::size_t i = 0; i < generated.size(); ++i) {
    BOOST_TEST((generated[i] == 0) == (i == 6), "token " << i);
  }
  // min_tokens moves the end.
  Sequence later(1, {10, 11, 12}, {6, 7, 8, 9, 10, 11});
  later.seed = sequence.seed;
  later.params.min_tokens = 9;
  driver.generate(later, 12);
  BOOST_TEST(later.generated().at(6) != 0);
  BOOST_TEST(later.generated().at(9) == 0);
  BOOST_TEST(simulated_output_tokens(simulated_seed(123456, 99), 4) == 123456U);
  BOOST_TEST(simulated_seed(1, 1) != simulated_seed(1, 2));
  BOOST_TEST(simulated_output_tokens(5, 0) != simulated_output_tokens(5, 1));
  BOOST_TEST(simulated_output_tokens(5, 0) >= 4U);
}

BOOST_AUTO_TEST_CASE(swaps_share_the_link_and_passes_wait_only_for_their_pages) {
  const auto model = make_simulated_model(simple());
  PassDriver driver(*model);
  const std::int64_t swap_ns = 4 * 32 * 1'000;  // A page of 4 tokens of 32 bytes at 1 MB/s.
  const PageMove out{0, 5, 0};
  const PageMove in{0, 1, 6};
  driver.backend().swap_out(101, {&out, 1});
  driver.backend().swap_in(102, {&in, 1});
  Sequence apart(0, {10, 11}, {0});
  driver.add(apart);
  const Ticket pass = driver.submit();
  BOOST_TEST(*driver.host.next() == pass);  // Long before the swaps.
  BOOST_TEST(driver.host.now() < swap_ns);
  static_cast<void>(driver.finish(pass));
  Sequence there(1, {10, 11}, {6});
  driver.add(there);
  const Ticket waiting = driver.submit();
  BOOST_TEST(*driver.host.next() == 101U);
  BOOST_TEST(driver.host.now() == swap_ns);
  BOOST_TEST(*driver.host.next() == 102U);
  BOOST_TEST(driver.host.now() == 2 * swap_ns);
  BOOST_TEST(*driver.host.next() == waiting);
  BOOST_TEST(driver.host.now() > 2 * swap_ns);
}

BOOST_AUTO_TEST_CASE(a_stop_abandons_the_pass) {
  const auto model = make_simulated_model(simple());
  PassDriver driver(*model);
  Sequence sequence(0, {10}, {0});
  driver.add(sequence);
  driver.host.stop = true;
  driver.submit();
  BOOST_TEST((driver.backend().take(*driver.host.next()).status == PassStatus::abandoned));
}

BOOST_AUTO_TEST_CASE(names_and_files) {
  BOOST_TEST(error_of([] { static_cast<void>(find_device("h300")); }).find("h200") !=
             std::string::npos);
  BOOST_TEST(error_of([] { static_cast<void>(find_model_shape("llama")); }).find("llama-8b") !=
             std::string::npos);
  BOOST_TEST(error_of([] { static_cast<void>(find_device("no.json")); }).find("no.json") !=
             std::string::npos);
  const std::string path = "simulated_test_" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << R"({"bytes_per_s": 1e12, "flops_per_s": 2e14, "link_bytes_per_s": 3e10,
                             "memory_bytes": 8e10, "layer_ns": 0})";
  const SimulatedDevice device = find_device(path);
  BOOST_TEST(device.bytes_per_s == 1'000'000'000'000U);
  BOOST_TEST(device.layer_ns == 0);
  BOOST_TEST(error_of([&] { static_cast<void>(find_model_shape(path)); }).find("num_layers") !=
             std::string::npos);
  std::ofstream(path) << R"({"bytes_per_s": 1, "flops_per_s": 1, "link_bytes_per_s": 1,
                             "memory_bytes": 1, "colour": 2})";
  BOOST_TEST(error_of([&] { static_cast<void>(find_device(path)); }).find("colour") !=
             std::string::npos);
  std::remove(path.c_str());
  SimulatedOptions options = simple();
  options.shape.vocab_size = 100;
  BOOST_TEST(error_of([&] {
               static_cast<void>(make_simulated_model(options));
             }).find("vocab_size") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
