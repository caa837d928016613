// check_fields: whether a request's numbers are in range.
#include "actors/request_check.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace tickertape::actors {
namespace {

constexpr std::size_t kMaxStops = 64;
constexpr std::size_t kMaxStopBytes = 1024;

ErrorInfo invalid(std::string_view param, std::string_view rule) {
  return ErrorInfo{Errc::invalid_request, std::string(param) + " " + std::string(rule),
                   std::string(param), 0};
}

/// False for NaN too.
bool within(double value, double low, double high) {
  return value >= low && value <= high;
}

std::optional<ErrorInfo> check_filters(const SamplingParams& sampling) {
  if (!within(sampling.temperature, 0, 2)) return invalid("temperature", "must be from 0 to 2");
  if (!within(sampling.top_p, 0, 1)) return invalid("top_p", "must be from 0 to 1");
  if (!within(sampling.min_p, 0, 1)) return invalid("min_p", "must be from 0 to 1");
  if (!within(sampling.typical_p, 0, 1)) return invalid("typical_p", "must be from 0 to 1");
  if (sampling.top_k < -1) return invalid("top_k", "must be -1 or 0 (off), or more");
  if (sampling.logprobs < -1 || sampling.logprobs > 20) {
    return invalid("logprobs", "must be from 0 to 20, or -1 for none");
  }
  return std::nullopt;
}

std::optional<ErrorInfo> check_penalties(const SamplingParams& sampling) {
  if (!(sampling.repetition_penalty > 0 && sampling.repetition_penalty <= 10)) {
    return invalid("repetition_penalty", "must be more than 0, at most 10");
  }
  if (!within(sampling.frequency_penalty, -2, 2)) {
    return invalid("frequency_penalty", "must be from -2 to 2");
  }
  if (!within(sampling.presence_penalty, -2, 2)) {
    return invalid("presence_penalty", "must be from -2 to 2");
  }
  std::vector<TokenId> biased;
  biased.reserve(sampling.logit_bias.size());
  for (const LogitBias& bias : sampling.logit_bias) {
    if (!within(bias.bias, -100, 100)) return invalid("logit_bias", "must be from -100 to 100");
    biased.push_back(bias.token);
  }
  std::sort(biased.begin(), biased.end());
  if (std::adjacent_find(biased.begin(), biased.end()) != biased.end()) {
    return invalid("logit_bias", "names a token twice");
  }
  return std::nullopt;
}

std::optional<ErrorInfo> check_stops(const Request& request) {
  if (request.stop.size() > kMaxStops) return invalid("stop", "must be at most 64 strings");
  for (const std::string& stop : request.stop) {
    if (stop.empty() || stop.size() > kMaxStopBytes) {
      return invalid("stop", "must hold strings of 1 to 1024 bytes");
    }
    // Text is cut where a stop string begins: that must not be within a character.
    if ((static_cast<unsigned char>(stop.front()) & 0xC0) == 0x80) {
      return invalid("stop", "must be UTF-8");
    }
  }
  return std::nullopt;
}

std::optional<ErrorInfo> check_prompt(const Request& request) {
  const int sources = (request.prompt.empty() ? 0 : 1) + (request.prompt_ids.empty() ? 0 : 1) +
                      (request.messages.empty() ? 0 : 1);
  if (sources == 0) return ErrorInfo{Errc::prompt_empty, "the prompt is empty", "prompt", 0};
  if (sources > 1) return invalid("prompt", "must be given in one way: text, ids or messages");
  if (request.chat.continue_final_message && request.chat.add_generation_prompt) {
    return invalid("continue_final_message", "needs add_generation_prompt to be false");
  }
  return std::nullopt;
}

std::optional<ErrorInfo> check_lengths(const Request& request) {
  if (request.n < 1) return invalid("n", "must be at least 1");
  if (request.prompt_logprobs < -1 || request.prompt_logprobs > 20) {
    return invalid("prompt_logprobs", "must be from 0 to 20, or -1 for none");
  }
  if (request.max_tokens == 0 && request.prompt_logprobs < 0) {
    return invalid("max_tokens", "must be at least 1, or 0 with prompt_logprobs");
  }
  if (request.sampling.min_tokens > request.max_tokens) {
    return invalid("min_tokens", "must be at most max_tokens");
  }
  if (request.window < 1 || request.window > 65536) {
    return invalid("window", "must be from 1 to 65536");
  }
  if (request.deadline_ms && !within(*request.deadline_ms, 0, 1e12)) {
    return invalid("deadline_ms", "must be from 0 to 1e12");
  }
  return std::nullopt;
}

}  // namespace

std::optional<ErrorInfo> check_fields(const Request& request) {
  if (auto error = check_prompt(request)) return error;
  if (auto error = check_filters(request.sampling)) return error;
  if (auto error = check_penalties(request.sampling)) return error;
  if (auto error = check_stops(request)) return error;
  return check_lengths(request);
}

}  // namespace tickertape::actors
