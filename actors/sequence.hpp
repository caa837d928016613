// Sequence: one token history with its settings, as the lane's actors hand it around.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tickertape/logit_processor.hpp>
#include <tickertape/sampling.hpp>
#include <tickertape/tokenizer.hpp>

#include "actors/plan.hpp"

namespace tickertape::actors {

class Stream;

/// Owned by the lane; at any time either the allocator or the stepper works with it. Plans speak of
/// it by id; the tokens are only here.
struct Sequence {
  SequenceId id = 0;
  std::vector<TokenId> tokens;  ///< Prompt, then what was generated.
  std::uint32_t prompt_length = 0;
  std::uint32_t max_tokens = 0;  ///< Prompt and generated together, at most.
  SamplingParams sampling;       ///< stop_token_ids sorted.
  std::shared_ptr<const LogitProcessor> logit_processor;
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;
  std::int32_t prompt_logprobs = -1;
  std::shared_ptr<Stream> stream;
  std::string cache_salt;            ///< Prefixes are shared within one salt only.
  std::vector<PageName> page_names;  ///< Of its full pages; the allocator's.

  bool queued = true;               ///< Never admitted yet: it counts in the queue at the door.
  std::uint32_t queued_tokens = 0;  ///< Prompt tokens that it counts for there.
  bool counted = false;             ///< Its end is in the counters.
  bool ended = false;               ///< Its end was delivered.
  std::uint32_t ticks = 0;
};

}  // namespace tickertape::actors
