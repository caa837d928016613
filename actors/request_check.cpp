// check_fields: whether a request's numbers are in range.
#include "actors/request_check.hpp"

#include <string>
#include <string_view>

namespace tickertape::actors {
namespace {

ErrorInfo invalid(std::string_view param, std::string_view rule) {
  return ErrorInfo{Errc::invalid_request, std::string(param) + " " + std::string(rule),
                   std::string(param), 0};
}

/// False for NaN too.
bool within(double value, double low, double high) {
  return value >= low && value <= high;
}

std::optional<ErrorInfo> check_sampling(const SamplingParams& sampling) {
  if (!within(sampling.temperature, 0, 2)) return invalid("temperature", "must be from 0 to 2");
  if (!within(sampling.top_p, 0, 1)) return invalid("top_p", "must be from 0 to 1");
  if (!within(sampling.min_p, 0, 1)) return invalid("min_p", "must be from 0 to 1");
  if (sampling.top_k < -1) return invalid("top_k", "must be -1 or 0 (off), or more");
  if (sampling.logprobs < -1 || sampling.logprobs > 20) {
    return invalid("logprobs", "must be from 0 to 20, or -1 for none");
  }
  return std::nullopt;
}

}  // namespace

std::optional<ErrorInfo> check_fields(const Request& request) {
  const int sources = (request.prompt.empty() ? 0 : 1) + (request.prompt_ids.empty() ? 0 : 1) +
                      (request.messages.empty() ? 0 : 1);
  if (sources == 0) return ErrorInfo{Errc::prompt_empty, "the prompt is empty", "prompt", 0};
  if (sources > 1) return invalid("prompt", "must be given in one way: text, ids or messages");
  if (auto error = check_sampling(request.sampling)) return error;
  if (request.n != 1) {
    return ErrorInfo{Errc::not_supported, "n must be 1: more choices are not supported yet", "n",
                     0};
  }
  if (request.prompt_logprobs < -1 || request.prompt_logprobs > 20) {
    return invalid("prompt_logprobs", "must be from 0 to 20, or -1 for none");
  }
  if (request.max_tokens == 0 && request.prompt_logprobs < 0) {
    return invalid("max_tokens", "must be at least 1, or 0 with prompt_logprobs");
  }
  if (request.window < 1 || request.window > 65536) {
    return invalid("window", "must be from 1 to 65536");
  }
  if (request.deadline_ms && !within(*request.deadline_ms, 0, 1e12)) {
    return invalid("deadline_ms", "must be from 0 to 1e12");
  }
  return std::nullopt;
}

}  // namespace tickertape::actors
