// World: an engine's lane with readers of every kind, in virtual time, from one seed.
#include "tests/sim/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "actors/engine_settings.hpp"
#include "runtime/sleep.hpp"

namespace tickertape::sim {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kStallTimeout = 2'000 * kMillisecond;
constexpr std::uint64_t kMaxSteps = 3'000'000;

}  // namespace

/// One client: what it wants, how it behaves, and what it got.
struct World::Reader {
  Reader(runtime::Scheduler& scheduler, std::uint64_t which)
      : number(which), completed(scheduler, 40), index(which) {}
  std::uint64_t number;
  runtime::Event completed;  ///< The pending read has completed.
  std::uint64_t index;
  Habit habit = Habit::plain;
  std::uint32_t executor = 0;
  std::uint32_t quit_after = 0;
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  std::uint32_t max_tokens = 0;
  std::shared_ptr<actors::Stream> stream;
  std::uint32_t num_choices = 1;
  std::vector<std::string> stop;
  std::size_t num_got = 0;
  std::vector<std::vector<TokenId>> got;  ///< By choice.
  std::vector<std::string> text;          ///< By choice.
  std::vector<FinishReason> last;         ///< By choice: what its last token said.
  error_code error;
  bool at_end = false;
  bool reading = false;
  std::uint64_t dropped_at_plan = 0;  ///< 0 = not dropped.
  std::uint32_t ends = 0;
  std::uint32_t preempted = 0;
  std::uint32_t resumed = 0;
};

struct World::Read final : detail::PendingRead {
  Read(World& world, Reader& reader) : world(world), reader(reader) {}
  void complete(error_code error, std::vector<Token>&& tokens) override {
    reader.reading = false;
    reader.error = error;
    for (const Token& token : tokens) {
      auto& got = reader.got.at(token.index);
      if (token.seq != got.size()) world.breaks("a token's seq has a gap");
      if (reader.last[token.index] != FinishReason::none) world.breaks("a token after the last");
      got.push_back(token.id);
      reader.text[token.index] += token.text;
      reader.last[token.index] = token.finish_reason;
      ++reader.num_got;
    }
    reader.at_end = !error && tokens.empty();
    reader.completed.set();
  }
  World& world;
  Reader& reader;
};

WorldOptions WorldOptions::draw(std::uint64_t seed) {
  runtime::SimScheduler dice(seed * 7919 + 13);
  WorldOptions options;
  options.seed = seed;
  options.page_size = 1U << dice.random(5);
  options.max_num_seqs = 1 + static_cast<std::uint32_t>(dice.random(8));
  options.num_pages = 64 / options.page_size + static_cast<std::uint32_t>(dice.random(24));
  const std::uint32_t least = options.max_num_seqs + options.page_size;
  options.max_num_batched_tokens = least + static_cast<std::uint32_t>(dice.random(64));
  options.prefill_chunk = dice.random(2) == 0 ? 0 : 1 + static_cast<std::uint32_t>(dice.random(16));
  options.num_requests = 2 + static_cast<std::uint32_t>(dice.random(20));
  options.num_executors = 1 + static_cast<std::uint32_t>(dice.random(3));
  options.max_prompt = 1 + static_cast<std::uint32_t>(dice.random(50));
  options.max_new = 1 + static_cast<std::uint32_t>(dice.random(50));
  options.misbehave = dice.random(4) != 0;
  options.kill_executor = dice.random(6) == 0;
  options.stop_early = dice.random(8) == 0;
  options.delay_per_1024 = dice.random(2) == 0 ? 0 : 64;
  options.choices = seed % 2 == 0;
  options.fake.pass_ns = dice.random(2) == 0 ? 0 : kMillisecond;
  options.fake.token_ns = options.fake.pass_ns / 50;
  if (dice.random(5) == 0) options.fake.fail_at.push_back(dice.random(30));
  if (dice.random(5) == 0) options.fake.nan_probability = 0.02;
  return options;
}

