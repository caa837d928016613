// Engine settings: what an Engine makes of its options, and which it refuses.
#include "actors/engine_settings.hpp"

#include <algorithm>
#include <bit>
#include <string>

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
  backend.max_num_seqs = options.max_num_seqs;
  backend.max_num_batched_tokens = *options.max_num_batched_tokens;
  backend.cpu_isa = options.cpu_isa;
  return backend;
}

std::uint32_t resolve_max_model_len(const EngineOptions& options, const ModelInfo& model,
                                    const BackendInfo& backend) {
  const std::uint64_t pool = std::uint64_t{backend.num_pages} * backend.page_size;
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
  lane.planner.pool = KvPoolOptions{backend.num_pages, backend.page_size};
  lane.planner.max_num_seqs = options.max_num_seqs;
  lane.planner.max_num_batched_tokens = *options.max_num_batched_tokens;
  lane.planner.prefill_chunk = options.prefill_chunk;
  lane.planner.park_grace_ns = to_ns(options.park_grace_s);
  if (options.stall_timeout_s > 0) lane.planner.stall_timeout_ns = to_ns(options.stall_timeout_s);
  lane.planner.admission = options.admission;
  lane.planner.preemption = options.preemption;
  lane.planner.order = options.order;
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
