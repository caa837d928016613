// simulate: an engine's lane, its readers and the arrivals, on a virtual clock.
#include <tickertape/simulation.hpp>

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include <tickertape/assert.hpp>
#include <tickertape/errors.hpp>
#include <tickertape/parallel.hpp>
#include <tickertape/simulated.hpp>

#include "actors/engine_settings.hpp"
#include "actors/intake.hpp"
#include "actors/lane.hpp"
#include "actors/tags.hpp"
#include "runtime/scope.hpp"
#include "runtime/sim_poster.hpp"
#include "runtime/virtual_scheduler.hpp"

namespace tickertape {
namespace {

using namespace actors;

class Simulation {
 public:
  Simulation(std::shared_ptr<const Model> model, const EngineOptions& options,
             const SimulationLoad& load, const SimulationOptions& what);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  SimulationReport run();

 private:
  /// Reads one request's tokens as they come.
  struct Reader final : TokenSink {
    Reader(Simulation& owner, std::size_t which, std::uint32_t num_choices)
        : simulation(owner), index(which), last_ns(num_choices, -1) {}
    void on_token(Token&& token) noexcept override { simulation.token_came(*this, token); }
    void on_end() noexcept override { simulation.ended_.push_back(index); }
    Simulation& simulation;
    std::size_t index;
    std::vector<std::int64_t> last_ns;     ///< By choice.
    std::vector<std::int64_t> sampled_ns;  ///< Of all choices, in the order they were computed.
    std::shared_ptr<Stream> stream;
  };
  struct Arrival : runtime::Timer {
    Simulation* simulation = nullptr;
  };

  void make_lane();
  void feed();
  void submit(std::size_t index, Request&& request);
  void reap();
  void token_came(Reader& reader, const Token& token) noexcept;
  void plan_made(const Planner& planner, const Plan& plan);
  void tick_done(const TickRecord& record, std::vector<TickRow>& rows);
  void fill_gauges(TickRecord& record);

