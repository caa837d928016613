// Sums of bytes, and the refusal of what does not fit.
#include "kernels/cpu/memory_need.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <tickertape/errors.hpp>

#include "kernels/cpu/decoder_pass.hpp"
#include "kernels/cpu/output_head.hpp"

namespace tickertape::kernels::cpu {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

KvType kv_type_of(KvCacheType type) noexcept {
  switch (type) {
    case KvCacheType::f32:
      return KvType::f32;
    case KvCacheType::bf16:
      return KvType::bf16;
    case KvCacheType::f16:
      break;
  }
  return KvType::f16;
}

std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

std::uint64_t plus(std::uint64_t a, std::uint64_t b) noexcept {
  return a > kMost - b ? kMost : a + b;
}

}  // namespace

PageLayout page_layout_of(const models::DecoderSpec& spec, const BackendOptions& options) {
  PageLayout layout;
  layout.type = kv_type_of(options.kv_cache_type);
  layout.page_size = options.page_size;
  layout.num_layers = static_cast<std::uint32_t>(spec.layers.size());
  layout.num_kv_heads = spec.num_kv_heads;
  layout.head_size = spec.head_size;
  return layout;
}

std::uint32_t num_pages_of(const PageLayout& layout, const BackendOptions& options) {
  if (options.num_kv_pages) return *options.num_kv_pages;
  const std::uint64_t pages = options.kv_cache_memory / layout.page_bytes();
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(pages, std::numeric_limits<std::uint32_t>::max()));
}

std::uint32_t num_host_pages_of(const MemoryNeed& need, const BackendOptions& options,
                                const MemoryBudget& budget) {
  constexpr std::uint64_t kDefaultSpace = 1ULL << 30;
  if (options.num_host_pages) return *options.num_host_pages;
  const std::uint64_t taken =
      plus(plus(need.weight_bytes, need.scratch_bytes), times(need.num_pages, need.bytes_per_page));
  const std::uint64_t left = budget.bytes - std::min(budget.bytes, taken);
  // Half of what is left: others need memory too.
  const std::uint64_t space = options.swap_space.value_or(std::min(kDefaultSpace, left / 2));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(
      space / need.bytes_per_page, std::numeric_limits<std::uint32_t>::max()));
}

MemoryNeed memory_need(const models::DecoderSpec& spec, std::uint64_t weight_bytes,
                       const BackendOptions& options, unsigned num_threads) {
  const PageLayout layout = page_layout_of(spec, options);
  const std::uint32_t slice = std::min(options.max_num_batched_tokens, kMaxSliceTokens);
  MemoryNeed need;
  need.weight_bytes = weight_bytes;
  need.bytes_per_page = layout.page_bytes();
  need.num_pages = num_pages_of(layout, options);
  need.kv_bytes = times(need.num_pages + std::uint64_t{options.num_host_pages.value_or(0)},
                        need.bytes_per_page);
  need.scratch_bytes = DecoderPass::scratch_bytes(spec, slice, num_threads) +
                       OutputHead::scratch_bytes(spec, num_threads);
  return need;
}

void check_memory(const MemoryNeed& need, const BackendOptions& options,
                  const MemoryBudget& budget) {
  const std::uint64_t fixed = plus(need.weight_bytes, need.scratch_bytes);
  if (plus(fixed, need.kv_bytes) <= budget.bytes) return;
  const std::string beside = mebibytes(need.weight_bytes) + " of weights and " +
                             mebibytes(need.scratch_bytes) + " for a pass";
  const std::string room =
      "the process may use " + mebibytes(budget.bytes) + " more (" + budget.limit + ")";
  if (fixed >= budget.bytes) {
    throw Error(Errc::invalid_model,
                "the model does not fit into memory: it takes " + beside + ", and " + room);
  }
  const std::string option = options.num_kv_pages ? "num_kv_pages" : "kv_cache_memory";
  const std::string pages =
      std::to_string(need.num_pages + std::uint64_t{options.num_host_pages.value_or(0)});
  throw Error(ErrorInfo{
      Errc::invalid_request,
      option + ": " + pages + " pages of " + std::to_string(need.bytes_per_page) + " bytes take " +
          mebibytes(need.kv_bytes) + ", beside " + beside + "; " + room + ", so at most " +
          std::to_string((budget.bytes - fixed) / need.bytes_per_page) + " pages fit",
      option, 0});
}

}  // namespace tickertape::kernels::cpu
