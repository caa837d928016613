// Report: the figures of a run of many requests, as text and as JSON.
#include "tools/tickertape/report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tickertape::program {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kNsPerSecond = 1e9;

template <class From, class To>
std::vector<double> spans_ms(const Run& run, From from, To to) {
  std::vector<double> spans;
  for (const RequestRecord& one : run.report.requests) {
    if (one.*from < 0 || one.*to < 0) continue;
    spans.push_back(static_cast<double>(one.*to - one.*from) / kNsPerMs);
  }
  return spans;
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

double seconds_of(const SimulationReport& report) {
  std::int64_t first_ns = report.end_ns;
  for (const RequestRecord& one : report.requests) {
    if (one.arrival_ns >= 0) first_ns = std::min(first_ns, one.arrival_ns);
  }
  return static_cast<double>(report.end_ns - first_ns) / kNsPerSecond;
}

/// What the ticks add up to.
struct Sums {
  double waste = 0;
  double last_page = 0;
  double unused = 0;
};

Sums sum_ticks(const SimulationReport& report) {
  Sums sums;
  double held_for = 0;
  double waited_for = 0;
  for (const TickRecord& tick : report.ticks) {
    const auto duration = static_cast<double>(tick.duration_ns);
    const auto held = static_cast<double>(tick.held_places);
    const double unused = tick.pages_free + tick.pages_cached;
    if (tick.num_waiting > 0) {
      waited_for += duration;
      sums.unused += duration * ratio(unused, unused + tick.pages_held);
    }
    if (tick.held_places == 0) continue;
    held_for += duration;
    sums.waste += duration * (1 - ratio(static_cast<double>(tick.held_tokens), held));
    sums.last_page += duration * ratio(static_cast<double>(tick.last_page_places), held);
  }
  return {ratio(sums.waste, held_for), ratio(sums.last_page, held_for),
          ratio(sums.unused, waited_for)};
}

double rounded(double value) {
  constexpr double kParts = 1e6;
  return std::round(value * kParts) / kParts;
}

void put_percentiles(nlohmann::ordered_json& json, const std::string& name,
                     const std::vector<double>& values) {
  json[name + "_p50_ms"] = rounded(percentile(values, 0.5));
  json[name + "_p99_ms"] = rounded(percentile(values, 0.99));
}

}  // namespace

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const std::size_t place = std::clamp<std::size_t>(rank, 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place),
                   values.end());
  return values[place];
}

std::vector<double> latencies_ms(const Run& run) {
  return spans_ms(run, &RequestRecord::arrival_ns, &RequestRecord::end_ns);
}

std::vector<double> ttfts_ms(const Run& run) {
  return spans_ms(run, &RequestRecord::arrival_ns, &RequestRecord::first_token_ns);
}

std::vector<double> queues_ms(const Run& run) {
  return spans_ms(run, &RequestRecord::arrival_ns, &RequestRecord::started_ns);
}

std::vector<double> held_ms(const Run& run) {
  return spans_ms(run, &RequestRecord::computed_ns, &RequestRecord::end_ns);
}

std::vector<double> gaps_ms(const Run& run) {
  constexpr double kUsPerMs = 1e3;
  std::vector<double> gaps;
  gaps.reserve(run.report.gaps_us.size());
  for (const std::uint32_t us : run.report.gaps_us) gaps.push_back(us / kUsPerMs);
  return gaps;
}

