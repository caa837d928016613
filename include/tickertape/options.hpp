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

/// How sequences come together in passes. All but `chunked` never split a prompt over ticks.
enum class Batching : std::uint8_t {
  chunked,    ///< Sequences join and leave every tick; prompts are read in chunks beside decodes.
  iteration,  ///< Join and leave every tick, whole prompts (Orca).
  static_batch,  ///< A batch is padded to its longest prompt and runs until its longest answer
                 ///< ends.
  static_sorted  ///< The same, of prompts of similar length.
};

/// When a waiting sequence may start.
enum class Admission : std::uint8_t {
  predicted,    ///< The peak expected from lengths seen so far fits, with a reserve.
  reserve,      ///< Prompt and max_tokens of all fit: never preempts.
  prompt_only,  ///< Its prompt fits now.
  max_len       ///< Room for max_model_len each: the baseline before paging.
};

/// What becomes of the keys and values of a preempted sequence.
enum class PreemptionMethod : std::uint8_t {
  automatic,  ///< Whichever costs less, per victim; or the one that needs room waits.
  recompute,  ///< Thrown away, and computed again.
  swap        ///< Moved to host memory, while there is room.
};

/// Order of the waiting line.
enum class Scheduling : std::uint8_t {
  fcfs,      ///< First come, first served.
  priority,  ///< Smaller numbers first, and they preempt larger ones; waiting makes up for it.
  deadline,  ///< The earliest deadline first; those that cannot be met end at once.
  fair       ///< The client that was served least first; it takes places of one that has more.
};

enum class KvCacheType : std::uint8_t { f16, f32, bf16 };

/// What a backend needs to know to lay out its memory and choose its kernels.
struct BackendOptions {
  std::uint32_t page_size = 16;                  ///< Tokens per page; a power of two, 1 to 1024.
  std::optional<std::uint32_t> num_kv_pages;     ///< Pages of the pool; else from kv_cache_memory.
  std::uint64_t kv_cache_memory = 1ULL << 30;    ///< Bytes for the pool.
  std::optional<std::uint32_t> num_host_pages;   ///< Pages of the swap pool; else from swap_space.
  std::optional<std::uint64_t> swap_space;       ///< Bytes for it; else the backend's choice.
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
  double request_timeout_s = 600;  ///< Longest life of a request; 0 = none.
  double stall_timeout_s = 60;     ///< A reader without credit for so long is ended.
  double park_grace_s = 1;  ///< A parked sequence keeps its pages so long before others need them.
  std::uint32_t max_queued_requests = 1024;      ///< Waiting requests beyond which 429 is said.
  std::uint64_t max_queued_tokens = 1ULL << 20;  ///< Prompt tokens that may wait.

  // How passes are filled. None of it changes a request's tokens.
  Batching batching = Batching::chunked;
  std::uint32_t static_batch_size = 0;  ///< Sequences of a static batch; 0 = max_num_seqs.
  double static_batch_wait_ms = 50;     ///< It starts with fewer when its oldest waited so long.
  std::uint32_t prefill_chunk = 0;  ///< Most prompt tokens of one request per tick; 0 = what fits.
  double itl_target_ms = 0;         ///< Chunks are cut so that a pass takes no longer; 0 = off.
  Admission admission = Admission::predicted;
  double admission_quantile = 0.9;  ///< `predicted`: probability that the expected peak holds.
  double admission_buffer = 0.05;   ///< `predicted`: part of the pool that it leaves free.
  /// A file for what `predicted` learns about the lengths of answers: read when the engine begins,
  /// if it is there, and written when it has ended. It names no client. Empty = none.
  std::string length_profile;
  PreemptionMethod preemption = PreemptionMethod::automatic;
  /// Host memory for swapped sequences, in bytes. Default 1 GiB, or what there is beside the rest.
  std::optional<std::uint64_t> swap_space;
  Scheduling scheduling = Scheduling::fcfs;
  double priority_ageing_s = 30;  ///< `priority`: waiting so long counts as one step.
  bool prefix_caching = true;     ///< Pages of equal beginnings are shared and kept.

  // What changes speed only.
  /// On backends that work by themselves the next pass is planned while one runs. A row planned for
  /// an answer that has ended by then is computed for nothing; an arrival may wait a pass longer.
  bool overlap = true;
  unsigned threads = 0;  ///< Compute threads, the lane included; 0 = the cores we may use.
  int compute_nice =
      10;  ///< Niceness of the lane and the compute threads, so that readers stay prompt.
  std::string cpu_isa = "auto";

  /// A file for the recording of the schedule (see recording.hpp); empty = none. Does not go with
  /// policies of your own.
  std::string record;
  std::uint64_t record_limit = 1ULL << 30;  ///< Most bytes of it; the recording ends there.

  // Plumbing.
  boost::asio::any_io_executor executor;  ///< For handlers that have none of their own.
  std::shared_ptr<const AdmissionPolicy> admission_policy;    ///< Instead of `admission`.
  std::shared_ptr<const PreemptionPolicy> preemption_policy;  ///< Who is preempted; a default.
  std::shared_ptr<const OrderPolicy> order_policy;            ///< Instead of `scheduling`.
};

}  // namespace tickertape
