// The real model against the reference implementation's numbers.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <tickertape/model.hpp>

#include "runtime/compute_pool.hpp"
#include "tests/unit/fake/test_host.hpp"
#include "tests/unit/text/golden.hpp"

namespace {

using namespace tickertape;
using namespace tickertape::test;

const Model& smollm2() {
  static_cast<void>(smollm2_file());
  static const auto model = load_model(TICKERTAPE_MODELS "/SmolLM2-135M-Instruct.Q4_1.gguf");
  return *model;
}

/// Teacher forcing: the log-probability of every id of a text after the first `prompt_length`.
class TextScorer {
 public:
  explicit TextScorer(const std::string& isa, KvCacheType kv) : pool_(2, 0) {
    BackendOptions options;
    options.cpu_isa = isa;
    options.kv_cache_type = kv;
    options.num_kv_pages = 64;
    backend_ = smollm2().make_backend(options, host_, pool_);
  }

  BatchResult score(const std::vector<TokenId>& ids, std::size_t prompt_length) {
    Batch batch;
    Row row;
    row.num_tokens = static_cast<std::uint32_t>(ids.size() - 1);
    row.output = RowOutput::all_logprobs;
    row.num_outputs = static_cast<std::uint32_t>(ids.size() - prompt_length);
    row.num_logprobs = 1;
    batch.rows.push_back(row);
    batch.ids = ids;
    batch.opened.push_back({});
    PageTables tables{{0}, {}};
    for (PageId page = 0; page * 16 < ids.size(); ++page) tables.pages.push_back(63 - page);
    tables.offsets.push_back(static_cast<std::uint32_t>(tables.pages.size()));
    batch.page_tables.push_back(tables);
    backend_->forward(1, batch);
    BatchResult result = backend_->take(1);
    BOOST_REQUIRE(result.status == PassStatus::ok);
    BOOST_REQUIRE(result.logprobs.size() == row.num_outputs);
    return result;
  }

  double mean_nll() {
    const auto ids = smollm2_golden().at("passage").at("ids").get<std::vector<TokenId>>();
    const BatchResult result = score(ids, 1);
    double sum = 0;
    for (const PositionLogprobs& position : result.logprobs) sum -= position.chosen.logprob;
    return sum / static_cast<double>(result.logprobs.size());
  }

 private:
  TestHost host_;
  runtime::ComputePool pool_;
  std::unique_ptr<Backend> backend_;
};

struct Differences {
  double worst = 0;
  double sum = 0;
  int count = 0;
  int wrong_choices = 0;  ///< Where the reference's first two lie more than `clear_gap` apart.

  [[nodiscard]] double mean() const { return sum / count; }
};

Differences compare_greedy(TextScorer& scorer, double clear_gap) {
  Differences differences;
  for (const char* list : {"chat", "raw"}) {
    for (const auto& entry : smollm2_golden().at(list)) {
      auto ids = entry.at("ids").get<std::vector<TokenId>>();
      const std::size_t prompt_length = ids.size();
      const auto greedy = entry.at("greedy").get<std::vector<TokenId>>();
      ids.insert(ids.end(), greedy.begin(), greedy.end());
      const BatchResult result = scorer.score(ids, prompt_length);
      for (std::size_t i = 0; i < greedy.size(); ++i) {
        const auto& top = entry.at("top10").at(i);
        const double expected = top.at(0).at(1).get<double>();
        const PositionLogprobs& position = result.logprobs[i];
        const double difference = std::abs(position.chosen.logprob - expected);
        differences.worst = std::max(differences.worst, difference);
        differences.sum += difference;
        ++differences.count;
        const bool clear = expected - top.at(1).at(1).get<double>() > clear_gap;
        if (clear && result.top[position.first_top].token != greedy[i]) ++differences.wrong_choices;
      }
    }
  }
  return differences;
}

BOOST_AUTO_TEST_SUITE(cpu_golden)

BOOST_AUTO_TEST_CASE(the_reference_path_agrees_with_the_reference_implementation) {
  TextScorer scorer("reference", KvCacheType::f32);
  const double expected = smollm2_golden().at("passage").at("mean_nll").get<double>();
  BOOST_TEST(std::abs(scorer.mean_nll() - expected) <= 0.002);
  const Differences differences = compare_greedy(scorer, 0.02);
  BOOST_TEST(differences.count > 300);
  BOOST_TEST(differences.worst <= 0.01);
  BOOST_TEST(differences.wrong_choices == 0);
}

BOOST_AUTO_TEST_CASE(the_default_path_stays_close_to_it) {
  TextScorer scorer("auto", KvCacheType::f16);
  const double expected = smollm2_golden().at("passage").at("mean_nll").get<double>();
  BOOST_TEST(std::abs(scorer.mean_nll() - expected) <= 0.02);
  const Differences differences = compare_greedy(scorer, 0.7);
  BOOST_TEST(differences.count > 300);
  BOOST_TEST(differences.mean() <= 0.035);
  BOOST_TEST(differences.worst <= 0.35);
  BOOST_TEST(differences.wrong_choices == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
