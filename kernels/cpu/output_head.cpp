// Logits, sampling and the assembly of a pass's result.
#include "kernels/cpu/output_head.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <tickertape/assert.hpp>
#include <utility>

namespace tickertape::kernels::cpu {
namespace {

constexpr std::uint32_t kTilePositions = 32;  ///< Positions whose logits exist at the same time.

bool wants_logprobs(const Row& row) noexcept {
  return row.output == RowOutput::all_logprobs ||
         (row.output == RowOutput::sample && row.num_logprobs >= 0);
}

}  // namespace

OutputHead::OutputHead(const models::DecoderSpec& spec, const CpuWeights& weights,
                       const KernelTable& kernels, unsigned num_threads)
    : spec_(spec),
      weights_(weights),
      kernels_(kernels),
      normed_(kTilePositions, spec.embedding_size),
      logits_(kTilePositions, padded_stride(spec.vocab_size)),
      scratch_(num_threads) {}

std::uint64_t OutputHead::scratch_bytes(const models::DecoderSpec& spec, unsigned num_threads) {
  // Per token of the vocabulary at most: see sampling::SamplerScratch.
  constexpr std::uint64_t kSamplingBytes = 3 * sizeof(float) + sizeof(sampling::Candidate);
  return ActivationRows::bytes(kTilePositions, spec.embedding_size) +
         FloatRows::bytes(kTilePositions, padded_stride(spec.vocab_size)) +
         num_threads * kSamplingBytes * spec.num_tokens;
}

void OutputHead::begin(const Batch& batch, const Slots& slots) {
  batch_ = &batch;
  slots_ = &slots;
  first_output_.clear();
  first_hidden_.clear();
  std::size_t num_outputs = 0;
  std::size_t num_hidden = 0;
  for (const Row& row : batch.rows) {
    first_output_.push_back(num_outputs);
    first_hidden_.push_back(num_hidden);
    if (row.output == RowOutput::none) continue;
    num_outputs += row.num_outputs;
    if (row.output == RowOutput::hidden) {
      num_hidden += std::size_t{row.num_outputs} * spec_.embedding_size;
    }
  }
  outputs_.assign(num_outputs, {});
  hidden_.assign(num_hidden, 0.0F);
  out_of_memory_.store(false, std::memory_order_relaxed);
}

void OutputHead::add(const PassSlice& slice, const DecoderPass& pass, Parallel& parallel) {
  std::span<const OutputPosition> left = slice.outputs;
  const auto limit = static_cast<unsigned>(scratch_.size());
  while (!left.empty()) {
    const auto tile = left.first(std::min<std::size_t>(left.size(), kTilePositions));
    auto body = [&](unsigned index, unsigned num_members) {
      compute_tile(slice, tile, pass, parallel, index, num_members);
    };
    parallel.run(limit, body);
    left = left.subspan(tile.size());
  }
  if (out_of_memory_.load(std::memory_order_relaxed)) throw std::bad_alloc();
}

void OutputHead::compute_tile(const PassSlice&, std::span<const OutputPosition> outputs,
                              const DecoderPass& pass, Parallel& parallel, unsigned index,
                              unsigned num_members) {
  const auto count = static_cast<std::uint32_t>(outputs.size());
  const Share own = share_of(count, 1, index, num_members);
  const FusedMatrix& matrix = weights_.output();
  for (std::uint32_t i = own.first; i < own.end; ++i) {
    kernels_.rms_norm(pass.state(outputs[i].token).data(), weights_.output_norm().data(),
                      spec_.norm_epsilon, spec_.embedding_size, normed_.row(i));
    normed_.quantise_for(matrix, kernels_, i);
  }
  parallel.barrier();
  // Rows of the matrix past the last token are padding: nobody reads their logits.
  const std::uint32_t num_groups = (spec_.num_tokens + kGroupRows - 1) / kGroupRows;
  const Share groups = share_of(num_groups, 1, index, num_members);
  multiply_rows(matrix, kernels_, normed_, logits_, 0, count, groups.first, groups.end, false);
  parallel.barrier();
  for (std::uint32_t i = own.first; i < own.end; ++i) {
    try {
      if (batch_->rows[outputs[i].row].output == RowOutput::hidden) {
        fill_hidden(outputs[i], i);
      } else {
        fill_output(outputs[i], i, scratch_[index]);
      }
    } catch (const std::bad_alloc&) {
      out_of_memory_.store(true, std::memory_order_relaxed);
    }
  }
}

void OutputHead::fill_hidden(const OutputPosition& place, std::uint32_t tile_row) {
  const std::span<const float> state(normed_.row(tile_row), spec_.embedding_size);
  output(place).bad_numbers =
      !std::all_of(state.begin(), state.end(), [](float x) { return std::isfinite(x); });
  std::copy(state.begin(), state.end(),
            hidden_.begin() +
                static_cast<std::ptrdiff_t>(first_hidden_[place.row] +
                                            std::size_t{place.index} * spec_.embedding_size));
}

void OutputHead::fill_output(const OutputPosition& place, std::uint32_t tile_row,
                             sampling::SamplerScratch& scratch) {
  const Row& row = batch_->rows[place.row];
  Output& to = output(place);
  std::span<const float> logits(logits_.row(tile_row), logits_.stride());
  const std::uint32_t in_row = row.num_tokens - row.num_outputs + place.index;
  TokenId next = -1;
  if (row.output == RowOutput::all_logprobs) {
    next = batch_->ids[std::size_t{row.first_id} + in_row + 1];
  }
  if (next < 0) {
    std::span<const std::uint64_t> mask;
    if (row.mask >= 0) mask = batch_->masks[static_cast<std::size_t>(row.mask)];
    const std::uint32_t num_known = row.first_position + in_row + 1;
    sampling::RowSample sample = sampling::sample_row(logits, spec_.num_tokens, (*slots_)[row.slot],
                                                      num_known, mask, scratch);
    to.bad_numbers = sample.bad_numbers;
    to.fault = std::move(sample.fault);
    to.sampled = next = sample.token;
    logits = sample.logits;
  } else {
    to.bad_numbers = sampling::has_bad_numbers(logits, spec_.num_tokens);
  }
  if (to.fails() || !wants_logprobs(row)) return;
  sampling::position_logprobs(logits, spec_.num_tokens, next, std::max(row.num_logprobs, 0),
                              scratch, to.logprobs, to.top);
}

BatchResult OutputHead::finish() {
  BatchResult result;
  result.rows.resize(batch_->rows.size());
  for (std::size_t row = 0; row < batch_->rows.size(); ++row) add_row(row, result);
  result.hidden = std::move(hidden_);
  return result;
}

void OutputHead::add_row(std::size_t row_index, BatchResult& result) const {
  const Row& row = batch_->rows[row_index];
  RowResult& to = result.rows[row_index];
  to.first_token = static_cast<std::uint32_t>(result.tokens.size());
  to.first_logprob = static_cast<std::uint32_t>(result.logprobs.size());
  to.first_hidden = static_cast<std::uint32_t>(first_hidden_[row_index]);
  if (row.output == RowOutput::none) return;
  const std::span outputs(outputs_.data() + first_output_[row_index], row.num_outputs);
  const auto failed = std::find_if(outputs.begin(), outputs.end(),
                                   [](const Output& output) { return output.fails(); });
  if (failed != outputs.end()) {
    to.bad_numbers = failed->bad_numbers;
    to.fault = failed->fault;
    return;
  }
  for (const Output& output : outputs) {
    if (output.sampled >= 0) {
      result.tokens.push_back(output.sampled);
      ++to.num_tokens;
    }
    if (!wants_logprobs(row)) continue;
    PositionLogprobs logprobs = output.logprobs;
    logprobs.first_top = static_cast<std::uint32_t>(result.top.size());
    result.logprobs.push_back(logprobs);
    result.top.insert(result.top.end(), output.top.begin(), output.top.end());
    ++to.num_logprobs;
  }
}

}  // namespace tickertape::kernels::cpu
