// SamplingParams: how the next token is chosen from a row of logits.
#pragma once
#include <cstdint>
#include <optional>

namespace tickertape {

/// Settings of one request's sampling. Order of the filters: temperature, top_k, top_p, min_p (as
/// vLLM applies them). Random numbers are counter-based (Philox, Salmon et al. 2011), keyed by
/// (seed, choice, position), so a token never depends on the batch that it was computed in.
struct SamplingParams {
  double temperature = 1.0;  ///< 0 to 2; 0 takes the most likely token (lowest id of ties).
  double top_p = 1.0;        ///< 0 to 1: least set of tokens with this mass; 1 = off.
  std::int32_t top_k = 0;    ///< This many most likely tokens; 0 or -1 = off.
  double min_p = 0.0;        ///< 0 to 1: at least this fraction of the largest probability.
  std::optional<std::uint64_t> seed;  ///< Random, and reported, when absent.
  bool ignore_eos = false;            ///< Goes on after end tokens.

  /// Log-probabilities per token: -1 none, 0 the chosen token's, k also the k most likely ones.
  /// They are those of the model: before temperature and filters.
  std::int32_t logprobs = -1;
};

}  // namespace tickertape