WorldOptions WorldOptions::draw_policies(std::uint64_t seed) {
  WorldOptions options = draw(seed);
  runtime::SimScheduler dice(seed * 15485863 + 7);
  options.batching = static_cast<Batching>(dice.random(4));
  options.admission = static_cast<Admission>(dice.random(4));
  options.scheduling = static_cast<Scheduling>(dice.random(4));
  options.preemption = static_cast<PreemptionMethod>(dice.random(3));
  options.num_host_pages = static_cast<std::uint32_t>(dice.random(2 * options.num_pages));
  options.prefix_caching = dice.random(3) != 0;
  options.shared_prompts = dice.random(2) == 0;
  options.itl_target_ns = dice.random(2) == 0 ? 0 : 1'500'000;
  options.overlap = seed % 3 != 0;
  options.fake.swap_page_ns = dice.random(2) == 0 ? 0 : 50'000;
  if (dice.random(8) == 0) options.fake.fail_swap_at.push_back(dice.random(6));
  return options;
}

WorldOptions WorldOptions::draw_windows(std::uint64_t seed) {
  WorldOptions options = draw_policies(seed);
  runtime::SimScheduler dice(seed * 49979687 + 11);
  const auto draw = [&](std::uint64_t limit) {
    return static_cast<std::uint32_t>(dice.random(limit));
  };
  const std::uint32_t num_groups = 1 + draw(2);
  for (std::uint32_t i = 0; i < num_groups; ++i) {
    LayerGroup group;
    group.window = 1 + draw(24);
    // As much as a long chunk needs, or as little as keeps the context short.
    const std::uint32_t seen = (group.window + options.max_num_batched_tokens) / options.page_size;
    group.num_pages = 2 + draw(4) + (dice.random(2) == 0 ? seen : 40 / options.page_size);
    options.fake.windows.push_back(group);
  }
  return options;
}

World::World(WorldOptions options)
    : options_(std::move(options)),
      scheduler_(options_.seed),
      probe_(std::make_shared<PagedFakeProbe>()),
      port_(std::make_shared<actors::LanePort>()) {
  options_.fake.probe = probe_;
  model_ = make_paged_fake_model(options_.fake);
  scheduler_.delay_posts(options_.delay_per_1024, 40 * kMillisecond);
  host_.emplace(scheduler_);
  BackendOptions backend;
  backend.page_size = options_.page_size;
  backend.num_kv_pages = options_.num_pages;
  backend.max_num_seqs = options_.max_num_seqs;
  backend.max_num_batched_tokens = options_.max_num_batched_tokens;
  backend.num_host_pages = options_.num_host_pages;
  backend_ = model_->make_backend(backend, *host_, parallel_);
  EngineOptions engine = engine_options();
  engine.max_model_len = actors::resolve_max_model_len(engine, model_->info(), backend_->info());
  lane_.emplace(actors::lane_options(engine, backend_->info(), model_->tokenizer().get()), *host_,
                *backend_, port_);
  lane_->allocator().on_plan = [this](const actors::Planner& planner, const actors::Plan& plan) {
    plan_made(planner, plan);
  };

  actors::IntakeOptions intake;
  intake.limits.max_model_len = *engine.max_model_len;
  intake.limits.vocab_size = options_.fake.vocab_size;
  intake.limits.max_num_seqs = options_.max_num_seqs;
  intake_.emplace(
      model_, intake, port_, [this] { return scheduler_.now(); },
      [this] { return scheduler_.random(1000); });
  for (std::uint32_t i = 0; i < options_.num_executors; ++i) {
    posters_.push_back(std::make_shared<runtime::SimPoster>(scheduler_));
    outboxes_.push_back(std::make_shared<actors::Outbox>(posters_.back()));
    killed_.push_back(false);
  }
  scope_.emplace(scheduler_, 30);
}

EngineOptions World::engine_options() const {
  EngineOptions engine;
  engine.max_num_seqs = options_.max_num_seqs;
  engine.max_num_batched_tokens = options_.max_num_batched_tokens;
  engine.batching = options_.batching;
  engine.static_batch_wait_ms = 20;
  engine.prefill_chunk = options_.prefill_chunk;
  engine.itl_target_ms = static_cast<double>(options_.itl_target_ns) / 1e6;
  engine.admission = options_.admission;
  engine.scheduling = options_.scheduling;
  engine.preemption = options_.preemption;
  engine.prefix_caching = options_.prefix_caching;
  engine.record = options_.record;
  engine.overlap = options_.overlap;
  engine.park_grace_s = 0.1;
  engine.stall_timeout_s = static_cast<double>(kStallTimeout) / 1e9;
  return engine;
}

