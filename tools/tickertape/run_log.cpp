// RunLog: every request and every pass of a run, a JSON object a line.
#include "tools/tickertape/run_log.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "tools/tickertape/plot.hpp"

namespace tickertape::program {
namespace {

using Line = nlohmann::ordered_json;

constexpr double kNsPerMs = 1e6;

double ms(std::int64_t ns) {
  return static_cast<double>(ns) / kNsPerMs;
}

Line span_ms(std::int64_t from_ns, std::int64_t to_ns) {
  if (from_ns < 0 || to_ns < 0) return nullptr;
  return ms(to_ns - from_ns);
}

template <class Lines>
std::string of_all(std::span<const Run> runs, Lines lines) {
  std::string text;
  for (const Run& run : runs) text += lines(run);
  return text;
}

}  // namespace

std::string request_lines(const Run& run) {
  std::string text;
  for (const RequestRecord& one : run.report.requests) {
    Line line;
    line["batching"] = run.batching;
    line["request"] = one.index;
    line["client"] = one.client;
    line["prompt_tokens"] = one.prompt_tokens;
    line["completion_tokens"] = one.completion_tokens;
    line["finish_reason"] = to_string(one.reason);
    line["preemptions"] = one.preemptions;
    line["forecast_p50"] = one.forecast_p50;
    line["forecast_p90"] = one.forecast_p90;
    line["arrival_ms"] = span_ms(0, one.arrival_ns);
    line["queue_ms"] = span_ms(one.arrival_ns, one.started_ns);
    line["ttft_ms"] = span_ms(one.arrival_ns, one.first_token_ns);
    line["latency_ms"] = span_ms(one.arrival_ns, one.end_ns);
    line["longest_gap_ms"] = ms(one.longest_gap_ns);
    text += line.dump() + '\n';
  }
  return text;
}

std::string tick_lines(const Run& run) {
  std::string text;
  for (const TickRecord& tick : run.report.ticks) {
    Line line;
    line["batching"] = run.batching;
    line["start_ms"] = ms(tick.start_ns);
    line["pass_ms"] = ms(tick.duration_ns);
    line["rows"] = tick.num_rows;
    line["tokens"] = tick.num_tokens;
    line["prefill_tokens"] = tick.num_prefill_tokens;
    line["running"] = tick.num_running;
    line["waiting"] = tick.num_waiting;
    line["pages_free"] = tick.pages_free;
    line["pages_cached"] = tick.pages_cached;
    line["pages_held"] = tick.pages_held;
    line["held_places"] = tick.held_places;
    line["held_tokens"] = tick.held_tokens;
    line["last_page_places"] = tick.last_page_places;
    text += line.dump() + '\n';
  }
  return text;
}

void write_logs(const WorkloadFlags& flags, std::span<const Run> runs) {
  if (!flags.request_log.empty()) write_file(flags.request_log, of_all(runs, request_lines));
  if (!flags.tick_log.empty()) write_file(flags.tick_log, of_all(runs, tick_lines));
}

}  // namespace tickertape::program
