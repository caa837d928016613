// CpuBackend: options, operations and their results.
#include "kernels/cpu/cpu_backend.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <string>
#include <tickertape/assert.hpp>
#include <tickertape/errors.hpp>

#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/memory_need.hpp"

namespace tickertape::kernels::cpu {
namespace {

using models::DecoderSpec;

[[noreturn]] void refuse(const std::string& option, const std::string& message) {
  throw Error(ErrorInfo{Errc::invalid_request, option + ": " + message, option, 0});
}

std::string bytes(std::uint64_t count) {
  return std::to_string(count) + " bytes";
}

BackendInfo describe(const DecoderSpec& spec, const KvPages& pages, const BackendOptions& options,
                     const KernelTable& kernels, unsigned num_threads) {
  BackendInfo info;
  info.name = "cpu";
  const std::string processor = processor_name();
  info.device = (processor.empty() ? "cpu" : processor) + ", " + kernels.name + ", " +
                std::to_string(num_threads) + (num_threads == 1 ? " thread" : " threads");
  info.page_size = options.page_size;
  info.num_pages = pages.num_pages();
  info.num_host_pages = options.num_host_pages.value_or(0);
  info.vocab_size = spec.vocab_size;
  info.embedding_size = spec.embedding_size;
  info.groups = {{static_cast<std::uint32_t>(spec.layers.size()), 0, pages.layout().page_bytes()}};
  return info;
}

}  // namespace

CpuBackend::CpuBackend(std::shared_ptr<const DecoderSpec> spec,
                       std::shared_ptr<const CpuWeights> weights, const BackendOptions& options,
                       BackendHost& host, Parallel& parallel)
    : spec_(std::move(spec)),
      weights_(std::move(weights)),
      kernels_(kernels_of(choose_isa(options.cpu_isa))),
      host_(host),
      parallel_(parallel),
      max_slice_tokens_(std::min(options.max_num_batched_tokens, kMaxSliceTokens)),
      pages_(page_layout_of(*spec_, options),
             num_pages_of(page_layout_of(*spec_, options), options),
             options.num_host_pages.value_or(0)),
      slots_(options.max_num_seqs),
      pass_(*spec_, *weights_, kernels_, pages_, max_slice_tokens_, parallel.num_members()),
      head_(*spec_, *weights_, kernels_, parallel.num_members()),
      info_(describe(*spec_, pages_, options, kernels_, parallel.num_members())) {
  results_.reserve(64);
}

void CpuBackend::check(const Batch& batch) const {
  TICKERTAPE_ASSERT(batch.page_tables.size() == 1);
  const PageTables& tables = batch.page_tables.front();
  TICKERTAPE_ASSERT(tables.offsets.size() == batch.rows.size() + 1);
  TICKERTAPE_ASSERT(tables.offsets.back() <= tables.pages.size());
  for (const PageId page : tables.pages) TICKERTAPE_ASSERT(page < pages_.num_pages());
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const Row& row = batch.rows[i];
    TICKERTAPE_ASSERT(tables.offsets[i] <= tables.offsets[i + 1]);
    const std::uint64_t room =
        std::uint64_t{tables.offsets[i + 1] - tables.offsets[i]} * info_.page_size;
    TICKERTAPE_ASSERT(std::uint64_t{row.first_position} + row.num_tokens <= room);
    TICKERTAPE_ASSERT(row.mask < static_cast<std::int32_t>(batch.masks.size()));
    if (row.source == RowSource::ids) {
      const std::uint32_t following = row.output == RowOutput::all_logprobs ? 1 : 0;
      TICKERTAPE_ASSERT(std::size_t{row.first_id} + row.num_tokens + following <= batch.ids.size());
    } else {
      TICKERTAPE_ASSERT(row.output != RowOutput::all_logprobs && row.num_tokens == 1);
      TICKERTAPE_ASSERT(row.source_slot < slots_.last_tokens().size());
    }
  }
}

void CpuBackend::forward(Ticket ticket, const Batch& batch) {
  BatchResult result;
  try {
    result = compute(batch);
  } catch (const std::exception& error) {
    result = {};
    result.status = PassStatus::failed;
    result.fault = error.what();
  }
  complete(ticket, std::move(result));
}

BatchResult CpuBackend::compute(const Batch& batch) {
  check(batch);
  slots_.update(batch);
  head_.begin(batch, slots_);
  PassPlan plan(batch, slots_.last_tokens(), max_slice_tokens_);
  while (plan.next(slice_)) {
    for (const TokenId id : slice_.ids) {
      TICKERTAPE_ASSERT(id >= 0 && static_cast<std::uint32_t>(id) < spec_->vocab_size);
    }
    if (!pass_.run(slice_, parallel_, host_)) {
      BatchResult abandoned;
      abandoned.status = PassStatus::abandoned;
      return abandoned;
    }
    head_.add(slice_, pass_, parallel_);
  }
  BatchResult result = head_.finish();
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const RowResult& row = result.rows[i];
    slots_.note_sampled(batch.rows[i],
                        std::span(result.tokens).subspan(row.first_token, row.num_tokens));
  }
  return result;
}

void CpuBackend::copy_pages(Ticket ticket, std::span<const PageMove> moves) {
  pages_.copy(moves);
  complete(ticket, {});
}

void CpuBackend::swap_out(Ticket ticket, std::span<const PageMove> moves) {
  pages_.swap_out(moves);
  complete(ticket, {});
}

void CpuBackend::swap_in(Ticket ticket, std::span<const PageMove> moves) {
  pages_.swap_in(moves);
  complete(ticket, {});
}

void CpuBackend::complete(Ticket ticket, BatchResult result) {
  results_.emplace_back(ticket, std::move(result));
  host_.post(ticket);
}

BatchResult CpuBackend::take(Ticket ticket) {
  const auto found = std::find_if(results_.begin(), results_.end(),
                                  [&](const auto& entry) { return entry.first == ticket; });
  TICKERTAPE_ASSERT(found != results_.end());
  BatchResult result = std::move(found->second);
  results_.erase(found);
  return result;
}

void check_options(const DecoderSpec& spec, const BackendOptions& options) {
  static_cast<void>(choose_isa(options.cpu_isa));
  if (!std::has_single_bit(options.page_size) || options.page_size > 1024) {
    refuse("page_size",
           std::to_string(options.page_size) + " tokens; a power of two from 1 to 1024 is needed");
  }
  if (options.max_num_seqs == 0) refuse("max_num_seqs", "0; at least 1 is needed");
  if (options.max_num_batched_tokens == 0) {
    refuse("max_num_batched_tokens", "0; at least 1 is needed");
  }
  const PageLayout layout = page_layout_of(spec, options);
  if (num_pages_of(layout, options) == 0) {
    if (options.num_kv_pages) refuse("num_kv_pages", "0; at least 1 is needed");
    refuse("kv_cache_memory", bytes(options.kv_cache_memory) + " hold no page; a page of " +
                                  std::to_string(options.page_size) + " tokens takes " +
                                  bytes(layout.page_bytes()));
  }
}

std::unique_ptr<Backend> make_cpu_backend(std::shared_ptr<const DecoderSpec> spec,
                                          std::shared_ptr<const CpuWeights> weights,
                                          const BackendOptions& options, BackendHost& host,
                                          Parallel& parallel) {
  return std::make_unique<CpuBackend>(std::move(spec), std::move(weights), options, host, parallel);
}

}  // namespace tickertape::kernels::cpu