World::~World() {
  // A world may end at any step: what is posted then is never delivered.
  for (const auto& poster : posters_) poster->kill();
  // Streams first, as a program's readers go before its executors.
  scope_.reset();
  readers_.clear();
  lane_.reset();
}

void World::breaks(const std::string& what) {
  if (result_.broken.empty()) {
    result_.broken = "seed " + std::to_string(options_.seed) + ": " + what;
  }
}

void World::plan_made(const actors::Planner& planner, const actors::Plan& plan) {
  planner.check();
  ++plans_;
  const std::uint64_t more = planner.options().overlap ? 1 : 0;
  for (const Reader& reader : readers_) {
    // A static batch keeps the place of those that have ended.
    if (reader.dropped_at_plan == 0 || planner.options().is_static()) continue;
    const auto* left = planner.find_request(reader.stream->accepted().request_id);
    if (left != nullptr && plans_ > reader.dropped_at_plan + 2 + more) {
      breaks("a dropped stream holds its pages for too many ticks");
    }
  }
  judge_plan(planner, plan);
  EngineStats stats;
  planner.fill(stats);
  result_.parked_seen = std::max(result_.parked_seen, stats.num_parked);
  // Progress: with nothing in flight, somebody runs as long as somebody could.
  const bool forms_batch = planner.options().is_static() && plan.wake_at_ns != actors::kNoDeadline;
  if (planner.num_under_way() == 0 && plan.rows.empty() && plan.ended.empty() &&
      stats.num_parked == 0 && stats.num_waiting > 0 && stats.num_running == 0 && !forms_batch) {
    bool all_out_of_credit = true;
    for (const Reader& reader : readers_) {
      const auto* known =
          reader.stream ? planner.find_request(reader.stream->accepted().request_id) : nullptr;
      if (known != nullptr && known->granted > known->emitted) all_out_of_credit = false;
    }
    if (!all_out_of_credit) breaks("nobody runs although somebody could");
  }
}

void World::judge_plan(const actors::Planner& planner, const actors::Plan& plan) {
  std::map<std::uint32_t, std::uint32_t> tokens;  // By slice.
  std::set<std::pair<std::uint32_t, SlotId>> places;
  for (const actors::PlanRow& row : plan.rows) {
    tokens[row.slice] += row.num_tokens;
    if (!places.insert({row.slice, row.slot}).second) breaks("a slot has two rows in a pass");
  }
  for (const auto& [slice, sum] : tokens) {
    if (sum > options_.max_num_batched_tokens) breaks("a pass went beyond its token budget");
  }
  if (options_.batching == Batching::chunked && tokens.size() > 1) {
    breaks("chunks need one pass a tick");
  }
  if (!plan.preempted.empty() && plan.opened.size() > 1) {
    breaks("a tick that preempted admitted more than the one it was done for");
  }
  const bool keeps_promise = options_.admission == Admission::reserve && !options_.misbehave &&
                             options_.scheduling != Scheduling::priority &&
                             options_.scheduling != Scheduling::fair;
  for (const actors::PlanPreempted& preempted : plan.preempted) {
    // One that was parked beyond its grace gave way to a new one, not for want of pages.
    const actors::PlannedSequence* one = planner.find(preempted.id);
    const bool was_parked = one != nullptr && one->view.parked;
    if (keeps_promise && !was_parked) breaks("a reservation did not hold");
  }
  if (!plan.swap_out.empty() && planner.options().is_static())
    breaks("a static batch was preempted");
  for (const actors::GroupPlan& group : plan.windows) {
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      const std::uint32_t first = group.tables.offsets[i];
      if (group.tables.offsets[i + 1] == first) breaks("a row has no pages");
      result_.num_released += group.tables.pages.at(first) == kNoPage ? 1 : 0;
    }
  }
}

