// bench throughput: many requests through an engine in this process, under each batching mode.
#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tickertape/engine.hpp>
#include <tickertape/simulated.hpp>
#include <utility>

#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/policy_flags.hpp"
#include "tools/tickertape/recording_model.hpp"
#include "tools/tickertape/report.hpp"
#include "tools/tickertape/run_log.hpp"
#include "tools/tickertape/run_plots.hpp"
#include "tools/tickertape/values.hpp"
#include "tools/tickertape/workload_flags.hpp"

namespace tickertape::program {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kDefaultRequests = 96;

struct ThroughputFlags {
  EngineFlags engine;
  WorkloadFlags workload;
  std::vector<std::string> batching{"chunked"};
};

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The requests of a run, on one thread, with what became of them.
class Clients {
 public:
  Clients(Engine& engine, const Workload& workload, const std::vector<WorkloadRequest>& drawn,
          SimulationReport& report, std::int64_t zero_ns, Progress& progress)
      : engine_(engine),
        workload_(workload),
        drawn_(drawn),
        report_(report),
        zero_ns_(zero_ns),
        progress_(progress) {}

  void run() {
    report_.requests.resize(drawn_.size());
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
      asio::co_spawn(io_, live(i), [](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
      });
    }
    io_.run();
  }

 private:
  asio::awaitable<void> live(std::size_t place) {
    const WorkloadRequest& numbers = drawn_[place];
    if (numbers.arrival_ns > 0) {
      asio::steady_timer timer(io_);
      timer.expires_at(std::chrono::steady_clock::time_point(
          std::chrono::nanoseconds(zero_ns_ + numbers.arrival_ns)));
      co_await timer.async_wait(asio::use_awaitable);
    }
    RequestRecord& record = report_.requests[place];
    record.index = place;
    record.arrival_ns = numbers.arrival_ns;
    Request request = make(place);
    record.client = request.client;
    std::vector<std::int64_t> last_ns(request.n, -1);
    TokenStream stream = engine_.submit(io_.get_executor(), std::move(request));
    for (;;) {
      const std::vector<Token> tokens = co_await stream.async_next_batch(asio::use_awaitable);
      if (tokens.empty()) break;
      note(tokens, record, last_ns);
    }
    finish(stream, record);
  }

  [[nodiscard]] Request make(std::size_t place) const;
  void note(const std::vector<Token>& tokens, RequestRecord& record,
            std::vector<std::int64_t>& last_ns);
  void finish(const TokenStream& stream, RequestRecord& record);
  [[nodiscard]] std::int64_t now() const { return steady_ns() - zero_ns_; }

  Engine& engine_;
  const Workload& workload_;
  const std::vector<WorkloadRequest>& drawn_;
  SimulationReport& report_;
  std::int64_t zero_ns_;
  Progress& progress_;
  std::size_t num_ended_ = 0;
  asio::io_context io_{1};
};

/// Seeds name requests in the recording; that of a simulated model also says how long it answers.
std::uint64_t seed_of(const WorkloadRequest& numbers) {
  return simulated_seed(numbers.output_tokens, numbers.index);
}

Request Clients::make(std::size_t place) const {
  const auto tokenizer = engine_.model().tokenizer();
  std::uint32_t vocab_size = engine_.backend_info().vocab_size;
  if (tokenizer) {
    vocab_size = std::min(vocab_size, static_cast<std::uint32_t>(tokenizer->vocab_size()));
  }
  Request request = workload_.make_request(drawn_[place], vocab_size);
  request.sampling.seed = seed_of(drawn_[place]);
  return request;
}

void Clients::note(const std::vector<Token>& tokens, RequestRecord& record,
                   std::vector<std::int64_t>& last_ns) {
  constexpr std::int64_t kNsPerUs = 1000;
  const std::int64_t now_ns = now();
  for (const Token& token : tokens) {
    std::int64_t& last = last_ns.at(token.index);
    if (last >= 0) {
      const std::int64_t gap_ns = now_ns - last;
      record.longest_gap_ns = std::max(record.longest_gap_ns, gap_ns);
      report_.gaps_us.push_back(static_cast<std::uint32_t>(
          std::min<std::int64_t>(gap_ns / kNsPerUs, std::numeric_limits<std::uint32_t>::max())));
    }
    last = now_ns;
  }
  if (record.first_token_ns < 0) record.first_token_ns = now_ns;
  record.last_token_ns = now_ns;
  report_.num_tokens += tokens.size();
  if (!progress_.shown()) return;
  progress_.show(
      fmt::format("{} of {} requests, {} tokens", num_ended_, drawn_.size(), report_.num_tokens));
}

