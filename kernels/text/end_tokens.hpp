// End tokens: those that a generation stops at.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <tickertape/chat_template.hpp>
#include <tickertape/tokenizer.hpp>

#include "kernels/text/vocabulary.hpp"

namespace tickertape::kernels::text {

/// `named` by the file, plus the control tokens that model families end turns and texts with, plus
/// the control token that `chat_template` (may be null) writes behind an answer; sorted, each once.
[[nodiscard]] std::vector<TokenId> find_end_tokens(std::vector<TokenId> named,
                                                   std::span<const std::string> tokens,
                                                   std::span<const TokenKind> kinds,
                                                   const ChatTemplate* chat_template);

}  // namespace tickertape::kernels::text
