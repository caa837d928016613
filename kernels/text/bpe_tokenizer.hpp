// BpeTokenizer: byte-level byte pair encoding.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <tickertape/tokenizer.hpp>

#include "kernels/text/bpe_merges.hpp"
#include "kernels/text/pre_tokenizer.hpp"
#include "kernels/text/special_tokens.hpp"
#include "kernels/text/vocabulary.hpp"

namespace tickertape::kernels::text {

/// Special tokens are cut out first (leftmost, then longest), the text between them is split into
/// words, each word is merged. A user-defined token is recognised everywhere, a control token only
/// where the caller allows it. Bytes that no token holds are left out, as the reference
/// implementations of byte-level BPE do. A text must be shorter than 4 GiB (invalid_request).
class BpeTokenizer final : public Tokenizer {
 public:
  struct Parts {
    Vocabulary vocabulary;
    BpeMerges merges;
    SpecialTokens special_tokens;
    std::unique_ptr<const PreTokenizer> pre_tokenizer;  ///< Not null.
    std::vector<TokenId> end_tokens;                    ///< Sorted, without duplicates.
    TokenId begin_token = -1;
  };
  explicit BpeTokenizer(Parts parts);

  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            bool parse_special) const override;
  [[nodiscard]] std::vector<TokenId> encode_spans(std::span<const PromptSpan> spans) const override;
  [[nodiscard]] std::string_view bytes(TokenId id) const override;
  [[nodiscard]] bool is_control(TokenId id) const override;
  [[nodiscard]] std::size_t vocab_size() const noexcept override;
  [[nodiscard]] std::span<const TokenId> end_tokens() const noexcept override;
  [[nodiscard]] TokenId begin_token() const noexcept override;
  [[nodiscard]] std::size_t longest_token() const noexcept override;

 private:
  /// A stretch of the text, up to `end`, in which control tokens are recognised or not.
  struct Region {
    std::size_t end;
    bool parse_special;
  };
  [[nodiscard]] std::vector<TokenId> encode_regions(std::string_view text,
                                                    std::span<const Region> regions) const;

  Parts parts_;
};

}  // namespace tickertape::kernels::text
