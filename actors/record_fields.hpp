// Record fields: one list per recorded type, from which it is written, read and digested.
#pragma once
#include <concepts>
#include <type_traits>

#include "actors/plan.hpp"
#include "actors/schedule_settings.hpp"

namespace tickertape::actors {

template <class T, class Of>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Of>;

/// All but the layer groups that have windows.
template <class Visit, MaybeConst<ScheduleSettings> T>
void each_field(Visit& visit, T& settings) {
  auto& planner = settings.planner;
  visit(planner.pool.num_pages);
  visit(planner.pool.page_size);
  visit(planner.max_num_seqs);
  visit(planner.max_num_batched_tokens);
  visit(planner.max_model_len);
  visit(planner.park_grace_ns);
  visit(planner.stall_timeout_ns);
  visit(planner.batching);
  visit(planner.static_batch_size);
  visit(planner.static_batch_wait_ns);
  visit(planner.prefill_chunk);
  visit(planner.itl_target_ns);
  visit(planner.max_pass_ns);
  visit(planner.preemption_method);
  visit(planner.num_host_pages);
  visit(planner.swap_ns_per_page);
  visit(planner.max_class_preemptions);
  visit(planner.prefix_caching);
  visit(planner.overlap);
  visit(settings.admission);
  visit(settings.admission_quantile);
  visit(settings.admission_buffer);
  visit(settings.scheduling);
  visit(settings.priority_ageing_ns);
}

/// Of a layer group that has a window.
template <class Visit, MaybeConst<LayerGroup> T>
void each_field(Visit& visit, T& group) {
  visit(group.window);
  visit(group.num_pages);
}

/// All but the names.
template <class Visit, MaybeConst<NewRequest> T>
void each_field(Visit& visit, T& request) {
  visit(request.id);
  visit(request.num_choices);
  visit(request.prompt_tokens);
  visit(request.max_tokens);
  visit(request.scores_prompt);
  visit(request.is_chat);
  visit(request.priority);
  visit(request.client);
  visit(request.granted);
  visit(request.deadline_ns);
  visit(request.needs_host);
}

template <class Visit, MaybeConst<RowDone> T>
void each_field(Visit& visit, T& done) {
  visit(done.id);
  visit(done.num_computed);
  visit(done.num_scored);
  visit(done.num_emitted);
  visit(done.ended);
  visit(done.by_itself);
}

/// All but the lists.
template <class Visit, MaybeConst<Demand> T>
void each_field(Visit& visit, T& demand) {
  visit(demand.pass_ns);
  visit(demand.swap_ns);
  visit(demand.swap_failed);
  visit(demand.has_landed);
  visit(demand.copy_failed);
}

template <class Visit, MaybeConst<ReaderEvent> T>
void each_field(Visit& visit, T& event) {
  visit(event.id);
  visit(event.granted);
  visit(event.cancelled);
}

template <class Visit, MaybeConst<PlanRow> T>
void each_field(Visit& visit, T& row) {
  visit(row.id);
  visit(row.slot);
  visit(row.first_position);
  visit(row.num_tokens);
  visit(row.source);
  visit(row.output);
  visit(row.num_outputs);
  visit(row.slice);
  visit(row.kind);
}

template <class Visit, MaybeConst<PlanOpened> T>
void each_field(Visit& visit, T& opened) {
  visit(opened.id);
  visit(opened.slot);
  visit(opened.resumed);
  visit(opened.how);
  visit(opened.cached_tokens);
  visit(opened.swapped_pages);
}

template <class Visit, MaybeConst<PlanPreempted> T>
void each_field(Visit& visit, T& preempted) {
  visit(preempted.id);
  visit(preempted.how);
  visit(preempted.swapped_pages);
}

template <class Visit, MaybeConst<PlanEnded> T>
void each_field(Visit& visit, T& ended) {
  visit(ended.id);
  visit(ended.reason);
}

template <class Visit, MaybeConst<PageCopy> T>
void each_field(Visit& visit, T& copy) {
  visit(copy.from);
  visit(copy.to);
}

}  // namespace tickertape::actors
