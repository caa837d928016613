// TickedEngine: an engine's own actors in virtual time, told tick by tick what to do.
#include "tests/support/ticked_engine.hpp"

#include <stdexcept>
#include <utility>

#include "actors/engine_settings.hpp"
#include "actors/tags.hpp"

namespace tickertape::test {

TickedEngine::TickedEngine(std::shared_ptr<const Model> model, const EngineOptions& wanted)
    : model_(std::move(model)) {
  EngineOptions options = actors::resolve(wanted);
  poster_ = std::make_shared<runtime::SimPoster>(scheduler_);
  outbox_ = std::make_shared<actors::Outbox>(poster_);
  host_.emplace(scheduler_);
  backend_ = model_->make_backend(actors::backend_options(options), *host_, parallel_);
  const BackendInfo& info = backend_->info();
  options.max_model_len = actors::resolve_max_model_len(options, model_->info(), info);
  const auto tokenizer = model_->tokenizer();
  lane_.emplace(actors::lane_options(options, info, tokenizer.get()), *host_, *backend_, port_);
  lane_->allocator().on_plan = [this](const actors::Planner& planner, const actors::Plan& plan) {
    planner.check();
    plan_made(plan);
  };
  intake_.emplace(
      model_, actors::intake_options(options, info, *options.max_model_len, tokenizer.get()), port_,
      [this] { return scheduler_.now(); }, [this] { return std::uint64_t{readers_.size()}; });
  scope_.emplace(scheduler_, actors::kTagLane);
  scope_->spawn(lane_->run());
}

TickedEngine::~TickedEngine() {
  lane_->request_stop();
  while (scheduler_.step()) {
  }
  poster_->kill();
  scope_.reset();
  readers_.clear();
  lane_.reset();
}

std::size_t TickedEngine::submit_at(std::uint64_t tick, Request request) {
  const std::size_t which = readers_.size();
  readers_.emplace_back().request = std::move(request);
  due_.emplace(tick, which);
  return which;
}

void TickedEngine::submit_now(std::size_t which) {
  Reader& reader = readers_[which];
  const std::uint32_t num_choices = reader.request->n;
  reader.answer.submitted_at = tick_;
  reader.answer.by_choice.resize(num_choices);
  reader.stream =
      intake_->submit(std::move(*reader.request), outbox_, {}, std::nullopt, {scheduler_.now()});
  reader.answer.id = reader.stream->accepted().request_id;
  open_.push_back(which);
  if (reader.stream->done()) {
    reader.has_ended = true;  // Refused.
    return;
  }
  owners_.emplace(reader.answer.id, which);
  reader.stream->set_sink(reader);
}

bool TickedEngine::submit_due(std::uint64_t tick) {
  bool any = false;
  while (!due_.empty() && due_.begin()->first <= tick) {
    const std::size_t which = due_.begin()->second;
    due_.erase(due_.begin());
    submit_now(which);
    any = true;
  }
  return any;
}

/// Nothing else is left to do: time does not pass without ticks.
bool TickedEngine::submit_next() {
  return !due_.empty() && submit_due(due_.begin()->first);
}

void TickedEngine::run() {
  static_cast<void>(submit_due(tick_));
  for (;;) {
    if (!scheduler_.step() && !submit_next()) break;
    tell_ends();
    static_cast<void>(submit_due(tick_));
  }
  if (!open_.empty()) throw std::logic_error("requests are left that nothing moves");
}

/// Not inside on_end(): the stream is still at work there.
void TickedEngine::tell_ends() {
  for (std::size_t i = 0; i < open_.size();) {
    Reader& reader = readers_[open_[i]];
    if (!reader.has_ended) {
      ++i;
      continue;
    }
    reader.answer.finish = reader.stream->finish();
    const std::size_t which = open_[i];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
    if (on_end) on_end(which);
  }
}

TickedChoice& TickedEngine::choice_of(SequenceId id) {
  const auto next = owners_.upper_bound(id);
  const auto& [first, which] = *std::prev(next);
  return readers_[which].answer.by_choice.at(id - first);
}

void TickedEngine::plan_made(const actors::Plan& plan) {
  if (!plan.rows.empty()) tick_ = plan.tick;
  for (const auto& victim : plan.preempted) choice_of(victim.id).preempted_at.push_back(tick_);
  for (const auto& opened : plan.opened) choice_of(opened.id).started_at.push_back(tick_);
  for (const actors::PlanRow& row : plan.rows) {
    if (row.kind != actors::RowKind::work) continue;
    TickedChoice& choice = choice_of(row.id);
    if (choice.rows_at.empty() || choice.rows_at.back() != tick_) choice.rows_at.push_back(tick_);
    if (row.output == RowOutput::sample) choice.sampled_at.push_back(tick_);
  }
  if (on_plan) on_plan(plan);
  static_cast<void>(submit_due(tick_));
}

}  // namespace tickertape::test
