// The text of GET /metrics: one family after the other, all from one snapshot.
#include "net/metrics_page.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace tickertape::net {
namespace {

/// A label's value: backslash, quote and line feed are escaped.
std::string escape_label(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

class Page {
 public:
  explicit Page(std::string_view model_name) : model_(escape_label(model_name)) {}

  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(text_), "# HELP tickertape_{} {}\n# TYPE tickertape_{} {}\n",
                   name, help, name, type);
  }

  /// A sample of the family; `label` is like `state="free"`, or empty.
  template <class Number>
  void sample(Number value, std::string_view label = {}) {
    fmt::format_to(std::back_inserter(text_), "tickertape_{}{{model_name=\"{}\"{}{}}} {}\n", name_,
                   model_, label.empty() ? "" : ",", label, value);
  }

  template <class Number>
  void gauge(std::string_view name, std::string_view help, Number value) {
    family(name, "gauge", help);
    sample(value);
  }

  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    family(name, "counter", help);
    sample(value);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string model_;
  std::string_view name_;
  std::string text_;
};

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

void add_gauges(Page& page, const EngineStats& stats, const ServerGauges& gauges) {
  page.gauge("num_requests_running", "Requests that hold pages, parked ones included.",
             stats.num_running);
  page.gauge("num_requests_waiting", "Requests that wait for pages or a slot.", stats.num_waiting);
  page.gauge("num_requests_parked", "Running requests whose reader gives no credit.",
             stats.num_parked);
  page.gauge("kv_cache_usage_ratio", "Held pages of the KV pool / all pages.",
             ratio(stats.pages_held, stats.pages_total));
  page.family("kv_pages", "gauge", "Pages of the KV pool by state.");
  page.sample(stats.pages_free, "state=\"free\"");
  page.sample(stats.pages_cached, "state=\"cached\"");
  page.sample(stats.pages_held, "state=\"held\"");
  page.family("host_pages", "gauge", "Pages of the swap pool by state.");
  page.sample(stats.host_pages_free, "state=\"free\"");
  page.sample(stats.host_pages_total - stats.host_pages_free, "state=\"held\"");
  page.gauge("kv_waste_ratio", "Token places of held pages without a token / all of them.",
             ratio(stats.held_places - stats.held_tokens, stats.held_places));
  page.gauge("recording_failed", "1 = the disk was full or too slow for --record, which ended.",
             stats.recording_failed ? 1 : 0);
  page.gauge("open_connections", "Connections of clients.", gauges.open_connections);
  if (gauges.open_fds > 0) {
    page.gauge("process_open_fds", "Open file descriptors of the process.", gauges.open_fds);
  }
}

void add_counters(Page& page, const EngineStats& stats) {
  page.counter("prompt_tokens_total", "Prompt tokens of accepted requests.", stats.prompt_tokens);
  page.counter("generation_tokens_total", "Tokens generated.", stats.generation_tokens);
  page.family("wasted_tokens_total", "counter", "Tokens computed for nothing.");
  page.sample(stats.wasted_tokens, "cause=\"unread\"");
  page.sample(stats.dropped_row_tokens, "cause=\"planned_ahead\"");
  page.sample(stats.prompt_padding_tokens, "cause=\"padding\"");
  page.sample(stats.finished_row_tokens, "cause=\"finished_row\"");
  page.counter("recomputed_tokens_total", "Tokens computed again after a preemption.",
               stats.recomputed_tokens);
  page.counter("recorded_bytes_total", "Bytes of the schedule's recording.", stats.recorded_bytes);
  page.family("preemptions_total", "counter", "Running requests put back to waiting.");
  page.sample(stats.recompute_preemptions, "how=\"recompute\"");
  page.sample(stats.swap_preemptions, "how=\"swap\"");
  page.family("swapped_pages_total", "counter", "Pages moved between the pool and the host.");
  page.sample(stats.pages_swapped_out, "direction=\"out\"");
  page.sample(stats.pages_swapped_in, "direction=\"in\"");
  page.counter("prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.",
               stats.prefix_queries);
  page.counter("prefix_cache_hits_total", "Prompt tokens found in the prefix cache.",
               stats.prefix_hits);
  page.family("request_success_total", "counter", "Requests that ended, by reason.");
  for (std::size_t reason = 1; reason < kNumFinishReasons; ++reason) {
    const auto name = to_string(static_cast<FinishReason>(reason));
    page.sample(stats.finished[reason], fmt::format("finished_reason=\"{}\"", name));
  }
  page.counter("requests_refused_total", "Requests refused at submission.", stats.refused);
  page.counter("ticks_total", "Forward passes.", stats.ticks);
  page.counter("overlapped_ticks_total", "Forward passes planned while another one ran.",
               stats.overlapped_ticks);
  page.family("device_idle_seconds_total", "counter",
              "Time between two passes, by what the device waited for.");
  for (std::size_t cause = 0; cause < kNumIdleCauses; ++cause) {
    constexpr double kNsPerSecond = 1e9;
    page.sample(static_cast<double>(stats.device_idle_ns[cause]) / kNsPerSecond,
                fmt::format("cause=\"{}\"", to_string(static_cast<IdleCause>(cause))));
  }
}

}  // namespace

std::string metrics_page(const EngineStats& stats, const ServerGauges& gauges,
                         std::string_view model_name) {
  Page page(model_name);
  add_gauges(page, stats, gauges);
  add_counters(page, stats);
  return page.take();
}

// Not by std::filesystem, whose iterator ends the process when there is no memory for it.
std::size_t count_open_fds() {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  std::size_t count = 0;
  while (const dirent* const entry = ::readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(folder);
  return count == 0 ? 0 : count - 1;  // One is the folder's own.
}

}  // namespace tickertape::net
