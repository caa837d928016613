// The metrics page: names, labels and the format.
#include "net/metrics_page.hpp"

#include <boost/test/unit_test.hpp>
#include <set>
#include <sstream>
#include <string>

namespace tickertape::net {
namespace {

BOOST_AUTO_TEST_SUITE(metrics)

BOOST_AUTO_TEST_CASE(the_figures_are_there) {
  EngineStats stats;
  stats.num_running = 3;
  stats.num_parked = 1;
  stats.pages_total = 24;
  stats.pages_free = 18;
  stats.pages_held = 6;
  stats.held_places = 96;
  stats.held_tokens = 72;
  stats.recompute_preemptions = 5;
  stats.wasted_tokens = 7;
  stats.dropped_row_tokens = 8;
  stats.device_idle_ns[static_cast<std::size_t>(IdleCause::room)] = 1'500'000'000;
  stats.finished[static_cast<std::size_t>(FinishReason::cancelled)] = 2;
  const std::string page = metrics_page(stats, {4, 17}, "m");
  for (const char* line : {"tickertape_num_requests_running{model_name=\"m\"} 3\n",
                           "tickertape_num_requests_waiting{model_name=\"m\"} 0\n",
                           "tickertape_num_requests_parked{model_name=\"m\"} 1\n",
                           "tickertape_kv_cache_usage_ratio{model_name=\"m\"} 0.25\n",
                           "tickertape_kv_pages{model_name=\"m\",state=\"free\"} 18\n",
                           "tickertape_kv_pages{model_name=\"m\",state=\"cached\"} 0\n",
                           "tickertape_kv_pages{model_name=\"m\",state=\"held\"} 6\n",
                           "tickertape_kv_waste_ratio{model_name=\"m\"} 0.25\n",
                           "tickertape_prompt_tokens_total{model_name=\"m\"} 0\n",
                           "tickertape_generation_tokens_total{model_name=\"m\"} 0\n",
                           "tickertape_wasted_tokens_total{model_name=\"m\",cause=\"unread\"} 7\n",
                           "tickertape_wasted_tokens_total{model_name=\"m\","
                           "cause=\"planned_ahead\"} 8\n",
                           "tickertape_device_idle_seconds_total{model_name=\"m\","
                           "cause=\"room\"} 1.5\n",
                           "tickertape_device_idle_seconds_total{model_name=\"m\","
                           "cause=\"no_work\"} 0\n",
                           "tickertape_recomputed_tokens_total{model_name=\"m\"} 0\n",
                           "tickertape_preemptions_total{model_name=\"m\",how=\"recompute\"} 5\n",
                           "tickertape_request_success_total{model_name=\"m\","
                           "finished_reason=\"cancelled\"} 2\n",
                           "tickertape_requests_refused_total{model_name=\"m\"} 0\n",
                           "tickertape_ticks_total{model_name=\"m\"} 0\n",
                           "tickertape_open_connections{model_name=\"m\"} 4\n",
                           "tickertape_process_open_fds{model_name=\"m\"} 17\n"}) {
    BOOST_TEST(page.find(line) != std::string::npos, line);
  }
}

BOOST_AUTO_TEST_CASE(an_empty_pool_divides_by_nothing) {
  const std::string page = metrics_page({}, {}, "m");
  BOOST_TEST(page.find("nan") == std::string::npos);
  BOOST_TEST(page.find("process_open_fds") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_sample_follows_its_own_type_line) {
  std::istringstream lines(metrics_page({}, {1, 1}, "a\"b\\c\nd"));
  std::set<std::string> families;
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      BOOST_TEST(families.insert(family).second, line);
    } else if (!line.starts_with("#")) {
      BOOST_TEST(line.starts_with(family + "{model_name=\"a\\\"b\\\\c\\nd\""), line);
    }
  }
  BOOST_TEST(families.size() >= 16U);
}

BOOST_AUTO_TEST_CASE(open_fds_are_counted) {
  BOOST_TEST(count_open_fds() >= 3U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace tickertape::net
