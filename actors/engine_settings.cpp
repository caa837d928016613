// Engine settings: what an Engine makes of its options, and which it refuses.
#include "actors/engine_settings.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "actors/length_profile_file.hpp"
#include "actors/schedule_recorder.hpp"
#include "actors/schedule_settings.hpp"

namespace tickertape::actors {
namespace {

[[noreturn]] void refuse(const std::string& param, const std::string& rule) {
  throw Error(ErrorInfo{Errc::invalid_request, param + " " + rule, param, 0});
}

std::int64_t to_ns(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

void check_seconds(const char* name, double seconds) {
  if (!(seconds >= 0 && seconds <= 1e9)) refuse(name, "must be from 0 to 1e9 seconds");
}

void check_milliseconds(const char* name, double milliseconds) {
  if (!(milliseconds >= 0 && milliseconds <= 1e9)) refuse(name, "must be from 0 to 1e9 ms");
}

void check_scheduling(const EngineOptions& options) {
  if (options.static_batch_size > options.max_num_seqs) {
    refuse("static_batch_size", "must be at most max_num_seqs");
  }
  check_milliseconds("static_batch_wait_ms", options.static_batch_wait_ms);
  check_milliseconds("itl_target_ms", options.itl_target_ms);
  check_seconds("priority_ageing_s", options.priority_ageing_s);
  if (to_ns(options.priority_ageing_s) == 0) refuse("priority_ageing_s", "must be above 0");
  if (!(options.admission_quantile > 0 && options.admission_quantile < 1)) {
    refuse("admission_quantile", "must be between 0 and 1");
  }
  if (!(options.admission_buffer >= 0 && options.admission_buffer < 1)) {
    refuse("admission_buffer", "must be from 0 to below 1");
  }
}

/// Those beside the first one, which KvPool has.
std::vector<LayerGroup> window_groups(const BackendInfo& backend) {
  if (backend.groups.empty()) return {};
  std::vector<LayerGroup> windows(backend.groups.begin() + 1, backend.groups.end());
  bool fits = backend.groups.front().window == 0;
  for (LayerGroup& group : windows) {
    fits = fits && group.window > 0;
    if (group.num_pages == 0) group.num_pages = backend.num_pages;
  }
  if (!fits) {
    throw Error(Errc::internal, "the layer groups of " + backend.name +
                                    ": the first must see all tokens, and the others need windows");
  }
  return windows;
}

/// All but the context, which depends on what the pools hold.
PlannerOptions planner_options(const EngineOptions& options, const BackendInfo& backend) {
  PlannerOptions planner;
  planner.pool = KvPoolOptions{backend.num_pages, backend.page_size};
  planner.windows = window_groups(backend);
  planner.max_num_seqs = options.max_num_seqs;
  planner.max_num_batched_tokens = *options.max_num_batched_tokens;
  planner.park_grace_ns = to_ns(options.park_grace_s);
  if (options.stall_timeout_s > 0) planner.stall_timeout_ns = to_ns(options.stall_timeout_s);
  planner.batching = options.batching;
  planner.static_batch_size = options.static_batch_size;
  planner.static_batch_wait_ns = to_ns(options.static_batch_wait_ms / 1e3);
  planner.prefill_chunk = options.prefill_chunk;
  planner.itl_target_ns = to_ns(options.itl_target_ms / 1e3);
  planner.preemption_method = options.preemption;
  planner.num_host_pages = backend.num_host_pages;
  planner.prefix_caching = options.prefix_caching;
  planner.overlap = options.overlap && backend.asynchronous && !planner.is_static();
  return planner;
}

}  // namespace

EngineOptions resolve(EngineOptions options) {
  if (options.max_num_seqs < 1 || options.max_num_seqs > 65536) {
    refuse("max_num_seqs", "must be from 1 to 65536");
  }
  if (!std::has_single_bit(options.page_size) || options.page_size > 1024) {
    refuse("page_size", "must be a power of two from 1 to 1024");
  }
  const std::uint32_t least = options.max_num_seqs + options.page_size;
  if (!options.max_num_batched_tokens) {
    options.max_num_batched_tokens = std::max<std::uint32_t>(512, least);
  } else if (*options.max_num_batched_tokens < least) {
    refuse("max_num_batched_tokens",
           "must be at least max_num_seqs + page_size = " + std::to_string(least));
  }
  if (options.num_kv_pages && *options.num_kv_pages == 0)
    refuse("num_kv_pages", "must be at least 1");
  if (options.max_queued_requests < 1) refuse("max_queued_requests", "must be at least 1");
  check_scheduling(options);
  if (!options.record.empty() &&
      (options.admission_policy || options.preemption_policy || options.order_policy)) {
    refuse("record", "does not go with policies of your own, which no replay would know");
  }
  check_seconds("request_timeout_s", options.request_timeout_s);
  check_seconds("stall_timeout_s", options.stall_timeout_s);
  check_seconds("park_grace_s", options.park_grace_s);
  if (options.compute_nice < 0 || options.compute_nice > 19) {
    refuse("compute_nice", "must be from 0 to 19");
  }
  if (options.threads > 1024) refuse("threads", "must be at most 1024");
  return options;
}

BackendOptions backend_options(const EngineOptions& options) {
  BackendOptions backend;
  backend.page_size = options.page_size;
  backend.num_kv_pages = options.num_kv_pages;
  backend.kv_cache_memory = options.kv_cache_memory;
  backend.kv_cache_type = options.kv_cache_type;
  backend.swap_space = options.swap_space;
  if (options.preemption == PreemptionMethod::recompute) backend.num_host_pages = 0;
  backend.max_num_seqs = options.max_num_seqs;
  backend.max_num_batched_tokens = *options.max_num_batched_tokens;
  backend.cpu_isa = options.cpu_isa;
  return backend;
}

std::uint32_t resolve_max_model_len(const EngineOptions& options, const ModelInfo& model,
                                    const BackendInfo& backend) {
  const std::uint64_t pool = longest_sequence(planner_options(options, backend));
  const auto limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(pool, model.max_model_len));
  if (!options.max_model_len) return limit;
  if (*options.max_model_len > limit) {
    refuse("max_model_len", std::to_string(*options.max_model_len) + " is more than the model's " +
                                std::to_string(model.max_model_len) + " or the pool's " +
                                std::to_string(pool) + " tokens");
  }
  if (*options.max_model_len < 2) refuse("max_model_len", "must be at least 2");
  return *options.max_model_len;
}

LaneOptions lane_options(const EngineOptions& options, const BackendInfo& backend,
                         const Tokenizer* tokenizer) {
  LaneOptions lane;
  ScheduleSettings settings;
  settings.planner = planner_options(options, backend);
  settings.planner.max_model_len = *options.max_model_len;
  settings.admission = options.admission;
  settings.admission_quantile = options.admission_quantile;
  settings.admission_buffer = options.admission_buffer;
  settings.scheduling = options.scheduling;
  settings.priority_ageing_ns = to_ns(options.priority_ageing_s);
  if (!options.length_profile.empty()) {
    lane.length_profile = options.length_profile;
    auto lengths =
        std::make_shared<const SharedLengths>(read_length_profile(options.length_profile));
    write_length_profile(options.length_profile, *lengths);  // Refused now, not at the end.
    settings.planner.lengths = std::move(lengths);
  }
  lane.planner = settings.build();
  if (options.admission_policy) lane.planner.admission = options.admission_policy;
  if (options.order_policy) lane.planner.order = options.order_policy;
  lane.planner.preemption = options.preemption_policy;
  if (!options.record.empty()) {
    lane.log = std::make_shared<ScheduleRecorder>(options.record, settings, options.record_limit);
  }
  lane.max_queued_requests = options.max_queued_requests;
  if (tokenizer != nullptr) {
    const auto ends = tokenizer->end_tokens();
    lane.end_tokens.assign(ends.begin(), ends.end());
  }
  return lane;
}

IntakeOptions intake_options(const EngineOptions& options, const BackendInfo& backend,
                             std::uint32_t max_model_len, const Tokenizer* tokenizer) {
  IntakeOptions intake;
  intake.limits.max_model_len = max_model_len;
  intake.limits.max_num_seqs = options.max_num_seqs;
  intake.limits.vocab_size = backend.vocab_size;
  // Rows of the embedding beyond the vocabulary are padding.
  if (tokenizer != nullptr) {
    intake.limits.vocab_size =
        std::min(intake.limits.vocab_size, static_cast<std::uint32_t>(tokenizer->vocab_size()));
  }
  intake.max_queued_requests = options.max_queued_requests;
  intake.max_queued_tokens = options.max_queued_tokens;
  intake.request_timeout_ns = to_ns(options.request_timeout_s);
  return intake;
}

}  // namespace tickertape::actors
