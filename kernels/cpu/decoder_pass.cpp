// The blocks of a decoder.
#include "kernels/cpu/decoder_pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tickertape/assert.hpp>

namespace tickertape::kernels::cpu {
namespace {

constexpr std::uint32_t kQueryTile = 16;     ///< Tokens that share one load of keys and values.
constexpr std::uint32_t kSplitByTokens = 8;  ///< Tokens per thread from which on tokens are split.
constexpr std::uint32_t kRowUnit = 4;        ///< Rows that kernels take at once.

}  // namespace

/// One thread's place in the team.
struct DecoderPass::Member {
  Parallel& parallel;
  unsigned index;
  unsigned num_members;
  std::uint32_t num_tokens;
  bool by_tokens;
  Share rows;  ///< Whose rows this member norms, rotates and quantises.

  /// Waits where the next step reads rows that other members made.
  void meet_unless_own_rows() const noexcept {
    if (!by_tokens) parallel.barrier();
  }
};

struct DecoderPass::AttentionScratch {
  AttentionScratch(std::uint32_t head_size, std::uint32_t group_size)
      : keys(kKeyBlock, head_size),
        values(kKeyBlock, head_size),
        sums(std::size_t{kQueryTile} * group_size, head_size),
        states(std::size_t{kQueryTile} * group_size) {}
  FloatRows keys;
  FloatRows values;
  FloatRows sums;
  std::vector<AttentionState> states;
};

DecoderPass::DecoderPass(const models::DecoderSpec& spec, const CpuWeights& weights,
                         const KernelTable& kernels, const KvPages& pages, std::uint32_t max_tokens,
                         unsigned num_threads)
    : spec_(spec),
      weights_(weights),
      kernels_(kernels),
      pages_(pages),
      states_(max_tokens, padded_stride(spec.embedding_size)),
      normed_(max_tokens, spec.embedding_size),
      query_key_value_(max_tokens,
                       padded_stride(weights.layers().front().query_key_value.num_columns())),
      attended_(max_tokens, spec.query_size()),
      gate_up_(max_tokens, padded_stride(weights.layers().front().gate_up.num_columns())),
      ffn_(max_tokens, spec.ffn_size),
      turns_(max_tokens, spec.rope.size) {
  const models::RopeSpec& rope = spec.rope;
  for (std::uint32_t i = 0; i < rope.size / 2; ++i) {
    const double divisor = rope.factors.empty() ? 1.0 : rope.factors[i];
    frequencies_.push_back(std::pow(rope.base, -2.0 * i / rope.size) * rope.position_scale /
                           divisor);
  }
  for (unsigned i = 0; i < num_threads; ++i) {
    attention_scratch_.emplace_back(spec.head_size, spec.num_heads / spec.num_kv_heads);
  }
}

DecoderPass::~DecoderPass() = default;

std::uint64_t DecoderPass::scratch_bytes(const models::DecoderSpec& spec, std::uint32_t max_tokens,
                                         unsigned num_threads) {
  const auto columns = [](std::uint64_t rows) {
    return (rows + kGroupRows - 1) / kGroupRows * kGroupRows;
  };
  const std::uint64_t heads = columns(spec.query_size()) + 2 * columns(spec.kv_size());
  const std::uint64_t attention =
      2 * FloatRows::bytes(kKeyBlock, spec.head_size) +
      FloatRows::bytes(std::uint64_t{kQueryTile} * (spec.num_heads / spec.num_kv_heads),
                       spec.head_size);
  return FloatRows::bytes(max_tokens, padded_stride(spec.embedding_size)) +
         ActivationRows::bytes(max_tokens, spec.embedding_size) +
         FloatRows::bytes(max_tokens, padded_stride(heads)) +
         ActivationRows::bytes(max_tokens, spec.query_size()) +
         FloatRows::bytes(max_tokens, padded_stride(2 * columns(spec.ffn_size))) +
         ActivationRows::bytes(max_tokens, spec.ffn_size) +
         FloatRows::bytes(max_tokens, spec.rope.size) + num_threads * attention;
}

bool DecoderPass::run(const PassSlice& slice, Parallel& parallel, BackendHost& host) {
  const unsigned num_members =
      std::min(parallel.num_members(), static_cast<unsigned>(attention_scratch_.size()));
  plan_attention(slice);
  abandoned_.store(false, std::memory_order_relaxed);
  next_item_[0].store(0, std::memory_order_relaxed);
  next_item_[1].store(0, std::memory_order_relaxed);
  auto body = [&](unsigned index, unsigned members) {
    work(slice, parallel, host, index, members);
  };
  parallel.run(num_members, body);
  return !abandoned_.load(std::memory_order_relaxed);
}

void DecoderPass::plan_attention(const PassSlice& slice) {
  const std::uint32_t group_size = spec_.num_heads / spec_.num_kv_heads;
  attention_items_.clear();
  for (std::uint32_t s = 0; s < slice.segments.size(); ++s) {
    const std::uint32_t count = slice.segments[s].num_tokens;
    for (std::uint32_t first = 0; first < count; first += kQueryTile) {
      for (std::uint32_t head = 0; head < spec_.num_heads; head += group_size) {
        attention_items_.push_back({s, first, std::min(kQueryTile, count - first), head});
      }
    }
  }
}

void DecoderPass::work(const PassSlice& slice, Parallel& parallel, BackendHost& host,
                       unsigned index, unsigned num_members) {
  const std::uint32_t num_tokens = slice.num_tokens();
  const bool by_tokens = num_members == 1 || num_tokens >= kSplitByTokens * num_members;
  const std::uint32_t unit = by_tokens ? kRowUnit : 1;
  const Member member{parallel,   index,     num_members,
                      num_tokens, by_tokens, share_of(num_tokens, unit, index, num_members)};
  embed(slice, member);
  for (std::uint32_t layer = 0; layer < weights_.layers().size(); ++layer) {
    if (index == 0) {
      host.beat();
      if (host.stop_requested()) abandoned_.store(true, std::memory_order_relaxed);
    }
    if (!attention_block(slice, member, layer)) return;
    ffn_block(member, layer);
  }
}

void DecoderPass::embed(const PassSlice& slice, const Member& member) {
  for (std::uint32_t token = member.rows.first; token < member.rows.end; ++token) {
    dequantise_row(weights_.embedding(), static_cast<std::uint32_t>(slice.ids[token]),
                   {states_.row(token), spec_.embedding_size});
    float* turns = turns_.row(token);
    for (std::size_t i = 0; i < frequencies_.size(); ++i) {
      const double angle = slice.positions[token] * frequencies_[i];
      turns[2 * i] = static_cast<float>(std::cos(angle));
      turns[2 * i + 1] = static_cast<float>(std::sin(angle));
    }
  }
}

bool DecoderPass::attention_block(const PassSlice& slice, const Member& member,
                                  std::uint32_t layer) {
  const LayerWeights& weights = weights_.layers()[layer];
  norm_rows(member, weights.attention_norm, weights.query_key_value);
  multiply(member, weights.query_key_value, normed_, query_key_value_, false);
  write_pages(slice, member, layer);
  if (member.index == 0) next_item_[(layer + 1) % 2].store(0, std::memory_order_relaxed);
  member.parallel.barrier();  // attention reads keys and values that other members wrote
  // Member 0 cannot come to the next layer, and change the flag, before all are past the next
  // barrier: so all see the same.
  const bool abandoned = abandoned_.load(std::memory_order_relaxed);
  if (!abandoned) attend(slice, member, layer);
  member.parallel.barrier();
  if (abandoned) return false;
  for (std::uint32_t token = member.rows.first; token < member.rows.end; ++token) {
    attended_.quantise_for(weights.attention_output, kernels_, token);
  }
  member.meet_unless_own_rows();
  multiply(member, weights.attention_output, attended_, states_, true);
  return true;
}

void DecoderPass::ffn_block(const Member& member, std::uint32_t layer) {
  const LayerWeights& weights = weights_.layers()[layer];
  norm_rows(member, weights.ffn_norm, weights.gate_up);
  multiply(member, weights.gate_up, normed_, gate_up_, false);
  const std::uint32_t up = weights.gate_up.first_column(1);
  for (std::uint32_t token = member.rows.first; token < member.rows.end; ++token) {
    const float* both = gate_up_.row(token);
    kernels_.swiglu(both, both + up, spec_.ffn_size, ffn_.row(token));
    ffn_.quantise_for(weights.down, kernels_, token);
  }
  member.meet_unless_own_rows();
  multiply(member, weights.down, ffn_, states_, true);
}

void DecoderPass::norm_rows(const Member& member, std::span<const float> weight,
                            const FusedMatrix& next) {
  for (std::uint32_t token = member.rows.first; token < member.rows.end; ++token) {
    kernels_.rms_norm(states_.row(token), weight.data(), spec_.norm_epsilon, spec_.embedding_size,
                      normed_.row(token));
    normed_.quantise_for(next, kernels_, token);
  }
  member.meet_unless_own_rows();
}

void DecoderPass::multiply(const Member& member, const FusedMatrix& matrix,
                           const ActivationRows& from, const FloatRows& to, bool add) {
  const std::uint32_t num_groups = matrix.num_groups();
  if (member.by_tokens) {
    multiply_rows(matrix, kernels_, from, to, member.rows.first, member.rows.end, 0, num_groups,
                  add);
    return;
  }
  const Share groups = share_of(num_groups, 1, member.index, member.num_members);
  multiply_rows(matrix, kernels_, from, to, 0, member.num_tokens, groups.first, groups.end, add);
  member.parallel.barrier();
}

void DecoderPass::rotate(float* head, const float* turns) const {
  for (std::uint32_t i = 0; i < spec_.rope.size; i += 2) {
    const float x = head[i];
    const float y = head[i + 1];
    head[i] = x * turns[i] - y * turns[i + 1];
    head[i + 1] = x * turns[i + 1] + y * turns[i];
  }
}

void DecoderPass::write_pages(const PassSlice& slice, const Member& member, std::uint32_t layer) {
  const FusedMatrix& matrix = weights_.layers()[layer].query_key_value;
  const PageLayout& layout = pages_.layout();
  const std::uint32_t size = spec_.head_size;
  const std::size_t token_bytes = size * kv_type_bytes(layout.type);
  const float scale = 1.0F / std::sqrt(static_cast<float>(size));
  for (const Segment& segment : slice.segments) {
    const std::uint32_t first = std::max(segment.first_token, member.rows.first);
    const std::uint32_t end = std::min(segment.first_token + segment.num_tokens, member.rows.end);
    for (std::uint32_t token = first; token < end; ++token) {
      float* query = query_key_value_.row(token);
      float* key = query + matrix.first_column(1);
      const float* value = query + matrix.first_column(2);
      for (std::uint32_t h = 0; h < spec_.num_heads; ++h)
        rotate(query + h * size, turns_.row(token));
      for (std::uint32_t i = 0; i < spec_.query_size(); ++i) query[i] *= scale;
      const std::uint32_t position = slice.positions[token];
      const PageId page = segment.pages[position / layout.page_size];
      const std::size_t place = position % layout.page_size * token_bytes;
      for (std::uint32_t h = 0; h < spec_.num_kv_heads; ++h) {
        rotate(key + h * size, turns_.row(token));
        std::byte* keys = pages_.keys(page, layer, h);
        kernels_.store_kv(layout.type, key + h * size, size, keys + place);
        kernels_.store_kv(layout.type, value + h * size, size, keys + layout.part_bytes() + place);
      }
    }
  }
}

void DecoderPass::attend(const PassSlice& slice, const Member& member, std::uint32_t layer) {
  std::atomic<std::uint32_t>& next = next_item_[layer % 2];
  AttentionScratch& scratch = attention_scratch_[member.index];
  for (;;) {
    const std::uint32_t item = next.fetch_add(1, std::memory_order_relaxed);
    if (item >= attention_items_.size()) return;
    attend_item(slice, attention_items_[item], layer, scratch);
  }
}

void DecoderPass::load_keys(const Segment& segment, std::uint32_t layer, std::uint32_t kv_head,
                            std::uint32_t first, std::uint32_t count,
                            AttentionScratch& scratch) const {
  const PageLayout& layout = pages_.layout();
  const std::size_t token_bytes = spec_.head_size * kv_type_bytes(layout.type);
  for (std::uint32_t done = 0; done < count;) {
    const std::uint32_t position = first + done;
    const std::uint32_t offset = position % layout.page_size;
    const std::uint32_t run = std::min(layout.page_size - offset, count - done);
    const std::byte* keys =
        pages_.keys(segment.pages[position / layout.page_size], layer, kv_head) +
        offset * token_bytes;
    const std::uint32_t numbers = run * spec_.head_size;
    kernels_.load_kv(layout.type, keys, numbers, scratch.keys.row(done));
    kernels_.load_kv(layout.type, keys + layout.part_bytes(), numbers, scratch.values.row(done));
    done += run;
  }
}

void DecoderPass::attend_item(const PassSlice& slice, const AttentionItem& item,
                              std::uint32_t layer, AttentionScratch& scratch) {
  const Segment& segment = slice.segments[item.segment];
  const std::uint32_t size = spec_.head_size;
  const std::uint32_t group_size = spec_.num_heads / spec_.num_kv_heads;
  const std::uint32_t kv_head = item.first_head / group_size;
  const std::uint32_t num_queries = item.num_tokens * group_size;
  for (std::uint32_t i = 0; i < num_queries; ++i) {
    scratch.states[i] = {-std::numeric_limits<float>::infinity(), 0.0F, scratch.sums.row(i)};
    std::fill_n(scratch.sums.row(i), size, 0.0F);
  }
  const std::uint32_t first_position = segment.first_position + item.first_token;
  const std::uint32_t end_position = first_position + item.num_tokens;
  AttentionStep step;
  step.keys = scratch.keys.row(0);
  step.values = scratch.values.row(0);
  step.head_size = size;
  for (std::uint32_t start = 0; start < end_position; start += kKeyBlock) {
    load_keys(segment, layer, kv_head, start, std::min(kKeyBlock, end_position - start), scratch);
    for (std::uint32_t i = 0; i < num_queries; ++i) {
      const std::uint32_t token = i / group_size;
      if (first_position + token < start) continue;
      step.count = std::min(kKeyBlock, first_position + token - start + 1);
      step.query = query_key_value_.row(segment.first_token + item.first_token + token) +
                   std::size_t{item.first_head + i % group_size} * size;
      kernels_.attend(step, scratch.states[i]);
    }
  }
  for (std::uint32_t i = 0; i < num_queries; ++i) {
    const std::uint32_t token = segment.first_token + item.first_token + i / group_size;
    float* out = attended_.row(token) + std::size_t{item.first_head + i % group_size} * size;
    const float factor = 1.0F / scratch.states[i].sum;
    for (std::uint32_t d = 0; d < size; ++d) out[d] = scratch.sums.row(i)[d] * factor;
  }
}

}  // namespace tickertape::kernels::cpu
