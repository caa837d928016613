// ChoiceText: the tokens of one choice into text, up to a stop string.
#include "actors/choice_text.hpp"

namespace tickertape::actors {

ChoiceText::ChoiceText(const std::shared_ptr<const Tokenizer>& tokenizer, const TextRules& rules)
    : include_stop_(rules.include_stop), min_tokens_(rules.min_tokens) {
  if (tokenizer) detokenizer_.emplace(tokenizer);
  if (tokenizer && rules.stops) matcher_.emplace(rules.stops);
}

std::string ChoiceText::push(TokenId id, bool is_last, bool is_stop) {
  if (!detokenizer_) return {};
  ++num_tokens_;
  std::string text;
  if (!is_stop || include_stop_) text = detokenizer_->push(id);
  if (!matcher_) return text;
  // Text of the first min_tokens tokens is no part of a stop string (as vLLM has it).
  if (num_tokens_ > min_tokens_) text = matcher_->push(text, include_stop_);
  if (is_last && stopped_by() == nullptr) text += matcher_->flush();
  return text;
}

}  // namespace tickertape::actors
