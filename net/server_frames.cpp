// The frames that the server sends over tickertape.v1: token frames by fmt, the rest by nlohmann.
#include "net/server_frames.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

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

void append_top_logprobs(std::string& out, const std::vector<TokenLogprob>& top) {
  out += ",\"top_logprobs\":[";
  const char* separator = "";
  for (const TokenLogprob& entry : top) {
    fmt::format_to(std::back_inserter(out), "{}{{\"token\":{},\"logprob\":", separator,
                   entry.token);
    append_json_logprob(out, entry.logprob);
    out += '}';
    separator = ",";
  }
  out += ']';
}

Json logprob_json(const TokenLogprob& entry) {
  const float finite = std::isfinite(entry.logprob) ? entry.logprob : kLogprobFloor;
  Json out;
  out["token"] = entry.token;
  out["logprob"] = finite;
  return out;
}

Json prompt_logprobs_json(const std::vector<PromptLogprob>& scores) {
  Json out = Json::array();
  for (const PromptLogprob& score : scores) {
    Json entry = logprob_json(score.chosen);
    Json& top = entry["top_logprobs"] = Json::array();
    for (const TokenLogprob& other : score.top) top.push_back(logprob_json(other));
    out.push_back(std::move(entry));
  }
  return out;
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

std::string hello_frame(std::string_view model, std::uint32_t max_model_len,
                        std::size_t max_streams) {
  Json rest;
  rest["protocol"] = "tickertape.v1";
  rest["model"] = model;
  rest["max_model_len"] = max_model_len;
  rest["max_streams"] = max_streams;
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

std::string token_frame(std::string_view quoted_id, const Token& token) {
  std::string out =
      fmt::format("{{\"type\":\"token\",\"id\":{},\"index\":{},\"seq\":{},\"text\":", quoted_id,
                  token.index, token.seq);
  append_json_string(out, token.text);
  fmt::format_to(std::back_inserter(out), ",\"token\":{}", token.id);
  if (token.logprob) {
    out += ",\"logprob\":";
    append_json_logprob(out, *token.logprob);
    append_top_logprobs(out, token.top_logprobs);
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

std::string done_frame(std::string_view quoted_id, FinishReason reason, const Finish& finish) {
  Json rest;
  rest["index"] = 0;
  rest["finish_reason"] = to_string(reason);
  if (reason == FinishReason::error) {
    rest["error"] =
        error_json({finish.error.status(), finish.error.message, finish.error.param, 0});
  }
  rest["final"] = true;
  rest["usage"] = usage_json(finish.usage);
  rest["timings"] = timings_json(finish.timings);
  if (!finish.prompt_logprobs.empty()) {
    rest["prompt_logprobs"] = prompt_logprobs_json(finish.prompt_logprobs);
  }
  return frame("done", quoted_id, rest);
}

std::string error_frame(std::string_view quoted_id, const FrameError& error) {
  return frame("error", quoted_id, error_json(error));
}

std::string pong_frame() {
  return frame("pong", {}, Json());
}

}  // namespace tickertape::net