Request World::make_request(Reader& reader) {
  Request request;
  const auto length = 1 + static_cast<std::uint32_t>(scheduler_.random(options_.max_prompt));
  for (std::uint32_t i = 0; i < length; ++i) {
    request.prompt_ids.push_back(static_cast<TokenId>(1 + scheduler_.random(200)));
  }
  request.max_tokens = 1 + static_cast<std::uint32_t>(scheduler_.random(options_.max_new));
  request.sampling.temperature = scheduler_.random(2) == 0 ? 0.0 : 1.0;
  request.sampling.seed = scheduler_.random(1000);
  request.sampling.ignore_eos = scheduler_.random(3) == 0;
  request.window = 1 + static_cast<std::uint32_t>(scheduler_.random(8));
  request.manual_credit = reader.habit == Habit::credit;
  if (reader.habit == Habit::score) request.prompt_logprobs = 0;
  if (reader.habit == Habit::score && scheduler_.random(2) == 0) request.max_tokens = 0;
  if (reader.habit == Habit::deadline) {
    request.deadline_ms = static_cast<double>(scheduler_.random(60));
  }
  request.on_notice = [&reader](const Notice& notice) {
    ++(notice.kind == Notice::Kind::preempted ? reader.preempted : reader.resumed);
  };
  reader.quit_after = static_cast<std::uint32_t>(scheduler_.random(12));
  draw_choices(reader, request);
  draw_prefix(reader, request);
  reader.prompt = request.prompt_ids;
  reader.sampling = request.sampling;
  reader.got.resize(request.n);
  reader.text.resize(request.n);
  reader.last.resize(request.n);
  return request;
}

/// From dice of its own, so that worlds without choices stay as they are.
void World::draw_choices(Reader& reader, Request& request) {
  if (!options_.choices) return;
  runtime::SimScheduler dice(options_.seed * 104729 + reader.index);
  if (dice.random(2) == 0) {
    request.n = 1 + static_cast<std::uint32_t>(dice.random(std::min(6U, options_.max_num_seqs)));
  }
  // Three of four tokens are written "[123]": these span two tokens, or begin within one.
  if (dice.random(3) == 0) {
    const auto digit = static_cast<char>('1' + dice.random(9));
    request.stop = {std::string("][") + digit + '0', std::string("[4") + digit};
  }
  if (dice.random(4) == 0) {
    request.sampling.min_tokens =
        static_cast<std::uint32_t>(dice.random(std::min(request.max_tokens + 1, 6U)));
  }
  reader.num_choices = request.n;
  reader.stop = request.stop;
}

void World::draw_prefix(Reader& reader, Request& request) {
  if (!options_.shared_prompts) return;
  runtime::SimScheduler dice(options_.seed * 32452843 + reader.index);
  const std::uint64_t family = dice.random(3);
  const std::size_t shared = dice.random(request.prompt_ids.size() + 1);
  for (std::size_t i = 0; i < shared; ++i) {
    request.prompt_ids[i] = static_cast<TokenId>(1 + (i * 7 + family * 31) % 200);
  }
  if (dice.random(4) == 0) request.cache_salt = "salt";
  request.priority = static_cast<std::int32_t>(dice.random(3));
  request.client = std::string(1, static_cast<char>('a' + dice.random(3)));
}

runtime::Task<> World::live(Reader& reader) {
  const auto delay = static_cast<std::int64_t>(scheduler_.random(50)) * kMillisecond;
  static_cast<void>(co_await runtime::sleep_until(scheduler_, scheduler_.now() + delay, nullptr));
  if (killed_[reader.executor] || stopped_) co_return;
  Request request = make_request(reader);
  reader.stream = intake_->submit(std::move(request), outboxes_[reader.executor], {}, std::nullopt,
                                  {scheduler_.now()});
  reader.max_tokens = reader.stream->accepted().max_tokens;
  co_await read_all(reader);
}

runtime::Task<bool> World::read_once(Reader& reader) {
  reader.completed.reset();
  reader.reading = true;
  const std::size_t limit = reader.habit == Habit::batch ? 1000 : 1;
  const std::uint64_t number = reader.stream->reserve_read();
  reader.stream->start_read(number, std::make_unique<Read>(*this, reader), limit);
  if (scheduler_.random(8) == 0) reader.stream->cancel_read(number);
  const bool completed = co_await reader.completed.wait();
  if (reader.error) {
    if (reader.error.value() != ECANCELED) breaks("a read failed: " + reader.error.message());
    co_return completed;  // Cancelled by ourselves: no token was lost, read again.
  }
  if (reader.at_end) ++reader.ends;
  co_return !reader.at_end;
}

