// World: an engine's lane with readers of every kind, in virtual time, from one seed.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tickertape/fake.hpp>
#include <tickertape/model.hpp>
#include <tickertape/options.hpp>
#include <tickertape/parallel.hpp>

#include "actors/intake.hpp"
#include "actors/lane.hpp"
#include "runtime/event.hpp"
#include "runtime/scope.hpp"
#include "runtime/sim_poster.hpp"
#include "runtime/sim_scheduler.hpp"

namespace tickertape::sim {

/// What a world is made of; draw() takes everything from the seed.
struct WorldOptions {
  std::uint64_t seed = 1;
  std::uint32_t num_pages = 24;
  std::uint32_t page_size = 4;
  std::uint32_t max_num_seqs = 4;
  std::uint32_t max_num_batched_tokens = 16;
  std::uint32_t prefill_chunk = 0;
  std::uint32_t num_requests = 12;
  std::uint32_t num_executors = 2;
  std::uint32_t max_prompt = 40;
  std::uint32_t max_new = 40;
  std::string record;     ///< A file; empty = none.
  bool misbehave = true;  ///< Readers cancel, stall, drop, miss deadlines.
  bool kill_executor = false;
  bool stop_early = false;
  bool choices = false;         ///< Some requests want several choices, some have stop strings.
  bool shared_prompts = false;  ///< Many prompts begin alike; some salts differ.
  Batching batching = Batching::chunked;
  Admission admission = Admission::prompt_only;
  Scheduling scheduling = Scheduling::fcfs;
  PreemptionMethod preemption = PreemptionMethod::automatic;
  std::uint32_t num_host_pages = 0;
  bool prefix_caching = false;
  bool overlap = true;  ///< When passes take time.
  std::int64_t itl_target_ns = 0;
  unsigned delay_per_1024 = 0;
  PagedFakeOptions fake;

  static WorldOptions draw(std::uint64_t seed);
  /// The same with a batching mode and policies of its own.
  static WorldOptions draw_policies(std::uint64_t seed);
  /// And with layer groups that have windows.
  static WorldOptions draw_windows(std::uint64_t seed);
};

/// What a run came to; `broken` names the first promise that was not kept.
struct WorldResult {
  std::string broken;
  std::uint64_t digest = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t resumed_tokens = 0;
  std::array<std::uint64_t, kNumFinishReasons> finished{};
  std::uint64_t parked_seen = 0;
  std::uint64_t copied_pages = 0;
  std::uint64_t stopped_by_string = 0;
  std::uint64_t num_released = 0;  ///< Rows without the pages that lie before a window.
  EngineStats stats;
  std::uint64_t ticks = 0;
};

class World {
 public:
  explicit World(WorldOptions options);
  ~World();

  /// From its beginning to its end.
  WorldResult run();

  /// The same in parts: start(), some steps (false once there are none left), an early stop of the
  /// engine, the rest. A world may also be destroyed after any step.
  void start();
  bool step() { return scheduler_.step(); }
  void stop_engine();
  WorldResult finish();

 private:
  enum class Habit : std::uint8_t {
    plain,
    batch,
    slow,
    stall,
    cancel,
    drop,
    deadline,
    credit,
    score
  };
  struct Reader;
  struct Read;

  void breaks(const std::string& what);
  void plan_made(const actors::Planner& planner, const actors::Plan& plan);
  Request make_request(Reader& reader);
  void draw_choices(Reader& reader, Request& request);
  void draw_prefix(Reader& reader, Request& request);
  void judge_plan(const actors::Planner& planner, const actors::Plan& plan);
  [[nodiscard]] EngineOptions engine_options() const;
  runtime::Task<> live(Reader& reader);
  runtime::Task<> read_all(Reader& reader);
  runtime::Task<bool> read_once(Reader& reader);
  runtime::Task<> trouble();
  void judge(const Reader& reader);
  void judge_choice(const Reader& reader, std::uint32_t index);
  void judge_scores(const Reader& reader, const Finish& finish);
  void judge_pool();

  WorldOptions options_;
  runtime::SimScheduler scheduler_;
  std::shared_ptr<PagedFakeProbe> probe_;
  std::shared_ptr<const Model> model_;
  SingleThread parallel_;
  std::vector<std::shared_ptr<runtime::SimPoster>> posters_;
  std::vector<std::shared_ptr<actors::Outbox>> outboxes_;
  std::vector<bool> killed_;
  std::shared_ptr<actors::LanePort> port_;
  std::optional<actors::LaneHost> host_;
  std::unique_ptr<Backend> backend_;
  std::optional<actors::Lane> lane_;
  std::optional<actors::Intake> intake_;
  std::optional<runtime::Scope> scope_;
  std::deque<Reader> readers_;
  bool stopped_ = false;
  std::uint64_t plans_ = 1;
  WorldResult result_;
};

}  // namespace tickertape::sim
