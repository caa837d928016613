// Charts of runs: what the program draws with --plot.
#include "tools/tickertape/run_plots.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace tickertape::program {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kNsPerMs = 1e6;
constexpr std::size_t kMostPoints = 600;  // More than that many cannot be told apart.

/// Means of as many consecutive ticks as it takes to have at most kMostPoints of them.
template <class Value>
Series over_time(const Run& run, std::string name, Value value) {
  Series series;
  series.name = std::move(name);
  series.marks = false;
  const auto& ticks = run.report.ticks;
  const std::size_t stride = ticks.size() / kMostPoints + 1;
  for (std::size_t first = 0; first < ticks.size(); first += stride) {
    const std::size_t last = std::min(first + stride, ticks.size());
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += static_cast<double>(value(ticks[i]));
    series.points.emplace_back(static_cast<double>(ticks[first].start_ns) / kNsPerSecond,
                               sum / static_cast<double>(last - first));
  }
  return series;
}

LineChart time_chart(std::string title, std::string y_title) {
  LineChart chart;
  chart.title = std::move(title);
  chart.x.title = "time (s)";
  chart.y.title = std::move(y_title);
  return chart;
}

/// Joins what a slot does for a request in consecutive ticks.
class SpanBuilder {
 public:
  explicit SpanBuilder(SlotChart& chart) : chart_(chart) {}
  void add(std::size_t tick, const TickRow& row, SlotSpan::Kind kind) {
    const auto at = static_cast<double>(tick);
    const auto found = open_.find(row.slot);
    if (found != open_.end()) {
      SlotSpan& span = chart_.spans[found->second];
      if (span.to == at && span.request == row.request && span.kind == kind) {
        span.to = at + 1;
        return;
      }
    }
    open_[row.slot] = chart_.spans.size();
    chart_.spans.push_back({row.slot, at, at + 1, row.request, kind});
  }

 private:
  SlotChart& chart_;
  std::map<SlotId, std::size_t> open_;
};

/// All of them, unless they are many and the upper ones were never used.
std::uint32_t shown_slots(const Run& run) {
  constexpr std::uint32_t kMany = 32;
  if (run.num_slots <= kMany) return run.num_slots;
  SlotId highest = 0;
  for (const TickRow& row : run.report.rows) highest = std::max(highest, row.slot);
  return std::min(run.num_slots, std::max(kMany, highest + 1));
}

/// Room for the numbers of requests, as long as the picture does not grow beyond a page.
double slots_height(const Run& run) {
  constexpr double kAround = 96;
  constexpr double kPerSlot = 14;
  constexpr double kMost = 560;
  return std::min(kMost, kAround + kPerSlot * shown_slots(run));
}

BarChart bars(const std::vector<Run>& runs, const std::string& title, const std::string& y_title,
              const char* field, double factor) {
  BarChart chart;
  chart.title = title;
  chart.y_title = y_title;
  chart.series.emplace_back("", std::vector<double>());
  for (const Run& run : runs) {
    chart.groups.push_back(run.batching);
    chart.series.front().second.push_back(factor * to_json(run).at(field).get<double>());
  }
  return chart;
}

}  // namespace

SlotChart slot_chart(const Run& run, std::size_t most_ticks) {
  SlotChart chart;
  const SimulationReport& report = run.report;
  const std::size_t num_ticks = std::min(most_ticks, report.ticks.size());
  chart.title = num_ticks < report.ticks.size()
                    ? fmt::format("{}: slots, first {} of {} ticks", run.batching, num_ticks,
                                  report.ticks.size())
                    : fmt::format("{}: slots", run.batching);
  chart.x_title = "tick";
  chart.num_slots = shown_slots(run);
  chart.end = static_cast<double>(num_ticks);
  SpanBuilder builder(chart);
  std::unordered_map<std::uint64_t, std::uint32_t> sampled;
  for (std::size_t i = 0; i < num_ticks; ++i) {
    const TickRecord& tick = report.ticks[i];
    for (std::size_t k = tick.first_row; k < tick.first_row + tick.num_rows; ++k) {
      const TickRow& row = report.rows.at(k);
      std::uint32_t& count = sampled[row.request];
      const bool ended = count >= report.requests.at(row.request).completion_tokens;
      if (row.samples) ++count;
      builder.add(i, row,
                  ended         ? SlotSpan::Kind::finished
                  : row.prefill ? SlotSpan::Kind::prefill
                                : SlotSpan::Kind::decode);
    }
  }
  return chart;
}

LineChart pages_over_time(const Run& run) {
  LineChart chart = time_chart("KV pages", "pages");
  // The last is drawn on top: without cached pages it is all that is seen of two.
  chart.series.push_back(over_time(run, "all", [](const TickRecord& tick) {
    return tick.pages_held + tick.pages_cached + tick.pages_free;
  }));
  chart.series.push_back(over_time(run, "held + cached", [](const TickRecord& tick) {
    return tick.pages_held + tick.pages_cached;
  }));
  chart.series.push_back(
      over_time(run, "held", [](const TickRecord& tick) { return tick.pages_held; }));
  return chart;
}

