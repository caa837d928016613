// Preparer: a request's fields checked, and its prompt as token ids.
#include "actors/preparer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "actors/request_check.hpp"

namespace tickertape::actors {
namespace {

constexpr std::size_t kLongText = 4096;  // Bytes; design section 7.

ErrorInfo refused(Errc code, std::string message, std::string param) {
  return ErrorInfo{code, std::move(message), std::move(param), 0};
}

std::string source_name(const Request& request) {
  if (!request.messages.empty()) return "messages";
  return request.prompt_ids.empty() ? "prompt" : "prompt_ids";
}

std::size_t text_size(const Request& request) {
  std::size_t size = request.prompt.size();
  for (const ChatMessage& message : request.messages) {
    size += message.content.size() + message.fields.size();
  }
  return size + request.chat.tools.size() + request.chat.variables.size();
}

void put_begin_token(std::vector<TokenId>& ids, TokenId begin) {
  if (begin >= 0 && (ids.empty() || ids.front() != begin)) ids.insert(ids.begin(), begin);
}

/// With min_tokens no end or stop token is possible at first: something else must be.
bool is_only_ends(const SamplingParams& sampling, std::span<const TokenId> end_tokens) {
  const auto& stops = sampling.stop_token_ids;
  return std::all_of(sampling.allowed_token_ids.begin(), sampling.allowed_token_ids.end(),
                     [&](TokenId id) {
                       return std::binary_search(end_tokens.begin(), end_tokens.end(), id) ||
                              std::find(stops.begin(), stops.end(), id) != stops.end();
                     });
}

}  // namespace

Preparer::Preparer(std::shared_ptr<const Model> model, RequestLimits limits)
    : model_(std::move(model)), tokenizer_(model_->tokenizer()), limits_(limits) {}

bool Preparer::takes_long(const Request& request) {
  return text_size(request) > kLongText;
}

std::optional<ErrorInfo> Preparer::check(const Request& request) const {
  if (auto error = check_fields(request)) return error;
  if (request.n > limits_.max_num_seqs) {
    return refused(Errc::invalid_request,
                   "n is " + std::to_string(request.n) + "; at most " +
                       std::to_string(limits_.max_num_seqs) + " sequences run at the same time",
                   "n");
  }
  if (auto error = check_sampled_ids(request.sampling)) return error;
  return check_text(request);
}

std::optional<ErrorInfo> Preparer::check_text(const Request& request) const {
  if (!tokenizer_ && !request.stop.empty()) {
    return refused(Errc::not_supported, "the model has no tokenizer: stop strings need one",
                   "stop");
  }
  if (!request.prompt_ids.empty()) return std::nullopt;
  const std::string source = source_name(request);
  if (!tokenizer_) {
    return refused(Errc::not_supported, "the model has no tokenizer: give prompt_ids", source);
  }
  if (!request.messages.empty() && !model_->chat_template()) {
    return refused(Errc::not_supported, "the model has no chat template", source);
  }
  // A text that cannot fit whatever its tokens are is not read at all.
  const std::size_t size = text_size(request);
  if (size / std::max<std::size_t>(tokenizer_->longest_token(), 1) > limits_.max_model_len) {
    return refused(Errc::prompt_too_long,
                   "the prompt has " + std::to_string(size) + " bytes, more than a context of " +
                       std::to_string(limits_.max_model_len) + " tokens can hold",
                   source);
  }
  return std::nullopt;
}

std::optional<ErrorInfo> Preparer::check_id(TokenId id, const std::string& param) const {
  if (id >= 0 && static_cast<std::uint32_t>(id) < limits_.vocab_size) return std::nullopt;
  return refused(Errc::invalid_request,
                 param + " holds the id " + std::to_string(id) + "; the model's are 0 to " +
                     std::to_string(limits_.vocab_size - 1),
                 param);
}

std::optional<ErrorInfo> Preparer::check_sampled_ids(const SamplingParams& sampling) const {
  for (const LogitBias& bias : sampling.logit_bias) {
    if (auto error = check_id(bias.token, "logit_bias")) return error;
  }
  for (const TokenId id : sampling.stop_token_ids) {
    if (auto error = check_id(id, "stop_token_ids")) return error;
  }
  for (const TokenId id : sampling.allowed_token_ids) {
    if (auto error = check_id(id, "allowed_token_ids")) return error;
  }
  const std::span<const TokenId> end_tokens =
      tokenizer_ ? tokenizer_->end_tokens() : std::span<const TokenId>();
  if (sampling.min_tokens > 0 && !sampling.allowed_token_ids.empty() &&
      is_only_ends(sampling, end_tokens)) {
    return refused(
        Errc::invalid_request,
        "allowed_token_ids holds only tokens that end, which min_tokens forbids at first",
        "allowed_token_ids");
  }
  return std::nullopt;
}

std::vector<TokenId> Preparer::read_prompt(const Request& request) const {
  if (!request.prompt_ids.empty()) return request.prompt_ids;
  std::vector<TokenId> ids;
  if (request.messages.empty()) {
    ids = tokenizer_->encode(request.prompt, true);
  } else {
    ids = tokenizer_->encode_spans(model_->chat_template()->render(request.messages, request.chat));
  }
  put_begin_token(ids, tokenizer_->begin_token());
  return ids;
}

std::variant<Prepared, ErrorInfo> Preparer::prepare(const Request& request) const {
  if (auto error = check(request)) return std::move(*error);
  return read(request);
}

std::variant<Prepared, ErrorInfo> Preparer::read(const Request& request) const {
  Prepared prepared;
  try {
    prepared.ids = read_prompt(request);
  } catch (const Error& error) {
    return error.info();
  }
  const std::string source = source_name(request);
  for (const TokenId id : prepared.ids) {
    if (auto error = check_id(id, source)) return std::move(*error);
  }
  const std::size_t size = prepared.ids.size();
  if (size == 0) return refused(Errc::prompt_empty, "the prompt has no tokens", source);
  if (size + (request.max_tokens > 0 ? 1 : 0) > limits_.max_model_len) {
    return refused(Errc::prompt_too_long,
                   "the prompt has " + std::to_string(size) +
                       " tokens and leaves no room in a context of " +
                       std::to_string(limits_.max_model_len),
                   source);
  }
  prepared.max_tokens =
      std::min(request.max_tokens, limits_.max_model_len - static_cast<std::uint32_t>(size));
  return prepared;
}

}  // namespace tickertape::actors
