// Text for a vocabulary of numbers.
#include "kernels/fake/fake_tokenizer.hpp"

#include <algorithm>

#include <tickertape/assert.hpp>

namespace tickertape::kernels::fake {
namespace {

constexpr std::string_view kEndText = "<|end|>";

}  // namespace

FakeTokenizer::FakeTokenizer(std::uint32_t vocab_size) {
  constexpr std::uint32_t kNumBytes = 256;
  pieces_.emplace_back(kEndText);
  for (std::uint32_t id = 1; id < vocab_size; ++id) {
    std::string& piece = pieces_.emplace_back();
    if (id <= kNumBytes) {
      piece.push_back(static_cast<char>(id - 1));
    } else {
      piece.append("[").append(std::to_string(id)).append("]");
    }
  }
  for (const std::string& piece : pieces_) longest_token_ = std::max(longest_token_, piece.size());
}

std::vector<TokenId> FakeTokenizer::encode(std::string_view text, bool parse_special) const {
  std::vector<TokenId> ids;
  while (!text.empty()) {
    if (parse_special && text.starts_with(kEndText)) {
      ids.push_back(kEnd);
      text.remove_prefix(kEndText.size());
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(text.front());
    ids.push_back(static_cast<TokenId>(1 + byte % (pieces_.size() - 1)));
    text.remove_prefix(1);
  }
  return ids;
}

std::vector<TokenId> FakeTokenizer::encode_spans(std::span<const PromptSpan> spans) const {
  std::vector<TokenId> ids;
  for (const PromptSpan& span : spans) {
    const std::vector<TokenId> part = encode(span.text, !span.from_message);
    ids.insert(ids.end(), part.begin(), part.end());
  }
  return ids;
}

std::string_view FakeTokenizer::bytes(TokenId id) const {
  TICKERTAPE_ASSERT(id >= 0 && static_cast<std::size_t>(id) < pieces_.size());
  return pieces_[static_cast<std::size_t>(id)];
}

std::span<const TokenId> FakeTokenizer::end_tokens() const noexcept {
  static constexpr TokenId kEndTokens[] = {kEnd};
  return kEndTokens;
}

}  // namespace tickertape::kernels::fake
