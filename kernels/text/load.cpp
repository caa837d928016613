// Loading: GGUF metadata to a BpeTokenizer and a JinjaTemplate.
#include "kernels/text/load.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/text/bpe_tokenizer.hpp"
#include "kernels/text/byte_alphabet.hpp"
#include "kernels/text/end_tokens.hpp"
#include "kernels/text/jinja_template.hpp"

namespace tickertape::kernels::text {
namespace {

using formats::GgufFile;

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kBeginKey = "tokenizer.ggml.bos_token_id";
constexpr std::string_view kAddBeginKey = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kEndKeys[] = {
    "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};

std::string quoted_key(std::string_view key, std::string_view value) {
  return "key " + std::string(key) + " is \"" + std::string(value) + "\"";
}

std::span<const std::string> read_tokens(const GgufFile& gguf) {
  const std::span<const std::string> tokens = gguf.get_string_array(kTokensKey);
  if (tokens.empty()) gguf.fail("key " + std::string(kTokensKey) + " is empty");
  if (tokens.size() > std::size_t{std::numeric_limits<TokenId>::max()}) {
    gguf.fail("key " + std::string(kTokensKey) + " has more tokens than 31-bit ids can name");
  }
  return tokens;
}

std::vector<TokenKind> read_kinds(const GgufFile& gguf, std::size_t num_tokens) {
  std::vector<TokenKind> kinds(num_tokens, TokenKind::normal);
  const std::optional<std::vector<std::int32_t>> types = gguf.find_i32_array(kTypesKey);
  if (!types) return kinds;
  if (types->size() != num_tokens) {
    gguf.fail("key " + std::string(kTypesKey) + " has " + std::to_string(types->size()) +
              " entries, expected is one for each of the " + std::to_string(num_tokens) +
              " tokens");
  }
  for (std::size_t i = 0; i < num_tokens; ++i) {
    const std::int32_t type = (*types)[i];
    // 0 is "undefined", which files use for ordinary tokens.
    if (type == 0) continue;
    if (type < 1 || type > static_cast<std::int32_t>(TokenKind::byte)) {
      gguf.fail("key " + std::string(kTypesKey) + " has the unknown type " + std::to_string(type) +
                " for token " + std::to_string(i));
    }
    kinds[i] = static_cast<TokenKind>(type);
  }
  return kinds;
}

/// Tokens that text is made of by merging, as opposed to those it is searched for.
bool takes_part_in_merges(TokenKind kind) {
  return kind == TokenKind::normal || kind == TokenKind::user_defined || kind == TokenKind::byte;
}

/// Fills the vocabulary, the special tokens and the single bytes.
void add_tokens(BpeTokenizer::Parts& parts, std::span<const std::string> tokens,
                std::span<const TokenKind> kinds) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const bool special = kinds[i] == TokenKind::control || kinds[i] == TokenKind::user_defined;
    // Special tokens are written as they are. So are ordinary ones outside of the byte alphabet,
    // which no merge can make.
    std::optional<std::string> bytes;
    if (!special) bytes = bytes_from_alphabet(tokens[i]);
    parts.vocabulary.add(bytes ? *bytes : tokens[i], kinds[i]);
    if (special) parts.special_tokens.add(tokens[i], id, kinds[i] == TokenKind::control);
    if (bytes && bytes->size() == 1 && takes_part_in_merges(kinds[i])) {
      parts.merges.set_byte(static_cast<unsigned char>((*bytes)[0]), id);
    }
  }
}

void add_merges(BpeTokenizer::Parts& parts, const GgufFile& gguf,
                std::span<const std::string> tokens, std::span<const TokenKind> kinds) {
  std::unordered_map<std::string_view, TokenId> ids;
  ids.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (takes_part_in_merges(kinds[i])) ids.emplace(tokens[i], static_cast<TokenId>(i));
  }
  const auto id_of = [&](std::string_view text) {
    const auto at = ids.find(text);
    return at == ids.end() ? TokenId{-1} : at->second;
  };
  const std::span<const std::string> merges = gguf.get_string_array(kMergesKey);
  parts.merges.reserve(merges.size());
  std::string product;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const std::size_t space = merge.find(' ');
    if (space == std::string_view::npos || merge.find(' ', space + 1) != std::string_view::npos) {
      gguf.fail("key " + std::string(kMergesKey) + " has no pair at entry " + std::to_string(rank));
    }
    product.assign(merge.substr(0, space)).append(merge.substr(space + 1));
    const TokenId left = id_of(merge.substr(0, space));
    const TokenId right = id_of(merge.substr(space + 1));
    const TokenId merged = id_of(product);
    if (left < 0 || right < 0 || merged < 0) continue;
    parts.merges.add(left, right, merged, static_cast<std::uint32_t>(rank));
  }
}