void Clients::finish(const TokenStream& stream, RequestRecord& record) {
  const Finish finish = stream.finish();
  if (finish.error) throw Error(finish.error);
  constexpr double kNsPerMs = 1e6;
  record.reason = finish.reason;
  record.prompt_tokens = finish.usage.prompt_tokens;
  record.completion_tokens = finish.usage.completion_tokens;
  record.preemptions = finish.timings.preemptions;
  record.started_ns =
      record.arrival_ns + static_cast<std::int64_t>(finish.timings.queued_ms * kNsPerMs);
  record.end_ns = now();
  report_.end_ns = std::max(report_.end_ns, record.end_ns);
  ++num_ended_;
}

void take_recording(Recording& recording, SimulationReport& report) {
  for (RequestRecord& one : report.requests) {
    const auto& sampled_ns = recording.sampled_ns[one.index];
    const std::size_t last = one.completion_tokens;
    if (last > 0 && last <= sampled_ns.size()) one.computed_ns = sampled_ns[last - 1];
  }
  report.ticks = std::move(recording.ticks);
  report.rows = std::move(recording.rows);
  for (const TickRecord& tick : report.ticks) report.busy_ns += tick.duration_ns;
}

Run run_mode(const ThroughputFlags& flags, const std::shared_ptr<const Model>& model,
             const Workload& workload, const std::vector<WorkloadRequest>& drawn,
             const std::string& batching) {
  EngineOptions options = flags.engine.options;
  options.batching = batching_names().at(batching);
  options.max_queued_requests =
      std::max(options.max_queued_requests, static_cast<std::uint32_t>(drawn.size()));
  options.max_queued_tokens = std::numeric_limits<std::int64_t>::max();
  options.request_timeout_s = 0;
  auto recording = std::make_shared<Recording>();
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    recording->request_of_seed.emplace(seed_of(drawn[i]), i);
  }
  Run run;
  run.batching = batching;
  run.num_slots = options.max_num_seqs;
  Progress progress;
  {
    Engine engine(make_recording_model(model, recording), options);
    recording->zero_ns = steady_ns();
    Clients(engine, workload, drawn, run.report, recording->zero_ns, progress).run();
    run.report.stats = engine.stats();
  }
  take_recording(*recording, run.report);
  return run;
}

int bench_throughput(const ThroughputFlags& flags) {
  check_outputs(flags.workload);
  const Workload workload = flags.workload.open();
  const auto drawn = workload.draw(flags.workload.count(workload, kDefaultRequests));
  const std::shared_ptr<const Model> model = open_model(flags.engine);
  std::vector<Run> runs;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const std::string& batching : flags.batching) {
    runs.push_back(run_mode(flags, model, workload, drawn, batching));
    json.push_back(to_json(runs.back()));
  }
  if (flags.workload.json != "-") fmt::print("{}", to_table(runs));
  std::string svg;
  if (!flags.workload.plot.empty()) {
    svg = draw_comparison(
        runs, "Throughput by batching mode",
        fmt::format("{}, {} requests of {}, {} slots", model->info().name, drawn.size(),
                    workload.name(), flags.engine.options.max_num_seqs));
  }
  write_outputs(flags.workload, json.dump(2), svg);
  write_logs(flags.workload, runs);
  return 0;
}

}  // namespace

void add_bench_throughput(CLI::App& bench, Action& action) {
  auto flags = std::make_shared<ThroughputFlags>();
  CLI::App& command = *bench.add_subcommand(
      "throughput", "Tokens per second of many requests at once, in this process");
  add_engine_flags(command, flags->engine);
  add_workload_flags(command, flags->workload, kDefaultRequests);
  command.remove_option(command.get_option("--batching"));  // Here it is a list.
  add_option(command, "--batching", flags->batching, "Modes to run one after the other: M,M,...")
      ->delimiter(',')
      ->check(CLI::IsMember(batching_words()));
  command.callback([flags, &action] {
    check_engine_flags(flags->engine);
    flags->workload.check();
    action = [flags] { return bench_throughput(*flags); };
  });
}

}  // namespace tickertape::program
