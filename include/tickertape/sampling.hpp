// SamplingParams: how a request's tokens are chosen.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <tickertape/tokenizer.hpp>

namespace tickertape {

/// What is added to a token's logit.
struct LogitBias {
  TokenId token = 0;
  float bias = 0;  ///< -100 to 100.
  friend bool operator==(const LogitBias&, const LogitBias&) = default;
};

/// Settings of one request's sampling. A row of logits goes through, in this order:
///
///   1. allowed_token_ids, and before min_tokens the end and stop tokens: others become impossible;
///   2. logit_bias;
///   3. the request's LogitProcessor;
///   4. repetition_penalty, then frequency_penalty and presence_penalty;
///   5. temperature, top_k, typical_p, top_p, min_p: each looks at what the one before left.
///
/// (vLLM's order, where it has the setting.) Reported log-probabilities are those after step 4:
/// of the distribution that the request asked for, before temperature and filters. Random numbers
/// are counter-based (Philox, Salmon et al. 2011), keyed by (seed, choice, position), so a token
/// never depends on the batch that it was computed in.
struct SamplingParams {
  double temperature = 1.0;  ///< 0 to 2; 0 takes the most likely token (lowest id of ties).
  double top_p = 1.0;        ///< 0 to 1: least set of tokens with this mass; 1 = off.
  std::int32_t top_k = 0;    ///< This many most likely tokens; 0 or -1 = off.
  double min_p = 0.0;        ///< 0 to 1: at least this fraction of the largest probability.

  /// 0 to 1; 1 = off. Least set with this mass, taken by how near a token's surprise is to the
  /// distribution's entropy (locally typical sampling, Meister et al. 2023).
  double typical_p = 1.0;

  /// More than 0, at most 10; 1 = off. Logits of tokens that stand in the prompt or were generated:
  /// divided by it when positive, multiplied when negative (Keskar et al. 2019).
  double repetition_penalty = 1.0;
  double frequency_penalty = 0.0;  ///< -2 to 2: taken off once per time the token was generated.
  double presence_penalty = 0.0;   ///< -2 to 2: taken off when the token was generated at all.

  std::vector<LogitBias> logit_bias;       ///< Each token at most once.
  std::vector<TokenId> allowed_token_ids;  ///< Only these; empty = all.

  std::vector<TokenId> stop_token_ids;  ///< End a generation like the model's end tokens.
  bool ignore_eos = false;              ///< Goes on after the model's end tokens.
  std::uint32_t min_tokens = 0;  ///< Before so many, no end or stop token, and no stop string.

  std::optional<std::uint64_t> seed;  ///< Random, and reported, when absent.

  /// Log-probabilities per token: -1 none, 0 the chosen token's, k also the k most likely ones.
  std::int32_t logprobs = -1;
};

}  // namespace tickertape
