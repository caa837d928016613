// The law of the paged fake, and its oracle.
#include "kernels/fake/fake_law.hpp"

#include <algorithm>

namespace tickertape {
namespace kernels::fake {
namespace {

[[nodiscard]] double uniform_of(std::uint64_t word) noexcept {
  return static_cast<double>(word >> 11) * 0x1p-53;
}

[[nodiscard]] bool is_allowed(std::span<const std::uint64_t> mask, std::uint32_t id) noexcept {
  return id / 64 < mask.size() && ((mask[id / 64] >> (id % 64)) & 1) != 0;
}

}  // namespace

TokenId FakeLaw::token_of(std::uint64_t word) const noexcept {
  if (uniform_of(word) < end_probability_) return kEndToken;
  return static_cast<TokenId>(1 + HistoryHash::mix(word) % (vocab_size_ - 1));
}

FakeSample FakeLaw::sample(HistoryHash history, const FakeDraw& draw,
                           std::span<const std::uint64_t> mask) const noexcept {
  std::uint64_t word = HistoryHash::mix(history.value());
  if (draw.temperature > 0) {
    for (const std::uint64_t part : {draw.seed, std::uint64_t{draw.choice}, draw.position}) {
      word = HistoryHash::mix(word ^ HistoryHash::mix(part));
    }
  }
  if (uniform_of(HistoryHash::mix(~word)) < nan_probability_) return {-1, true};
  const TokenId token = token_of(word);
  if (mask.empty()) return {token, false};
  // The next allowed id, wrapping around.
  for (std::uint32_t step = 0; step < vocab_size_; ++step) {
    const std::uint32_t id = (static_cast<std::uint32_t>(token) + step) % vocab_size_;
    if (is_allowed(mask, id)) return {static_cast<TokenId>(id), false};
  }
  return {-1, true};
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
  while (tokens.size() < max_tokens) {
    const std::uint64_t position = prompt.size() + tokens.size() - 1;
    const auto sample = law.sample(history, {params.temperature, seed, choice, position});
    if (sample.bad_numbers) break;
    tokens.push_back(sample.token);
    history.push(sample.token);
    if (sample.token == kernels::fake::FakeLaw::kEndToken && !params.ignore_eos) break;
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