runtime::Task<> World::read_all(Reader& reader) {
  for (;;) {
    if (reader.habit == Habit::stall && reader.num_got >= reader.quit_after) {
      co_return;  // Never reads again; the engine must not mind.
    }
    if (reader.num_got >= reader.quit_after) {
      if (reader.habit == Habit::cancel) reader.stream->cancel();
      if (reader.habit == Habit::drop) {
        // At any phase: in the queue, in prefill, while decoding.
        const auto pause = static_cast<std::int64_t>(scheduler_.random(10)) * kMillisecond;
        static_cast<void>(
            co_await runtime::sleep_until(scheduler_, scheduler_.now() + pause, nullptr));
        reader.stream->drop();
        reader.dropped_at_plan = plans_;
        co_return;
      }
    }
    const bool more = co_await read_once(reader);
    if (!more) co_return;
    if (reader.habit == Habit::slow || reader.habit == Habit::credit) {
      const auto pause = static_cast<std::int64_t>(scheduler_.random(200)) * kMillisecond;
      static_cast<void>(
          co_await runtime::sleep_until(scheduler_, scheduler_.now() + pause, nullptr));
    }
    if (reader.habit == Habit::credit) {
      reader.stream->add_credit(static_cast<std::uint32_t>(1 + scheduler_.random(3)));
    }
  }
}

runtime::Task<> World::trouble() {
  const auto when = static_cast<std::int64_t>(scheduler_.random(120)) * kMillisecond;
  static_cast<void>(co_await runtime::sleep_until(scheduler_, when, nullptr));
  if (options_.kill_executor) {
    const auto victim = scheduler_.random(posters_.size());
    killed_[victim] = true;
    posters_[victim]->kill();
  }
  if (options_.stop_early) stop_engine();
}

void World::judge(const Reader& reader) {
  if (!reader.stream) return;
  const auto who = "reader " + std::to_string(reader.index) + ": ";
  for (std::uint32_t i = 0; i < reader.num_choices; ++i) judge_choice(reader, i);
  if (killed_[reader.executor] || reader.habit == Habit::drop) return;
  const Finish finish = reader.stream->finish();
  if (finish.reason == FinishReason::none) {
    breaks(who + "never ended (habit " + std::to_string(static_cast<int>(reader.habit)) + ", " +
           std::to_string(reader.num_got) + " tokens read, reading " +
           std::to_string(reader.reading) + ", stopped " + std::to_string(stopped_) + ", id " +
           std::to_string(reader.stream->accepted().request_id) + ")");
  }
  ++result_.finished[static_cast<std::size_t>(finish.reason)];
  if (reader.habit == Habit::stall) return;
  if (reader.ends != 1) breaks(who + "heard of its end " + std::to_string(reader.ends) + " times");
  if (finish.usage.completion_tokens != reader.num_got) breaks(who + "usage is wrong");
  if (reader.preempted < reader.resumed) breaks(who + "resumed more often than preempted");
  if (finish.timings.preemptions != reader.preempted) breaks(who + "preemptions are miscounted");
  judge_scores(reader, finish);
}

/// The tokens are those of the undisturbed choice, up to its stop string.
void World::judge_choice(const Reader& reader, std::uint32_t index) {
  const auto who = "reader " + std::to_string(reader.index) + ", choice " + std::to_string(index);
  auto expected =
      paged_fake_expected(reader.prompt, reader.sampling, reader.stream->accepted().seed, index,
                          reader.max_tokens, options_.fake);
  Detokenizer detokenizer(model_->tokenizer());
  std::string text;
  std::string searched;
  std::size_t text_end = std::string::npos;
  for (std::size_t i = 0; i < expected.size() && text_end == std::string::npos; ++i) {
    const std::string piece = detokenizer.push(expected[i]);
    text += piece;
    if (i < reader.sampling.min_tokens) continue;
    searched += piece;
    for (const std::string& stop : reader.stop) {
      const std::size_t place = searched.find(stop);
      if (place != std::string::npos) {
        text_end = std::min(text_end, text.size() - searched.size() + place);
      }
    }
    if (text_end != std::string::npos) expected.resize(i + 1);
  }
  const auto& got = reader.got[index];
  const std::size_t num_equal = static_cast<std::size_t>(
      std::mismatch(got.begin(), got.end(), expected.begin(), expected.end()).first - got.begin());
  if (num_equal != got.size()) {
    breaks(who + ": token " + std::to_string(num_equal) + " of " + std::to_string(got.size()) +
           " differs from that of the undisturbed request, which has " +
           std::to_string(expected.size()));
  }
  if (!text.substr(0, text_end).starts_with(reader.text[index])) breaks(who + ": the text differs");
  const Finish finish = reader.stream->finish();
  const bool reads_on = reader.habit != Habit::drop && reader.habit != Habit::stall;
  if (finish.choices.empty() || killed_[reader.executor] || !reads_on) return;
  const ChoiceFinish& end = finish.choices.at(index);
  if (reader.max_tokens > 0 &&
      (end.reason == FinishReason::stop || end.reason == FinishReason::length)) {
    if (got.size() != expected.size()) breaks(who + ": ended before its last token");
    if (reader.text[index] != text.substr(0, text_end)) breaks(who + ": text is missing");
    if (reader.last[index] != end.reason) breaks(who + ": the last token told another end");
    if (end.stop.empty() != (text_end == std::string::npos)) breaks(who + ": a wrong stop string");
  }
  if (!end.stop.empty()) ++result_.stopped_by_string;
}

