// static_batch: the baseline that continuous batching is measured against. A batch is formed,
// padded to its longest prompt, and runs until its longest answer ends; what that costs is
// computed, and counted.
#include <algorithm>
#include <utility>
#include <vector>

#include <tickertape/assert.hpp>

#include "actors/tick.hpp"

namespace tickertape::actors {
namespace {

std::uint32_t distance(std::uint32_t a, std::uint32_t b) {
  return a > b ? a - b : b - a;
}

}  // namespace

void Planner::plan_static(Tick& tick) {
  const bool is_over =
      std::all_of(running_.begin(), running_.end(),
                  [](const PlannedSequence* sequence) { return sequence->finished; });
  if (batch_size_ > 0 && is_over) {
    const std::vector<PlannedSequence*> done = running_;
    for (PlannedSequence* sequence : done) forget(*sequence);
    batch_size_ = 0;
    tick.plan.batch_ended = true;
  }
  if (batch_size_ == 0) {
    form_batch(tick);
    return;
  }
  for (PlannedSequence* sequence : running_) {
    if (sequence->ending) continue;
    if (!sequence->finished) {
      plan_row(tick, *sequence);
      continue;
    }
    // It goes on, and nobody will see what it says.
    PlanRow row;
    row.first_position = sequence->view.num_tokens - 1 + sequence->num_filler;
    if (row.first_position >= options_.max_model_len) continue;
    ++sequence->num_filler;
    row.num_tokens = 1;
    row.output = RowOutput::sample;
    row.num_outputs = 1;
    row.kind = RowKind::finished;
    add_rows(tick, *sequence, row);
  }
}

/// Sequences in the order in which they would join a batch.
std::vector<SequenceId> Planner::choose_batch() const {
  std::vector<const PlannedSequence*> all;
  for (auto id = line_.first(); id; id = line_.after(*id)) {
    all.push_back(&sequences_.at(*id));
    if (options_.batching == Batching::static_batch && all.size() == options_.static_batch_size) {
      break;
    }
  }
  if (options_.batching == Batching::static_sorted && !all.empty()) {
    // The first of the line is in the batch, so nobody waits for ever; with it, the likest.
    const std::uint32_t wanted = all.front()->view.prompt_tokens;
    const auto rank = [&](const PlannedSequence* sequence) {
      return std::pair(distance(sequence->view.prompt_tokens, wanted), sequence->view.arrival);
    };
    std::sort(all.begin(), all.end(), [&](const PlannedSequence* a, const PlannedSequence* b) {
      return rank(a) < rank(b);
    });
    if (all.size() > options_.static_batch_size) all.resize(options_.static_batch_size);
  }
  std::vector<SequenceId> chosen;
  for (const PlannedSequence* sequence : all) chosen.push_back(sequence->view.id);
  return chosen;
}

void Planner::form_batch(Tick& tick) {
  if (line_.size() < options_.static_batch_size && tick.now_ns < static_wake_ns()) return;
  std::vector<PlannedSequence*> members;
  std::uint32_t longest_prompt = 0;
  std::uint32_t longest_answer = 0;
  for (const SequenceId id : choose_batch()) {
    PlannedSequence& sequence = get(id);
    const SequenceView& view = sequence.view;
    const std::uint32_t prompt = std::max(longest_prompt, view.prompt_tokens);
    const std::uint32_t answer = std::max(longest_answer, view.max_tokens - view.prompt_tokens);
    // As in one tensor of batch x (longest prompt + longest answer): it never preempts.
    const std::uint64_t pages = pool_.pages_for(std::min(prompt + answer, options_.max_model_len));
    const std::uint32_t num_available = std::min(pool_.num_available(), windows_.num_available());
    if ((members.size() + 1) * pages > num_available) break;
    longest_prompt = prompt;
    longest_answer = answer;
    members.push_back(&sequence);
  }
  // Nobody else is there: whoever fits at all, fits.
  TICKERTAPE_ASSERT(!members.empty() || line_.size() == 0);
  batch_size_ = static_cast<std::uint32_t>(members.size());
  for (PlannedSequence* sequence : members) {
    leave_line(*sequence);
    const SequenceView& view = sequence->view;
    const std::uint32_t num_places =
        std::min(longest_prompt + longest_answer, options_.max_model_len);
    const bool grown = pool_.grow(view.id, num_places);
    TICKERTAPE_ASSERT(grown);
    windows_.grow(view.id, num_places);
    profile_.reached(view);
    take_place(tick, *sequence);
    PlanOpened& opened = tick.plan.opened.emplace_back();
    opened.id = view.id;
    opened.slot = sequence->slot;
    plan_row(tick, *sequence);
  }
  tick.slice_left = 0;  // A slot has one row in a pass, and the prompts' come first.
  for (PlannedSequence* sequence : members) {
    PlanRow row;
    row.first_position = sequence->view.prompt_tokens;
    row.num_tokens = longest_prompt - sequence->view.prompt_tokens;
    row.kind = RowKind::padding;
    if (row.num_tokens > 0) add_rows(tick, *sequence, row);
  }
}

/// When a batch starts although it is not full.
std::int64_t Planner::static_wake_ns() const {
  const auto first = line_.first();
  if (batch_size_ > 0 || !first) return kNoDeadline;
  return sequences_.at(*first).view.arrival_ns + options_.static_batch_wait_ns;
}

}  // namespace tickertape::actors
