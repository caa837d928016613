// The frames that the server sends over tickertape.v1: token frames by fmt, the rest by nlohmann.
#include "net/server_frames.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "net/json_text.hpp"

namespace tickertape::net {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// {"type":TYPE[,"id":ID] and the members of `rest`}.
std::string frame(std::string_view type, std::string_view quoted_id, const Json& rest) {
  std::string out = fmt::format("{{\"type\":\"{}\"", type);
  if (!quoted_id.empty()) fmt::format_to(std::back_inserter(out), ",\"id\":{}", quoted_id);
  if (rest.empty()) return out + "}";
  out += ',';
  out += std::string_view(dump(rest)).substr(1);
  return out;
}

/// What a token adds to the text, or nothing when there is no tokenizer to ask.
std::optional<std::string_view> bytes_of(TokenId id, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return std::nullopt;
  const bool known = id >= 0 && static_cast<std::size_t>(id) < tokenizer->vocab_size();
  if (!known || tokenizer->is_control(id)) return std::string_view();
  return tokenizer->bytes(id);
}

void append_bytes(std::string& out, TokenId id, const Tokenizer* tokenizer) {
  const auto bytes = bytes_of(id, tokenizer);
  if (!bytes) {
    out += ",\"bytes\":null";
    return;
  }
  out += ",\"bytes\":[";
  const char* separator = "";
  for (const char byte : *bytes) {
    fmt::format_to(std::back_inserter(out), "{}{}", separator, static_cast<unsigned char>(byte));
    separator = ",";
  }
  out += ']';
}

void append_logprob_entry(std::string& out, const TokenLogprob& entry, const Tokenizer* tokenizer) {
  fmt::format_to(std::back_inserter(out), "{{\"token\":{},\"logprob\":", entry.token);
  append_json_logprob(out, entry.logprob);
  append_bytes(out, entry.token, tokenizer);
}

void append_top_logprobs(std::string& out, const std::vector<TokenLogprob>& top,
                         const Tokenizer* tokenizer) {
  out += ",\"top_logprobs\":[";
  const char* separator = "";
  for (const TokenLogprob& entry : top) {
    out += separator;
    append_logprob_entry(out, entry, tokenizer);
    out += '}';
    separator = ",";
  }
  out += ']';
}

void append_prompt_logprobs(std::string& out, const std::vector<PromptLogprob>& scores,
                            const Tokenizer* tokenizer) {
  out += ",\"prompt_logprobs\":[";
  const char* separator = "";
  for (const PromptLogprob& score : scores) {
    out += separator;
    append_logprob_entry(out, score.chosen, tokenizer);
    append_top_logprobs(out, score.top, tokenizer);
    out += '}';
    separator = ",";
  }
  out += ']';
}

Json usage_json(const Usage& usage) {
  Json out;
  out["prompt_tokens"] = usage.prompt_tokens;
  out["completion_tokens"] = usage.completion_tokens;
  out["total_tokens"] = std::uint64_t{usage.prompt_tokens} + usage.completion_tokens;
  out["prompt_tokens_details"]["cached_tokens"] = usage.cached_tokens;
  return out;
}

Json timings_json(const Timings& timings) {
  Json out;
  out["queued_ms"] = timings.queued_ms;
  out["prefill_ms"] = timings.prefill_ms;
  out["decode_ms"] = timings.decode_ms;
  out["preemptions"] = timings.preemptions;
  out["swapped_pages"] = timings.swapped_pages;
  out["cached_tokens"] = timings.cached_tokens;
  out["ticks"] = timings.ticks;
  return out;
}

Json error_json(const FrameError& error) {
  Json out;
  out["status"] = error.status;
  out["message"] = error.message;
  out["param"] = error.param.empty() ? Json(nullptr) : Json(error.param);
  if (error.retry_after > 0) out["retry_after"] = error.retry_after;
  return out;
}

}  // namespace

std::string hello_frame(const Hello& hello) {
  Json rest;
  rest["protocol"] = "tickertape.v1";
  rest["model"] = hello.model;
  rest["max_model_len"] = hello.max_model_len;
  rest["max_streams"] = hello.max_streams;
  rest["max_body"] = hello.max_body;
  return frame("hello", {}, rest);
}

std::string accepted_frame(std::string_view quoted_id, const Accepted& accepted) {
  Json rest;
  rest["request_id"] = accepted.request_id;
  rest["prompt_tokens"] = accepted.prompt_tokens;
  rest["max_tokens"] = accepted.max_tokens;
  rest["seed"] = accepted.seed;
  rest["queue_position"] = accepted.queue_position;
  return frame("accepted", quoted_id, rest);
}

std::string token_frame(std::string_view quoted_id, const Token& token,
                        const Tokenizer* tokenizer) {
  std::string out =
      fmt::format("{{\"type\":\"token\",\"id\":{},\"index\":{},\"seq\":{},\"text\":", quoted_id,
                  token.index, token.seq);
  append_json_string(out, token.text);
  fmt::format_to(std::back_inserter(out), ",\"token\":{}", token.id);
  if (token.logprob) {
    out += ",\"logprob\":";
    append_json_logprob(out, *token.logprob);
    append_bytes(out, token.id, tokenizer);
    append_top_logprobs(out, token.top_logprobs, tokenizer);
  }
  if (token.finish_reason != FinishReason::none) {
    fmt::format_to(std::back_inserter(out), ",\"finish_reason\":\"{}\"",
                   to_string(token.finish_reason));
  }
  out += '}';
  return out;
}

std::string notice_frame(std::string_view quoted_id, const Notice& notice) {
  if (notice.kind == Notice::Kind::resumed) return frame("resumed", quoted_id, Json());
  Json rest;
  rest["how"] = notice.how == Notice::How::swap ? "swap" : "recompute";
  return frame("preempted", quoted_id, rest);
}

std::string done_frame(std::string_view quoted_id, const ChoiceDone& done, const Finish* whole,
                       const Tokenizer* tokenizer) {
  Json rest;
  rest["index"] = done.index;
  rest["finish_reason"] = to_string(done.reason);
  if (!done.stop.empty()) {
    rest["stop_reason"] = done.stop;
  } else if (done.stop_token >= 0) {
    rest["stop_reason"] = done.stop_token;
  }
  if (done.reason == FinishReason::error) rest["error"] = error_json(done.error);
  if (whole == nullptr) return frame("done", quoted_id, rest);
  rest["final"] = true;
  rest["usage"] = usage_json(whole->usage);
  rest["timings"] = timings_json(whole->timings);
  std::string out = frame("done", quoted_id, rest);
  if (whole->prompt_logprobs.empty()) return out;
  out.pop_back();
  append_prompt_logprobs(out, whole->prompt_logprobs, tokenizer);
  out += '}';
  return out;
}

std::string error_frame(std::string_view quoted_id, const FrameError& error) {
  return frame("error", quoted_id, error_json(error));
}

std::string pong_frame() {
  return frame("pong", {}, Json());
}

}  // namespace tickertape::net
