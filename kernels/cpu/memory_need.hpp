// What a CpuBackend takes of memory, reckoned before it is made.
#pragma once
#include <cstdint>

#include <tickertape/model.hpp>
#include <tickertape/options.hpp>

#include "kernels/cpu/kv_pages.hpp"
#include "kernels/cpu/memory_budget.hpp"
#include "kernels/models/decoder_spec.hpp"

namespace tickertape::kernels::cpu {

/// More tokens at once make nothing faster, and the intermediate values leave the caches.
inline constexpr std::uint32_t kMaxSliceTokens = 256;

[[nodiscard]] PageLayout page_layout_of(const models::DecoderSpec& spec,
                                        const BackendOptions& options);

/// Pages of the pool as the options ask for them; 0 when kv_cache_memory holds none.
[[nodiscard]] std::uint32_t num_pages_of(const PageLayout& layout, const BackendOptions& options);

/// Pages of the swap pool as the options ask for them; by default as many as 1 GiB holds, less
/// where memory is short.
[[nodiscard]] std::uint32_t num_host_pages_of(const MemoryNeed& need, const BackendOptions& options,
                                              const MemoryBudget& budget);

/// kv_bytes has the swap pool too, when num_host_pages is set. Sums beyond 64 bits stay at the
/// largest number.
[[nodiscard]] MemoryNeed memory_need(const models::DecoderSpec& spec, std::uint64_t weight_bytes,
                                     const BackendOptions& options, unsigned num_threads);

/// Throws what says that this does not fit: Error(Errc::invalid_model) when the weights alone do
/// not, else Error(Errc::invalid_request) with the option that sizes the pool. `options` are those
/// of `need`.
void check_memory(const MemoryNeed& need, const BackendOptions& options,
                  const MemoryBudget& budget);

}  // namespace tickertape::kernels::cpu
