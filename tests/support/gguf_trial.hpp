// What becomes of a patched model file: refused with a message, or usable.
#pragma once
#include <algorithm>
#include <string>

#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>

#include "tests/support/sequence_runner.hpp"
#include "tests/support/tiny_llama.hpp"

namespace tickertape::test {

/// The message with which the file is refused; "" when it is accepted and generates tokens of its
/// vocabulary. Errors of other kinds pass through.
inline std::string outcome_of(const TinyLlama& llama) {
  std::shared_ptr<const Model> model;
  try {
    model = load_tiny_llama(llama);
  } catch (const Error& error) {
    if (error.info().code != Errc::invalid_model) throw;
    return error.what();
  }
  Prompt prompt;
  prompt.ids = {5, 3, 8, 1, 2};
  prompt.sampling.temperature = 0;
  const auto transcripts = SequenceRunner(*model, {}, {}).run({prompt});
  for (const TokenId token : transcripts.front().tokens) {
    const bool known = token >= 0 && static_cast<std::uint32_t>(token) < model->info().vocab_size;
    if (!known) return "a token outside of the vocabulary was generated";
  }
  return transcripts.front().tokens.size() == prompt.num_new ? "" : "too few tokens";
}

}  // namespace tickertape::test
