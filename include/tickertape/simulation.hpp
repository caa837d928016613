// Simulation: the engine's own scheduler against a timing model, in virtual time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tickertape/finish.hpp>
#include <tickertape/model.hpp>
#include <tickertape/options.hpp>
#include <tickertape/pass_recorder.hpp>
#include <tickertape/request.hpp>
#include <tickertape/stats.hpp>
#include <tickertape/workload.hpp>

namespace tickertape {

/// What became of one request. Times are nanoseconds from the beginning; -1 = never.
struct RequestRecord {
  std::uint64_t index = 0;
  std::string client;  ///< Who asked, as the request says.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t completion_tokens = 0;  ///< Of all choices.
  std::uint32_t preemptions = 0;
  /// When it was first admitted, the answer's length that it was foreseen to exceed with a
  /// probability of at most 50 and 10 %. Of one of its choices.
  std::uint32_t forecast_p50 = 0;
  std::uint32_t forecast_p90 = 0;
  FinishReason reason = FinishReason::none;
  std::int64_t arrival_ns = -1;
  std::int64_t started_ns = -1;      ///< Its first admission.
  std::int64_t first_token_ns = -1;  ///< As its reader saw it.
  std::int64_t last_token_ns = -1;
  std::int64_t computed_ns = -1;  ///< When the device had its last token; the rest is being held.
  std::int64_t end_ns = -1;
  std::int64_t longest_gap_ns = 0;  ///< Between two tokens of one choice.
};

/// Requests by number, made when they arrive, so that a million of them needs no memory for
/// prompts.
struct SimulationLoad {
  std::vector<std::int64_t> arrivals_ns;  ///< One per request, rising.
  std::function<Request(std::size_t)> make_request;
};

struct SimulationOptions {
  bool keep_ticks = true;
  bool keep_rows = false;  ///< 24 bytes for each row of each tick.
  bool keep_gaps = true;   ///< 4 bytes for each token.
  /// Called after each pass; the rows are valid during the call.
  std::function<void(const TickRecord&, std::span<const TickRow>)> on_tick;
};

struct SimulationReport {
  std::vector<RequestRecord> requests;  ///< By index.
  std::vector<TickRecord> ticks;
  std::vector<TickRow> rows;
  std::vector<std::uint32_t> gaps_us;  ///< Between tokens of a choice, in the order they came.
  EngineStats stats;                   ///< At the end.
  std::int64_t end_ns = 0;             ///< When the last request ended.
  std::int64_t busy_ns = 0;            ///< Sum of the passes' durations.
  std::uint64_t num_tokens = 0;        ///< Generated and delivered.
};

/// Runs the actors of an engine with `options` on a virtual clock, on the calling thread: planner,
/// pool, stepper and request actors are the real ones, readers read at once. `model` must have an
/// asynchronous backend, such as make_simulated_model()'s; one that computes takes no virtual time.
/// The same arguments give the same report everywhere.
///
/// A request that comes while the queue is full (max_queued_requests) is not refused: it is
/// submitted as soon as there is room, and its arrival stays what it was.
///
/// Throws Error for options that an Engine would refuse, and Errc::internal when requests are left
/// that nothing moves.
[[nodiscard]] SimulationReport simulate(std::shared_ptr<const Model> model,
                                        const EngineOptions& options, const SimulationLoad& load,
                                        const SimulationOptions& what = {});

/// The load of a workload on a simulated model: `num_requests` requests that each declare
/// `max_tokens` (0: their true length) and end when the workload says so, without the engine
/// knowing. Requests of a file keep their own max_tokens.
[[nodiscard]] SimulationLoad simulated_load(const Workload& workload, std::size_t num_requests,
                                            std::uint32_t max_tokens, std::uint32_t vocab_size);

}  // namespace tickertape