/// The ids that the file itself names.
std::vector<TokenId> read_end_tokens(const GgufFile& gguf, std::size_t num_tokens) {
  std::vector<TokenId> ends;
  const auto last_id = static_cast<std::uint32_t>(num_tokens - 1);
  for (const std::string_view key : kEndKeys) {
    if (const auto id = gguf.find_u32(key, 0, last_id)) ends.push_back(static_cast<TokenId>(*id));
  }
  return ends;
}

/// The text of the token that a key names; empty when there is none.
std::string token_text(const GgufFile& gguf, std::string_view key) {
  const auto tokens = gguf.find_string_array(kTokensKey);
  if (!tokens || tokens->empty()) return {};
  const auto id = gguf.find_u32(key, 0, static_cast<std::uint32_t>(tokens->size() - 1));
  return id ? (*tokens)[*id] : std::string();
}

std::string template_source(const GgufFile& gguf, std::string_view name) {
  const std::string key = "tokenizer.chat_template." + std::string(name);
  return std::string(gguf.find_string(key).value_or(""));
}

}  // namespace

std::shared_ptr<const Tokenizer> make_tokenizer(const GgufFile& gguf) {
  const std::string_view model = gguf.find_string(kModelKey).value_or("no_vocab");
  if (model == "no_vocab" && !gguf.has(kTokensKey)) return nullptr;
  if (model != "gpt2") {
    gguf.fail(quoted_key(kModelKey, model) + "; supported is \"gpt2\" (byte-level BPE)");
  }
  const std::string_view pre = gguf.find_string(kPreKey).value_or("gpt-2");
  BpeTokenizer::Parts parts;
  parts.pre_tokenizer = PreTokenizer::find(pre);
  if (parts.pre_tokenizer == nullptr) {
    gguf.fail(quoted_key(kPreKey, pre) + "; supported are \"gpt-2\" and \"smollm\"");
  }
  const std::span<const std::string> tokens = read_tokens(gguf);
  const std::vector<TokenKind> kinds = read_kinds(gguf, tokens.size());
  add_tokens(parts, tokens, kinds);
  add_merges(parts, gguf, tokens, kinds);
  const auto chat_template = make_chat_template(gguf);
  parts.end_tokens =
      find_end_tokens(read_end_tokens(gguf, tokens.size()), tokens, kinds, chat_template.get());
  if (gguf.find_bool(kAddBeginKey).value_or(false)) {
    const auto last_id = static_cast<std::uint32_t>(tokens.size() - 1);
    parts.begin_token = static_cast<TokenId>(gguf.get_u32(kBeginKey, 0, last_id));
  }
  return std::make_shared<const BpeTokenizer>(std::move(parts));
}

std::shared_ptr<const ChatTemplate> make_chat_template(const GgufFile& gguf,
                                                       std::string_view source) {
  JinjaTemplate::Options options;
  options.tokens = {.begin = token_text(gguf, kBeginKey),
                    .end = token_text(gguf, kEndKeys[0]),
                    .unknown = token_text(gguf, "tokenizer.ggml.unknown_token_id"),
                    .padding = token_text(gguf, "tokenizer.ggml.padding_token_id")};
  if (!source.empty()) {
    auto given = std::make_shared<const JinjaTemplate>(std::string(source), std::move(options));
    given->check();
    return given;
  }
  std::string main(gguf.find_string("tokenizer.chat_template").value_or(""));
  if (main.empty()) main = template_source(gguf, "default");
  options.tool_use_source = template_source(gguf, "tool_use");
  if (main.empty()) main = options.tool_use_source;
  if (main.empty()) return nullptr;
  return std::make_shared<const JinjaTemplate>(std::move(main), std::move(options));
}

std::shared_ptr<const Tokenizer> make_byte_tokenizer() {
  BpeTokenizer::Parts parts;
  for (TokenId id = 0; id < 256; ++id) {
    const auto byte = static_cast<char>(id);
    parts.vocabulary.add({&byte, 1}, TokenKind::normal);
    parts.merges.set_byte(static_cast<unsigned char>(id), id);
  }
  constexpr std::string_view kControl[] = {"<|begin|>", "<|end|>"};
  for (const std::string_view text : kControl) {
    const auto id = static_cast<TokenId>(parts.vocabulary.size());
    parts.vocabulary.add(text, TokenKind::control);
    parts.special_tokens.add(text, id, true);
  }
  parts.begin_token = 256;
  parts.end_tokens = {257};
  parts.pre_tokenizer = PreTokenizer::find("gpt-2");
  return std::make_shared<const BpeTokenizer>(std::move(parts));
}

}  // namespace tickertape::kernels::text
