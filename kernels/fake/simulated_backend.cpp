// SimulatedBackend: passes that take time and compute nothing.
#include "kernels/fake/simulated_backend.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <tickertape/assert.hpp>
#include <tickertape/errors.hpp>

#include "kernels/fake/fake_logprobs.hpp"
#include "kernels/fake/fixed_point.hpp"

namespace tickertape::kernels::fake {
namespace {

constexpr TokenId kEnd = 0;  // FakeTokenizer's.

[[noreturn]] void refuse(const std::string& param, const std::string& what) {
  throw Error(ErrorInfo{Errc::invalid_request, param + " " + what, param, 0});
}

std::uint32_t bytes_of(KvCacheType type) {
  return type == KvCacheType::f32 ? 4 : 2;
}

BackendInfo make_info(const SimulatedOptions& options, const BackendOptions& backend) {
  constexpr std::uint32_t kMaxPageSize = 1024;
  constexpr std::uint64_t kDefaultSwapSpace = 1ULL << 30;
  if (!std::has_single_bit(backend.page_size) || backend.page_size > kMaxPageSize) {
    refuse("page_size", "must be a power of two from 1 to 1024");
  }
  const std::uint64_t page_bytes =
      options.shape.kv_bytes_per_token(bytes_of(backend.kv_cache_type)) * backend.page_size;
  BackendInfo info;
  info.name = "simulated";
  info.device = options.device.name + ", " + options.shape.name;
  info.asynchronous = true;
  info.page_size = backend.page_size;
  info.num_pages = backend.num_kv_pages.value_or(static_cast<std::uint32_t>(std::min<std::uint64_t>(
      backend.kv_cache_memory / page_bytes, std::numeric_limits<std::uint32_t>::max())));
  if (info.num_pages == 0) {
    refuse("kv_cache_memory",
           "must hold at least one page of " + std::to_string(page_bytes) + " bytes");
  }
  info.num_host_pages = backend.num_host_pages.value_or(
      static_cast<std::uint32_t>(backend.swap_space.value_or(kDefaultSwapSpace) / page_bytes));
  info.vocab_size = options.shape.vocab_size;
  info.embedding_size = options.shape.hidden_size;
  info.groups = {LayerGroup{options.shape.num_layers, 0, static_cast<std::size_t>(page_bytes)}};
  return info;
}

}  // namespace

SimulatedBackend::SimulatedBackend(const SimulatedOptions& options,
                                   const BackendOptions& backend_options, BackendHost& host)
    : host_(host),
      info_(make_info(options, backend_options)),
      timer_(options.device, options.shape, bytes_of(backend_options.kv_cache_type)),
      completions_(host),
      slots_(backend_options.max_num_seqs),
      page_ready_ns_(info_.num_pages, 0) {}

void SimulatedBackend::forward(Ticket ticket, const Batch& batch) {
  host_.beat();
  for (const OpenedSlot& opened : batch.opened) {
    TICKERTAPE_ASSERT(opened.slot < slots_.size());
    Slot& slot = slots_[opened.slot];
    slot.seed = opened.seed;
    slot.prompt_length = opened.prompt_length;
    slot.output_tokens = simulated_output_tokens(opened.seed, opened.choice);
    slot.min_tokens = opened.sampling.min_tokens;
  }
  BatchResult result;
  if (host_.stop_requested()) {
    result.status = PassStatus::abandoned;
    completions_.post(ticket, std::move(result));
    return;
  }
  result.rows.reserve(batch.rows.size());
  result.tokens.reserve(batch.rows.size());
  for (const Row& row : batch.rows) run_row(row, batch, result);
  device_busy_until_ns_ = start_of(batch) + timer_.pass_ns(batch);
  completions_.keep(ticket, std::move(result));
  host_.post_at(ticket, device_busy_until_ns_);
}

std::int64_t SimulatedBackend::start_of(const Batch& batch) const {
  std::int64_t start_ns = std::max(host_.now(), device_busy_until_ns_);
  if (link_busy_until_ns_ <= start_ns) return start_ns;
  for (const PageId page : batch.page_tables.front().pages) {
    start_ns = std::max(start_ns, page_ready_ns_[page]);
  }
  return start_ns;
}

TokenId SimulatedBackend::token_after(const Slot& slot, std::uint32_t position) const noexcept {
  const std::uint32_t place = std::max(position + 1, slot.prompt_length) - slot.prompt_length;
  if (place == std::max(slot.output_tokens - 1, slot.min_tokens)) return kEnd;
  // The byte n has the id n + 1. A blank after every few letters, so that it looks like words.
  const std::uint64_t random = random_at(slot.seed, 0, position);
  constexpr std::uint32_t kLetters = 26;
  const std::uint32_t letter = below(random, kLetters + 5);
  return static_cast<TokenId>(1 + (letter < kLetters ? 'a' + letter : ' '));
}

void SimulatedBackend::run_row(const Row& row, const Batch& batch, BatchResult& result) const {
  TICKERTAPE_ASSERT(row.slot < slots_.size() && row.num_outputs <= row.num_tokens);
  const Slot& slot = slots_[row.slot];
  RowResult& out = result.rows.emplace_back();
  out.first_token = static_cast<std::uint32_t>(result.tokens.size());
  out.first_logprob = static_cast<std::uint32_t>(result.logprobs.size());
  out.first_hidden = static_cast<std::uint32_t>(result.hidden.size());
  const std::uint32_t num_outputs = row.output == RowOutput::none ? 0 : row.num_outputs;
  for (std::uint32_t i = row.num_tokens - num_outputs; i < row.num_tokens; ++i) {
    if (row.output == RowOutput::hidden) {
      result.hidden.resize(result.hidden.size() + info_.embedding_size, 0);
      continue;
    }
    TokenId token = row.output == RowOutput::all_logprobs ? batch.ids[row.first_id + i + 1] : -1;
    if (token < 0) {
      token = token_after(slot, row.first_position + i);
      result.tokens.push_back(token);
      ++out.num_tokens;
    }
    if (row.num_logprobs >= 0 || row.output == RowOutput::all_logprobs) {
      push_logprobs(row, token, kLogOfNineTenths, info_.vocab_size, result);
      ++out.num_logprobs;
    }
  }
}

void SimulatedBackend::copy_pages(Ticket ticket, std::span<const PageMove> moves) {
  const std::int64_t start_ns = std::max({host_.now(), device_busy_until_ns_, link_busy_until_ns_});
  device_busy_until_ns_ =
      start_ns + timer_.copy_ns(moves.size() * info_.groups.front().bytes_per_page);
  completions_.keep(ticket, {});
  host_.post_at(ticket, device_busy_until_ns_);
}

void SimulatedBackend::swap_out(Ticket ticket, std::span<const PageMove> moves) {
  use_link(ticket, moves, &PageMove::from);
}

void SimulatedBackend::swap_in(Ticket ticket, std::span<const PageMove> moves) {
  use_link(ticket, moves, &PageMove::to);
}

void SimulatedBackend::use_link(Ticket ticket, std::span<const PageMove> moves,
                                PageId PageMove::* device_page) {
  const std::int64_t start_ns = std::max({host_.now(), device_busy_until_ns_, link_busy_until_ns_});
  link_busy_until_ns_ =
      start_ns + timer_.link_ns(moves.size() * info_.groups.front().bytes_per_page);
  for (const PageMove& move : moves) page_ready_ns_[move.*device_page] = link_busy_until_ns_;
  completions_.keep(ticket, {});
  host_.post_at(ticket, link_busy_until_ns_);
}

BatchResult SimulatedBackend::take(Ticket ticket) {
  BatchResult result;
  const bool found = completions_.take(ticket, result);
  TICKERTAPE_ASSERT(found);
  return result;
}

}  // namespace tickertape::kernels::fake