LineChart sequences_over_time(const Run& run) {
  LineChart chart = time_chart("Sequences", "sequences");
  chart.series.push_back(
      over_time(run, "running", [](const TickRecord& tick) { return tick.num_running; }));
  chart.series.push_back(
      over_time(run, "waiting", [](const TickRecord& tick) { return tick.num_waiting; }));
  return chart;
}

LineChart pass_times(const Run& run, double balance) {
  constexpr std::size_t kMostPasses = 3000;
  LineChart chart;
  chart.title = "Pass time";
  chart.x = {"tokens in the pass", true, false};
  chart.y.title = "pass (ms)";
  Series decodes;
  decodes.name = "decode only";
  decodes.line = false;
  Series prefills = decodes;
  prefills.name = "with prefill";
  const auto& ticks = run.report.ticks;
  const std::size_t stride = ticks.size() / kMostPasses + 1;
  for (std::size_t i = 0; i < ticks.size(); i += stride) {
    Series& series = ticks[i].num_prefill_tokens > 0 ? prefills : decodes;
    series.points.emplace_back(ticks[i].num_tokens,
                               static_cast<double>(ticks[i].duration_ns) / kNsPerMs);
  }
  // Many passes are the same to the eye; points that are equal are drawn once.
  for (Series* series : {&decodes, &prefills}) {
    auto& points = series->points;
    std::sort(points.begin(), points.end());
    const auto near = [](const auto& a, const auto& b) {
      return a.first == b.first && b.second - a.second < 0.01 * b.second;
    };
    points.erase(std::unique(points.begin(), points.end(), near), points.end());
  }
  chart.series = {std::move(decodes), std::move(prefills)};
  if (balance > 0) chart.marks.push_back({balance, "compute-bound from here"});
  return chart;
}

LineChart distribution(const std::vector<Run>& runs, const std::string& title,
                       const std::string& x_title, Spans spans) {
  LineChart chart;
  chart.title = title;
  chart.x = {x_title, true, false};
  chart.y.title = "share below (%)";
  for (const Run& run : runs) {
    std::vector<double> values = spans(run);
    std::sort(values.begin(), values.end());
    Series series;
    series.name = runs.size() > 1 ? run.batching : "";
    series.marks = false;
    const std::size_t stride = values.size() / kMostPoints + 1;
    for (std::size_t i = 0; i < values.size(); i += stride) {
      constexpr double kPercent = 100;
      series.points.emplace_back(
          values[i], kPercent * static_cast<double>(i + 1) / static_cast<double>(values.size()));
    }
    if (!values.empty()) series.points.emplace_back(values.back(), 100.0);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string draw_run(const Run& run, const std::string& title, const std::string& subtitle,
                     double balance) {
  constexpr std::size_t kMostTicks = 400;
  constexpr double kHeight = 270;
  Figure figure;
  figure.title = title;
  figure.subtitle = subtitle;
  if (!run.report.rows.empty()) {
    figure.lines.push_back({{panel(slot_chart(run, kMostTicks))}, slots_height(run)});
  }
  figure.lines.push_back({{panel(sequences_over_time(run)), panel(pages_over_time(run))}, kHeight});
  figure.lines.push_back(
      {{panel(pass_times(run, balance)),
        panel(distribution({run}, "Time between tokens", "time (ms)", &gaps_ms))},
       kHeight});
  figure.lines.push_back(
      {{panel(distribution({run}, "Time to first token", "time (ms)", &ttfts_ms)),
        panel(distribution({run}, "Arrival to end", "time (ms)", &latencies_ms))},
       kHeight});
  return figure.draw();
}

std::string draw_comparison(const std::vector<Run>& runs, const std::string& title,
                            const std::string& subtitle) {
  constexpr std::size_t kMostTicks = 400;
  constexpr double kHeight = 250;
  constexpr double kPercent = 100;
  Figure figure;
  figure.title = title;
  figure.subtitle = subtitle;
  figure.lines.push_back(
      {{panel(bars(runs, "Throughput", "tokens / s", "tok_s", 1)),
        panel(bars(runs, "Slots in use", "%", "slot_utilisation", kPercent)),
        panel(bars(runs, "Padding", "% of computed tokens", "padding_ratio", kPercent))},
       kHeight});
  for (const Run& run : runs) {
    if (run.report.rows.empty()) continue;
    figure.lines.push_back({{panel(slot_chart(run, kMostTicks))}, slots_height(run)});
  }
  figure.lines.push_back(
      {{panel(distribution(runs, "Arrival to end", "time (ms)", &latencies_ms)),
        panel(distribution(runs, "Time to first token", "time (ms)", &ttfts_ms))},
       kHeight + 20});
  return figure.draw();
}

}  // namespace tickertape::program