  const SimulationOptions& what_;
  const SimulationLoad& load_;
  std::shared_ptr<const Model> model_;
  EngineOptions options_;
  runtime::VirtualScheduler scheduler_;
  SingleThread parallel_;
  std::shared_ptr<LanePort> port_ = std::make_shared<LanePort>();
  std::shared_ptr<runtime::SimPoster> poster_;
  std::shared_ptr<Outbox> outbox_;
  std::optional<LaneHost> host_;
  std::unique_ptr<Backend> backend_;
  std::optional<Lane> lane_;
  std::optional<Intake> intake_;
  std::optional<runtime::Scope> scope_;
  Arrival arrival_;
  std::size_t num_submitted_ = 0;
  std::optional<Request> next_;  ///< Made, and not submitted yet.
  bool may_feed_ = true;         ///< Something has arrived, or left the queue.
  std::unordered_map<std::size_t, std::unique_ptr<Reader>> readers_;
  std::vector<std::size_t> ended_;
  std::vector<std::uint64_t> request_of_;  ///< By the sequence's id.
  std::deque<SequenceId> opened_;          ///< By plans whose pass has not begun.
  std::size_t num_ended_ = 0;
  SimulationReport report_;
};

Simulation::Simulation(std::shared_ptr<const Model> model, const EngineOptions& options,
                       const SimulationLoad& load, const SimulationOptions& what)
    : what_(what), load_(load), model_(std::move(model)), options_(resolve(options)) {
  poster_ = std::make_shared<runtime::SimPoster>(scheduler_);
  outbox_ = std::make_shared<Outbox>(poster_);
  report_.requests.resize(load_.arrivals_ns.size());
  arrival_.simulation = this;
  arrival_.fire = [](runtime::Timer* timer) {
    static_cast<Arrival*>(timer)->simulation->may_feed_ = true;
  };
  make_lane();
}

void Simulation::make_lane() {
  host_.emplace(scheduler_);
  PassRecorder::Functions functions;
  functions.request_of = [this](const OpenedSlot&) {
    // The stepper opens slots in the order of the plan.
    const SequenceId id = opened_.front();
    opened_.pop_front();
    return request_of_.at(id);
  };
  functions.gauges = [this](TickRecord& record) { fill_gauges(record); };
  functions.done = [this](const TickRecord& record, std::vector<TickRow>& rows) {
    tick_done(record, rows);
  };
  backend_ = std::make_unique<PassRecorder>(
      model_->make_backend(backend_options(options_), *host_, parallel_), *host_,
      std::move(functions));
  const BackendInfo& info = backend_->info();
  const std::uint32_t max_model_len = resolve_max_model_len(options_, model_->info(), info);
  options_.max_model_len = max_model_len;
  const auto tokenizer = model_->tokenizer();
  lane_.emplace(lane_options(options_, info, tokenizer.get()), *host_, *backend_, port_);
  lane_->allocator().on_plan = [this](const Planner& planner, const Plan& plan) {
    plan_made(planner, plan);
  };
  intake_.emplace(
      model_, intake_options(options_, info, max_model_len, tokenizer.get()), port_,
      [this] { return scheduler_.now(); }, [this] { return std::uint64_t{num_submitted_}; });
  scope_.emplace(scheduler_, kTagLane);
}

Simulation::~Simulation() {
  // Also when it was left in the middle: what is posted is not delivered any more.
  poster_->kill();
  scope_.reset();
  readers_.clear();
  lane_.reset();
}

SimulationReport Simulation::run() {
  scope_->spawn(lane_->run());
  const std::size_t num_requests = report_.requests.size();
  while (num_ended_ < num_requests) {
    if (may_feed_) feed();
    if (!scheduler_.step()) {
      throw Error(Errc::internal, "the simulation came to rest with " +
                                      std::to_string(num_requests - num_ended_) +
                                      " requests that have not ended");
    }
    if (!ended_.empty()) reap();
  }
  while (scheduler_.step()) {
  }
  report_.stats = lane_->stats();  // Gauges are those of the last plan, which found nobody.
  report_.stats.max_model_len = *options_.max_model_len;
  lane_->request_stop();
  while (scheduler_.step()) {
  }
  const EngineStats ended = lane_->stats();
  report_.stats.recording_failed = ended.recording_failed;
  report_.stats.recorded_bytes = ended.recorded_bytes;
  return std::move(report_);
}

void Simulation::feed() {
  may_feed_ = false;
  while (num_submitted_ < load_.arrivals_ns.size()) {
    const std::int64_t arrival_ns = load_.arrivals_ns[num_submitted_];
    if (arrival_ns > scheduler_.now()) {
      scheduler_.arm(&arrival_, arrival_ns);
      return;
    }
    if (!next_) next_ = load_.make_request(num_submitted_);
    // The plan that lets somebody leave the queue feeds again.
    if (intake_->check_queue(next_->n, next_->prompt_ids.size())) return;
    submit(num_submitted_, std::move(*next_));
    next_.reset();
  }
}

void Simulation::submit(std::size_t index, Request&& request) {
  ++num_submitted_;
  RequestRecord& record = report_.requests[index];
  record.index = index;
  record.client = request.client;
  record.arrival_ns = load_.arrivals_ns[index];
  const std::uint32_t num_choices = request.n;
  auto reader = std::make_unique<Reader>(*this, index, num_choices);
  reader->stream =
      intake_->submit(std::move(request), outbox_, {}, std::nullopt, {record.arrival_ns});
  const Finish finish = reader->stream->finish();
  if (finish.error) {
    record.reason = FinishReason::error;
    record.end_ns = scheduler_.now();
    ++num_ended_;
    return;
  }
  const std::uint64_t id = reader->stream->accepted().request_id;
  request_of_.resize(std::max<std::size_t>(request_of_.size(), id + num_choices));
  std::fill_n(request_of_.begin() + static_cast<std::ptrdiff_t>(id), num_choices, index);
  Reader& kept = *readers_.emplace(index, std::move(reader)).first->second;
  kept.stream->set_sink(kept);
}

void Simulation::token_came(Reader& reader, const Token& token) noexcept {
  const std::int64_t now_ns = scheduler_.now();
  RequestRecord& record = report_.requests[reader.index];
  std::int64_t& last_ns = reader.last_ns[token.index];
  if (last_ns >= 0) {
    const std::int64_t gap_ns = now_ns - last_ns;
    record.longest_gap_ns = std::max(record.longest_gap_ns, gap_ns);
    constexpr std::int64_t kNsPerUs = 1000;
    if (what_.keep_gaps) {
      report_.gaps_us.push_back(static_cast<std::uint32_t>(
          std::min<std::int64_t>(gap_ns / kNsPerUs, std::numeric_limits<std::uint32_t>::max())));
    }
  }
  last_ns = now_ns;
  if (record.first_token_ns < 0) record.first_token_ns = now_ns;
  record.last_token_ns = now_ns;
  ++report_.num_tokens;
}

/// Not inside on_end(): the stream is still at work there.
void Simulation::reap() {
  for (const std::size_t index : ended_) {
    const auto found = readers_.find(index);
    const Finish finish = found->second->stream->finish();
    RequestRecord& record = report_.requests[index];
    record.prompt_tokens = finish.usage.prompt_tokens;
    record.completion_tokens = finish.usage.completion_tokens;
    record.preemptions = finish.timings.preemptions;
    record.reason = finish.reason;
    record.end_ns = scheduler_.now();
    // Static batches compute more rows than tokens that count.
    const auto& sampled_ns = found->second->sampled_ns;
    const std::size_t last = record.completion_tokens;
    if (last > 0 && last <= sampled_ns.size()) record.computed_ns = sampled_ns[last - 1];
    if (record.first_token_ns >= 0) {
      constexpr double kNsPerMs = 1e6;
      record.started_ns =
          record.arrival_ns + static_cast<std::int64_t>(finish.timings.queued_ms * kNsPerMs);
    }
    readers_.erase(found);
  }
  num_ended_ += ended_.size();
  ended_.clear();
  report_.end_ns = scheduler_.now();
}

void Simulation::plan_made(const Planner& planner, const Plan& plan) {
  may_feed_ |= !plan.opened.empty() || !plan.ended.empty();
  TICKERTAPE_ASSERT(plan.opened.empty() || !plan.rows.empty());
  for (const PlanOpened& opened : plan.opened) {
    opened_.push_back(opened.id);
    if (opened.resumed) continue;
    constexpr std::uint32_t kCertain = LengthForecast::kCertain;
    const SequenceView& view = planner.find(opened.id)->view;
    RequestRecord& record = report_.requests[request_of_.at(opened.id)];
    record.forecast_p50 = planner.profile().quantile(view, kCertain / 2);
    record.forecast_p90 = planner.profile().quantile(view, kCertain / 10 * 9);
  }
}

void Simulation::fill_gauges(TickRecord& record) {
  const EngineStats stats = lane_->allocator().stats();
  record.num_running = static_cast<std::uint32_t>(stats.num_running);
  record.num_waiting = static_cast<std::uint32_t>(stats.num_waiting);
  record.pages_free = static_cast<std::uint32_t>(stats.pages_free);
  record.pages_cached = static_cast<std::uint32_t>(stats.pages_cached);
  record.pages_held = static_cast<std::uint32_t>(stats.pages_held);
  record.held_places = stats.held_places;
  record.held_tokens = stats.held_tokens;
}

void Simulation::tick_done(const TickRecord& record, std::vector<TickRow>& rows) {
  report_.busy_ns += record.duration_ns;
  for (const TickRow& row : rows) {
    const auto found = row.samples ? readers_.find(row.request) : readers_.end();
    if (found != readers_.end()) found->second->sampled_ns.push_back(scheduler_.now());
  }
  if (what_.on_tick) what_.on_tick(record, rows);
  if (!what_.keep_ticks) return;
  report_.ticks.push_back(record);
  report_.ticks.back().first_row = report_.rows.size();
  if (what_.keep_rows) report_.rows.insert(report_.rows.end(), rows.begin(), rows.end());
}

}  // namespace

SimulationReport simulate(std::shared_ptr<const Model> model, const EngineOptions& options,
                          const SimulationLoad& load, const SimulationOptions& what) {
  if (!std::is_sorted(load.arrivals_ns.begin(), load.arrivals_ns.end()) ||
      (!load.arrivals_ns.empty() && load.arrivals_ns.front() < 0)) {
    throw Error(ErrorInfo{Errc::invalid_request, "arrivals_ns must rise and not be negative",
                          "arrivals_ns", 0});
  }
  return Simulation(std::move(model), options, load, what).run();
}

SimulationLoad simulated_load(const Workload& workload, std::size_t num_requests,
                              std::uint32_t max_tokens, std::uint32_t vocab_size) {
  auto drawn = std::make_shared<std::vector<WorkloadRequest>>(workload.draw(num_requests));
  SimulationLoad load;
  load.arrivals_ns.reserve(num_requests);
  for (const WorkloadRequest& one : *drawn) load.arrivals_ns.push_back(one.arrival_ns);
  load.make_request = [workload, drawn, max_tokens, vocab_size](std::size_t index) {
    constexpr std::uint32_t kMostWindow = 65536;
    const WorkloadRequest& numbers = (*drawn)[index];
    Request request = workload.make_request(numbers, vocab_size);
    if (!numbers.given && max_tokens > 0) request.max_tokens = max_tokens;
    request.sampling.ignore_eos = false;
    request.sampling.seed = simulated_seed(numbers.output_tokens, numbers.index);
    // Readers read at once, so a window only costs the simulation time.
    request.window = std::clamp<std::uint32_t>(request.max_tokens, 1, kMostWindow);
    return request;
  };
  return load;
}

}  // namespace tickertape
