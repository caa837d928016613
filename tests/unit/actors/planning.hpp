// Planning: a small planner, and ticks with a backend that always gives a token.
#pragma once
#include <vector>

#include "actors/planner.hpp"

namespace tickertape::test {

inline actors::PlannerOptions small_options() {
  actors::PlannerOptions options;
  options.pool = KvPoolOptions{24, 16};
  options.max_num_seqs = 8;
  options.max_num_batched_tokens = 64;
  options.park_grace_ns = 100;
  options.stall_timeout_ns = 1000;
  return options;
}

inline actors::NewRequest sequence(SequenceId id, std::uint32_t prompt, std::uint32_t generate,
                                   std::uint64_t granted = 1000) {
  actors::NewRequest wanted;
  wanted.id = id;
  wanted.prompt_tokens = prompt;
  wanted.max_tokens = prompt + generate;
  wanted.granted = granted;
  return wanted;
}

/// What a backend would do with a plan: every row that reaches the end of what is known samples
/// one token; a full sequence ends.
inline actors::Demand run(const actors::Planner& planner, const actors::Plan& plan) {
  actors::Demand demand;
  for (const actors::PlanRow& row : plan.rows) {
    const actors::PlannedSequence* const known = planner.find(row.id);
    // Planned ahead for one that has ended by then.
    if (row.kind != actors::RowKind::work || known == nullptr) continue;
    const actors::PlannedSequence& sequence = *known;
    const SequenceView& view = sequence.view;
    actors::RowDone done;
    done.id = row.id;
    done.num_computed = row.num_tokens;
    const bool is_last = row.first_position + row.num_tokens == view.num_tokens;
    done.num_emitted = sequence.flights.front().samples && is_last ? 1 : 0;
    if (row.output == RowOutput::all_logprobs) {
      const std::uint32_t end = row.first_position + row.num_tokens;
      done.num_scored = std::min(end, view.prompt_tokens - 1) - (end - row.num_outputs);
    }
    done.ended = done.num_emitted == 1 && view.num_tokens + 1 == view.max_tokens;
    demand.done.push_back(done);
  }
  return demand;
}

inline actors::Plan tick(actors::Planner& planner, std::int64_t now_ns = 0) {
  actors::Plan plan = planner.make_plan(now_ns);
  planner.check();
  planner.commit(run(planner, plan));
  planner.check();
  return plan;
}

inline const actors::PlanRow* row_of(const actors::Plan& plan, SequenceId id) {
  for (const actors::PlanRow& row : plan.rows) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

}  // namespace tickertape::test
