// The frames that the server sends over tickertape.v1.
#include "net/server_frames.hpp"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "net/json_object.hpp"
#include "net/json_text.hpp"

namespace tickertape::net {
namespace {

/// {"type":TYPE[,"id":ID] and the members of `rest`}.
std::string frame(std::string_view type, std::string_view quoted_id, const JsonObject& rest = {}) {
  std::string out = fmt::format("{{\"type\":\"{}\"", type);
  if (!quoted_id.empty()) fmt::format_to(std::back_inserter(out), ",\"id\":{}", quoted_id);
  if (!rest.members().empty()) out += ',';
  out += rest.members();
  out += '}';
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

JsonObject usage_json(const Usage& usage) {
  JsonObject out;
  out.add("prompt_tokens", usage.prompt_tokens);
  out.add("completion_tokens", usage.completion_tokens);
  out.add("total_tokens", std::uint64_t{usage.prompt_tokens} + usage.completion_tokens);
  out.add("prompt_tokens_details", JsonObject().add("cached_tokens", usage.cached_tokens));
  return out;
}

JsonObject timings_json(const Timings& timings) {
  JsonObject out;
  out.add("queued_ms", timings.queued_ms);
  out.add("prefill_ms", timings.prefill_ms);
  out.add("decode_ms", timings.decode_ms);
  out.add("preemptions", timings.preemptions);
  out.add("swapped_pages", timings.swapped_pages);
  out.add("cached_tokens", timings.cached_tokens);
  out.add("ticks", timings.ticks);
  return out;
}

JsonObject error_json(const FrameError& error) {
  JsonObject out;
  out.add("status", error.status);
  out.add("message", error.message);
  out.add_or_null("param", error.param);
  if (error.retry_after > 0) out.add("retry_after", error.retry_after);
  return out;
}

}  // namespace

std::string hello_frame(const Hello& hello) {
  JsonObject rest;
  rest.add("protocol", "tickertape.v1");
  rest.add("model", hello.model);
  rest.add("max_model_len", hello.max_model_len);
  rest.add("max_streams", hello.max_streams);
  rest.add("max_body", hello.max_body);
  return frame("hello", {}, rest);
}

std::string accepted_frame(std::string_view quoted_id, const Accepted& accepted) {
  JsonObject rest;
  rest.add("request_id", accepted.request_id);
  rest.add("prompt_tokens", accepted.prompt_tokens);
  rest.add("max_tokens", accepted.max_tokens);
  rest.add("seed", accepted.seed);
  rest.add("queue_position", accepted.queue_position);
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
  if (notice.kind == Notice::Kind::resumed) return frame("resumed", quoted_id);
  JsonObject rest;
  rest.add("how", notice.how == Notice::How::swap ? "swap" : "recompute");
  return frame("preempted", quoted_id, rest);
}

std::string done_frame(std::string_view quoted_id, const ChoiceDone& done, const Finish* whole,
                       const Tokenizer* tokenizer) {
  JsonObject rest;
  rest.add("index", done.index);
  rest.add("finish_reason", to_string(done.reason));
  if (!done.stop.empty()) {
    rest.add("stop_reason", done.stop);
  } else if (done.stop_token >= 0) {
    rest.add("stop_reason", done.stop_token);
  }
  if (done.reason == FinishReason::error) rest.add("error", error_json(done.error));
  if (whole == nullptr) return frame("done", quoted_id, rest);
  rest.add("final", true);
  rest.add("usage", usage_json(whole->usage));
  rest.add("timings", timings_json(whole->timings));
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
  return frame("pong", {});
}

}  // namespace tickertape::net