nlohmann::ordered_json to_json(const Run& run) {
  const SimulationReport& report = run.report;
  const EngineStats& stats = report.stats;
  const Sums sums = sum_ticks(report);
  const double seconds = seconds_of(report);
  nlohmann::ordered_json json;
  json["batching"] = run.batching;
  json["tok_s"] = rounded(ratio(static_cast<double>(report.num_tokens), seconds));
  json["requests"] = report.requests.size();
  json["tokens"] = report.num_tokens;
  json["seconds"] = rounded(seconds);
  json["ticks"] = stats.ticks;
  const auto filler = static_cast<double>(stats.prompt_padding_tokens + stats.finished_row_tokens);
  const auto computed = static_cast<double>(stats.computed_tokens);
  json["slot_utilisation"] = rounded(
      ratio(static_cast<double>(stats.useful_slot_ticks), static_cast<double>(stats.slot_ticks)));
  json["useful_tokens"] = stats.computed_tokens - stats.recomputed_tokens;
  json["prompt_padding_tokens"] = stats.prompt_padding_tokens;
  json["finished_row_tokens"] = stats.finished_row_tokens;
  json["padding_ratio"] = rounded(ratio(filler, computed + filler));
  json["kv_waste_ratio"] = rounded(sums.waste);
  put_percentiles(json, "latency", latencies_ms(run));
  json["held_p50_ms"] = rounded(percentile(held_ms(run), 0.5));
  put_percentiles(json, "ttft", ttfts_ms(run));
  put_percentiles(json, "itl", gaps_ms(run));
  json["preemptions"] = stats.preemptions;
  put_percentiles(json, "queue", queues_ms(run));
  json["recomputed_tokens"] = stats.recomputed_tokens;
  json["swapped_pages"] = stats.pages_swapped_out + stats.pages_swapped_in;
  json["prefix_hit_tokens"] = stats.prefix_hits;
  json["dropped_row_tokens"] = stats.dropped_row_tokens;
  json["overlapped_ticks"] = stats.overlapped_ticks;
  nlohmann::ordered_json idle = nlohmann::ordered_json::object();
  for (std::size_t cause = 0; cause < kNumIdleCauses; ++cause) {
    idle[std::string(to_string(static_cast<IdleCause>(cause)))] =
        rounded(static_cast<double>(stats.device_idle_ns[cause]) / kNsPerSecond);
  }
  json["device_idle_seconds"] = std::move(idle);
  nlohmann::ordered_json ends = nlohmann::ordered_json::object();
  for (const RequestRecord& one : report.requests) {
    const std::string name(to_string(one.reason));
    ends[name] = ends.value(name, 0) + 1;
  }
  json["finish_reasons"] = ends;
  json["kv_waste_last_page_ratio"] = rounded(sums.last_page);
  json["unused_pages_ratio"] = rounded(sums.unused);
  return json;
}

std::string to_table(const std::vector<Run>& runs) {
  std::string text =
      fmt::format("{:<14}{:>10}{:>9}{:>10}{:>8}{:>7}{:>9}{:>17}{:>15}{:>17}{:>9}\n", "batching",
                  "tok/s", "tokens", "seconds", "ticks", "slots", "padding", "TTFT p50/p99 ms",
                  "ITL p50/p99 ms", "end p50/p99 ms", "preempt");
  for (const Run& run : runs) {
    const nlohmann::ordered_json json = to_json(run);
    const auto number = [&](const char* name) { return json.at(name).get<double>(); };
    const auto pair = [&](const std::string& name) {
      const auto part = [](double value) {
        return value < 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
      };
      return part(json.at(name + "_p50_ms").get<double>()) + "/" +
             part(json.at(name + "_p99_ms").get<double>());
    };
    constexpr double kPercent = 100;
    text +=
        fmt::format("{:<14}{:>10.1f}{:>9}{:>10.2f}{:>8}{:>6.1f}%{:>8.1f}%{:>17}{:>15}{:>17}{:>9}\n",
                    run.batching, number("tok_s"), run.report.num_tokens, number("seconds"),
                    run.report.stats.ticks, kPercent * number("slot_utilisation"),
                    kPercent * number("padding_ratio"), pair("ttft"), pair("itl"), pair("latency"),
                    run.report.stats.preemptions);
  }
  return text;
}

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (width_ > 0) fmt::print(stderr, "\r{:{}}\r", "", width_);
}

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  constexpr std::int64_t kPauseNs = 200'000'000;
  const std::int64_t now_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  if (now_ns - last_ns_ < kPauseNs) return;
  last_ns_ = now_ns;
  width_ = std::max(width_, text.size());
  fmt::print(stderr, "\r{:<{}}", text, width_);
  std::fflush(stderr);
}

}  // namespace tickertape::program
