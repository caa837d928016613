// The law of the paged fake, and its oracle.
#include "kernels/fake/fake_law.hpp"

#include <algorithm>
#include <limits>

namespace tickertape {
namespace kernels::fake {
namespace {

[[nodiscard]] double uniform_of(std::uint64_t word) noexcept {
  return static_cast<double>(word >> 11) * 0x1p-53;
}

[[nodiscard]] bool is_possible(const FakeBounds& bounds, std::uint32_t id) noexcept {
  const auto mask = bounds.mask;
  if (!mask.empty() && (id / 64 >= mask.size() || ((mask[id / 64] >> (id % 64)) & 1) == 0)) {
    return false;
  }
  return std::find(bounds.suppressed.begin(), bounds.suppressed.end(), static_cast<TokenId>(id)) ==
         bounds.suppressed.end();
}

}  // namespace

TokenId FakeLaw::token_of(std::uint64_t word) const noexcept {
  if (uniform_of(word) < end_probability_) return kEndToken;
  return static_cast<TokenId>(1 + HistoryHash::mix(word) % (vocab_size_ - 1));
}

FakeSample FakeLaw::sample(HistoryHash history, const FakeDraw& draw,
                           const FakeBounds& bounds) const noexcept {
  std::uint64_t word = HistoryHash::mix(history.value());
  if (draw.temperature > 0) {
    for (const std::uint64_t part : {draw.seed, std::uint64_t{draw.choice}, draw.position}) {
      word = HistoryHash::mix(word ^ HistoryHash::mix(part));
    }
  }
  if (uniform_of(HistoryHash::mix(~word)) < nan_probability_) return {-1, true};
  const TokenId token = token_of(word);
  for (std::uint32_t step = 0; step < vocab_size_; ++step) {
    const std::uint32_t id = (static_cast<std::uint32_t>(token) + step) % vocab_size_;
    if (is_possible(bounds, id)) return {static_cast<TokenId>(id), false};
  }
  return {-1, false};
}

std::vector<float> FakeLaw::logits(TokenId token, const FakeBounds& bounds) const {
  std::vector<float> logits(vocab_size_, -std::numeric_limits<float>::infinity());
  for (std::uint32_t rank = 0; rank < vocab_size_; ++rank) {
    const std::uint32_t id = (static_cast<std::uint32_t>(token) + rank) % vocab_size_;
    if (is_possible(bounds, id)) logits[id] = -0.5F * static_cast<float>(rank);
  }
  return logits;
}

TokenId FakeLaw::best(HistoryHash history) const noexcept {
  return token_of(HistoryHash::mix(history.value()));
}

float FakeLaw::logprob(HistoryHash history, TokenId token) const noexcept {
  const auto rank =
      static_cast<std::uint32_t>(token) + vocab_size_ - static_cast<std::uint32_t>(best(history));
  const double first = -0.25 - uniform_of(HistoryHash::mix(history.value() + 1));
  return std::max(static_cast<float>(first - 0.5 * (rank % vocab_size_)), kLogprobFloor);
}

}  // namespace kernels::fake

std::vector<TokenId> paged_fake_expected(std::span<const TokenId> prompt,
                                         const SamplingParams& params, std::uint64_t seed,
                                         std::uint32_t choice, std::uint32_t max_tokens,
                                         const PagedFakeOptions& options) {
  const kernels::fake::FakeLaw law(options);
  kernels::fake::HistoryHash history;
  for (const TokenId id : prompt) history.push(id);
  std::vector<TokenId> tokens;
  std::vector<TokenId> ends = params.stop_token_ids;
  ends.push_back(kernels::fake::FakeLaw::kEndToken);
  const auto ends_at = [&](TokenId token) {
    const std::span possible(ends.data(), ends.size() - (params.ignore_eos ? 1 : 0));
    return std::find(possible.begin(), possible.end(), token) != possible.end();
  };
  while (tokens.size() < max_tokens) {
    const std::uint64_t position = prompt.size() + tokens.size() - 1;
    kernels::fake::FakeBounds bounds;
    if (tokens.size() < params.min_tokens) bounds.suppressed = ends;
    const auto sample = law.sample(history, {params.temperature, seed, choice, position}, bounds);
    if (sample.token < 0) break;
    tokens.push_back(sample.token);
    history.push(sample.token);
    if (ends_at(sample.token)) break;
  }
  return tokens;
}

float paged_fake_logprob(std::span<const TokenId> history, TokenId token,
                         const PagedFakeOptions& options) {
  kernels::fake::HistoryHash hash;
  for (const TokenId id : history) hash.push(id);
  return kernels::fake::FakeLaw(options).logprob(hash, token);
}

}  // namespace tickertape
