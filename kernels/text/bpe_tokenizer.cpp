// BpeTokenizer: special tokens, words, merges.
#include "kernels/text/bpe_tokenizer.hpp"

#include <limits>
#include <string>
#include <utility>

#include <tickertape/assert.hpp>
#include <tickertape/errors.hpp>

namespace tickertape::kernels::text {

BpeTokenizer::BpeTokenizer(Parts parts) : parts_(std::move(parts)) {
  TICKERTAPE_ASSERT(parts_.pre_tokenizer != nullptr);
}

std::vector<TokenId> BpeTokenizer::encode(std::string_view text, bool parse_special) const {
  const Region whole{text.size(), parse_special};
  return encode_regions(text, {&whole, 1});
}

std::vector<TokenId> BpeTokenizer::encode_spans(std::span<const PromptSpan> spans) const {
  std::string text;
  std::vector<Region> regions;
  for (const PromptSpan& span : spans) {
    text += span.text;
    // Neighbours of one kind are one region: a control token may run over their border.
    if (!regions.empty() && regions.back().parse_special != span.from_message) {
      regions.back().end = text.size();
    } else if (!span.text.empty()) {
      regions.push_back({text.size(), !span.from_message});
    }
  }
  return encode_regions(text, regions);
}

std::vector<TokenId> BpeTokenizer::encode_regions(std::string_view text,
                                                  std::span<const Region> regions) const {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Errc::invalid_request, "the text exceeds 4 GiB");
  }
  std::vector<TokenId> ids;
  std::vector<std::string_view> words;
  BpeMerges::Scratch scratch;
  const auto encode_plain = [&](std::string_view plain) {
    words.clear();
    parts_.pre_tokenizer->split(plain, words);
    for (const std::string_view word : words) parts_.merges.merge(word, scratch, ids);
  };
  std::size_t plain_begin = 0;
  std::size_t region = 0;
  for (std::size_t at = 0; at < text.size();) {
    while (at >= regions[region].end) ++region;
    const std::size_t control_end = regions[region].parse_special ? regions[region].end : 0;
    const SpecialTokens::Match match = parts_.special_tokens.match(text, at, control_end);
    if (match.id < 0) {
      ++at;
      continue;
    }
    encode_plain(text.substr(plain_begin, at - plain_begin));
    ids.push_back(match.id);
    at += match.size;
    plain_begin = at;
  }
  encode_plain(text.substr(plain_begin));
  return ids;
}

std::string_view BpeTokenizer::bytes(TokenId id) const {
  TICKERTAPE_ASSERT(id >= 0 && static_cast<std::size_t>(id) < vocab_size());
  return parts_.vocabulary.bytes(id);
}

bool BpeTokenizer::is_control(TokenId id) const {
  TICKERTAPE_ASSERT(id >= 0 && static_cast<std::size_t>(id) < vocab_size());
  return parts_.vocabulary.is_control(id);
}

std::size_t BpeTokenizer::vocab_size() const noexcept {
  return parts_.vocabulary.size();
}

std::span<const TokenId> BpeTokenizer::end_tokens() const noexcept {
  return parts_.end_tokens;
}

TokenId BpeTokenizer::begin_token() const noexcept {
  return parts_.begin_token;
}

std::size_t BpeTokenizer::longest_token() const noexcept {
  return parts_.vocabulary.longest_token();
}

}  // namespace tickertape::kernels::text