void World::judge_scores(const Reader& reader, const Finish& finish) {
  const bool whole = finish.reason == FinishReason::stop || finish.reason == FinishReason::length;
  if (reader.habit != Habit::score || !whole) return;
  if (finish.prompt_logprobs.size() + 1 != reader.prompt.size()) {
    breaks("the prompt's scores are not one less than its tokens");
    return;
  }
  for (std::size_t i = 1; i < reader.prompt.size(); ++i) {
    const std::span history(reader.prompt.data(), i);
    const PromptLogprob& score = finish.prompt_logprobs[i - 1];
    if (score.chosen.token != reader.prompt[i] ||
        score.chosen.logprob != paged_fake_logprob(history, reader.prompt[i], options_.fake)) {
      breaks("a prompt token's score is wrong");
    }
  }
}

void World::judge_pool() {
  if (probe_->violations() != 0) breaks("the backend saw: " + probe_->first_violation());
  const actors::Planner& planner = lane_->allocator().planner();
  planner.check();
  if (stopped_) return;
  if (planner.num_running() + planner.num_waiting() != 0) breaks("somebody is left in the tables");
  for (std::size_t group = 0; group <= planner.windows().size(); ++group) {
    const KvPool& pool = group == 0 ? planner.pool() : planner.windows().pool(group - 1);
    const actors::HostPool& host =
        group == 0 ? planner.host_pool() : planner.windows().host_pool(group - 1);
    if (pool.num_available() != pool.options().num_pages) breaks("pages are missing at the end");
    if (host.num_free() != host.num_pages()) breaks("host pages are missing at the end");
  }
  if (port_->counters().queued_requests != 0 || port_->counters().queued_tokens != 0) {
    breaks("the queue's counters did not come back to zero");
  }
}

WorldResult World::run() {
  start();
  return finish();
}

void World::stop_engine() {
  stopped_ = true;
  intake_->drain();
  lane_->request_stop();
}

void World::start() {
  scope_->spawn(lane_->run());
  for (std::uint32_t i = 0; i < options_.num_requests; ++i) {
    readers_.emplace_back(scheduler_, i);
    Reader& reader = readers_.back();
    constexpr std::uint64_t kNumHabits = 9;
    const std::uint64_t drawn = scheduler_.random(kNumHabits);
    reader.habit = options_.misbehave ? static_cast<Habit>(drawn)
                                      : (drawn % 2 == 0 ? Habit::plain : Habit::batch);
    reader.executor = static_cast<std::uint32_t>(scheduler_.random(options_.num_executors));
    scope_->spawn(live(reader));
  }
  scope_->spawn(trouble());
  if (std::getenv("TICKERTAPE_TRACE") != nullptr) scheduler_.set_trace(&std::cerr);
}

WorldResult World::finish() {
  if (!scheduler_.run(kMaxSteps)) breaks("it never came to rest");
  judge_pool();  // What the backend saw says more than wrong tokens.
  for (const Reader& reader : readers_) judge(reader);
  const EngineStats stats = lane_->stats();
  result_.preemptions = stats.preemptions;
  result_.resumed_tokens = stats.recomputed_tokens;
  result_.ticks = stats.ticks;
  result_.stats = stats;
  result_.copied_pages = probe_->copied_pages;
  lane_->request_stop();
  if (!scheduler_.run(kMaxSteps)) breaks("it never stopped");
  result_.digest = scheduler_.digest();
  return result_;
}

}  // namespace tickertape::sim
