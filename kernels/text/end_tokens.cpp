// End tokens: by the file, by name, and by what the chat template writes.
#include "kernels/text/end_tokens.hpp"

#include <algorithm>
#include <string_view>

#include <tickertape/errors.hpp>

namespace tickertape::kernels::text {
namespace {

/// What model families end a turn or a text with. Files often name only one of theirs.
constexpr std::string_view kEndTexts[] = {"<|im_end|>",
                                          "<|eot_id|>",
                                          "<|eom_id|>",
                                          "<end_of_turn>",
                                          "<|end|>",
                                          "<|endoftext|>",
                                          "<|end_of_text|>",
                                          "<|end_of_turn|>",
                                          "<|return|>",
                                          "<|call|>",
                                          "<|eot|>",
                                          "<|END_OF_TURN_TOKEN|>",
                                          "</s>",
                                          "<eos>",
                                          "<turn|>",
                                          "<end_of_utterance>",
                                          "<\xef\xbd\x9c"
                                          "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"};

TokenId control_token(std::span<const std::string> tokens, std::span<const TokenKind> kinds,
                      std::string_view text) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (kinds[i] == TokenKind::control && tokens[i] == text) return static_cast<TokenId>(i);
  }
  return -1;
}

/// What the template writes behind the last answer of a conversation.
std::string text_after_answer(const ChatTemplate& chat_template) {
  constexpr std::string_view kAnswer = "tickertape-probe";
  const std::vector<ChatMessage> messages = {{"user", "x"}, {"assistant", std::string(kAnswer)}};
  try {
    std::string text;
    bool behind = false;
    for (const PromptSpan& span :
         chat_template.render(messages, {.add_generation_prompt = false})) {
      behind = behind || span.text.find(kAnswer) != std::string::npos;
      if (behind && !span.from_message) text += span.text;
    }
    return text;
  } catch (const Error&) {
    return {};  // Only what is found counts; the template's faults are told when it is used.
  }
}

/// The longest control token that the text starts with behind its white space; -1 when none does.
TokenId leading_control_token(std::span<const std::string> tokens, std::span<const TokenKind> kinds,
                              std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n\t"), text.size()));
  TokenId best = -1;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (kinds[i] != TokenKind::control || tokens[i].size() <= longest) continue;
    if (!text.starts_with(tokens[i])) continue;
    best = static_cast<TokenId>(i);
    longest = tokens[i].size();
  }
  return best;
}

}  // namespace

std::vector<TokenId> find_end_tokens(std::vector<TokenId> named,
                                     std::span<const std::string> tokens,
                                     std::span<const TokenKind> kinds,
                                     const ChatTemplate* chat_template) {
  std::vector<TokenId> ends = std::move(named);
  // Where a model has <|return|>, <|end|> closes a part of an answer and not the answer.
  const bool parts = control_token(tokens, kinds, "<|return|>") >= 0;
  for (const std::string_view text : kEndTexts) {
    if (parts && text == "<|end|>") continue;
    if (const TokenId id = control_token(tokens, kinds, text); id >= 0) ends.push_back(id);
  }
  if (chat_template != nullptr) {
    const std::string after = text_after_answer(*chat_template);
    const TokenId id = leading_control_token(tokens, kinds, after);
    if (id >= 0 && !(parts && tokens[static_cast<std::size_t>(id)] == "<|end|>")) {
      ends.push_back(id);
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

}  // namespace tickertape::kernels::text
