// EngineOptions and BackendOptions: every setting with its default and its effect.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tickertape {

class AdmissionPolicy;
class PreemptionPolicy;
class OrderPolicy;

enum class KvCacheType : std::uint8_t { f16, f32, bf16 };

/// What a backend needs to know to lay out its memory and choose its kernels.
struct BackendOptions {
  std::uint32_t page_size = 16;                  ///< Tokens per page; a power of two, 1 to 1024.
  std::optional<std::uint32_t> num_kv_pages;     ///< Pages of the pool; else from kv_cache_memory.
  std::uint64_t kv_cache_memory = 1ULL << 30;    ///< Bytes for the pool.
  std::uint32_t num_host_pages = 0;              ///< Pages of the swap pool.
  KvCacheType kv_cache_type = KvCacheType::f16;  ///< How K and V are kept.
  std::uint32_t max_num_seqs = 64;               ///< Slots: sequences of one pass.
  std::uint32_t max_num_batched_tokens = 512;    ///< Tokens of one pass.
  std::string cpu_isa = "auto";                  ///< auto, reference, scalar, avx2.
};

/// Settings of an Engine.
struct EngineOptions {
  // What changes results or limits.
  std::uint32_t max_num_seqs = 64;  ///< Sequences that run at the same time.
  std::optional<std::uint32_t>
      max_num_batched_tokens;                  ///< Default max(512, max_num_seqs + page_size).
  std::optional<std::uint32_t> max_model_len;  ///< Default min(the model's, the pool).
  std::uint32_t page_size = 16;
  std::optional<std::uint32_t> num_kv_pages;
  std::uint64_t kv_cache_memory = 1ULL << 30;
  KvCacheType kv_cache_type = KvCacheType::f16;
  std::uint32_t prefill_chunk = 0;  ///< Most prompt tokens of one request per tick; 0 = what fits.
  std::uint32_t max_queued_requests = 1024;      ///< Waiting requests beyond which 429 is said.
  std::uint64_t max_queued_tokens = 1ULL << 20;  ///< Prompt tokens that may wait.
  double request_timeout_s = 600;                ///< Longest life of a request; 0 = none.
  double stall_timeout_s = 60;                   ///< A reader without credit for so long is ended.
  double park_grace_s = 1;  ///< A parked sequence keeps its pages so long before others need them.

  // What changes speed only.
  unsigned threads = 0;  ///< Compute threads, the lane included; 0 = the cores we may use.
  int compute_nice =
      10;  ///< Niceness of the lane and the compute threads, so that readers stay prompt.
  std::string cpu_isa = "auto";

  // Plumbing.
  boost::asio::any_io_executor executor;             ///< For handlers that have none of their own.
  std::shared_ptr<const AdmissionPolicy> admission;  ///< Default: prompt_only.
  std::shared_ptr<const PreemptionPolicy> preemption;  ///< Default: parked first, then youngest.
  std::shared_ptr<const OrderPolicy> order;            ///< Default: first come, first served.
};

}  // namespace tickertape
