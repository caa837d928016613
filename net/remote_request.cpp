// encode_submit: every field of Request that differs from its default.
#include "net/remote_request.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace tickertape::net {
namespace {

using Json = nlohmann::ordered_json;

/// Collects members; the first one that cannot be written is kept as the error.
class Members {
 public:
  explicit Members(Json& out) : out_(out) {}

  template <class Value>
  void put(const char* name, const Value& value, const Value& usual) {
    if (value != usual) out_[name] = value;
  }

  void put(const char* name, double value, double usual) {
    if (!std::isfinite(value)) return fail(name, "must be a finite number");
    if (value != usual) out_[name] = value;
  }

  template <class Value>
  void put_list(const char* name, const std::vector<Value>& list) {
    if (!list.empty()) out_[name] = list;
  }

  /// `text` holds JSON of the given kind.
  void put_json(const char* name, const std::string& text, Json::value_t kind) {
    if (text.empty()) return;
    Json value = Json::parse(text, nullptr, false);
    if (value.type() != kind) return fail(name, "is not JSON of the right type");
    out_[name] = std::move(value);
  }

  void fail(const std::string& param, const std::string& rule) {
    if (!error_) error_ = ErrorInfo{Errc::invalid_request, param + " " + rule, param, 0};
  }

  [[nodiscard]] std::optional<ErrorInfo> take_error() { return std::move(error_); }

 private:
  Json& out_;
  std::optional<ErrorInfo> error_;
};

Json message_json(const ChatMessage& message, const std::string& where, Members& members) {
  Json out;
  if (!message.fields.empty()) {
    out = Json::parse(message.fields, nullptr, false);
    if (!out.is_object()) {
      members.fail(where + ".fields", "must be a JSON object");
      out = Json::object();
    }
  }
  out["role"] = message.role;
  out["content"] = message.content;
  return out;
}

void put_prompt(const Request& request, Json& out, Members& members) {
  if (!request.prompt.empty()) out["prompt"] = request.prompt;
  members.put_list("prompt_ids", request.prompt_ids);
  if (request.messages.empty()) return;
  Json& messages = out["messages"] = Json::array();
  for (const ChatMessage& message : request.messages) {
    const std::string where = "messages[" + std::to_string(messages.size()) + "]";
    messages.push_back(message_json(message, where, members));
  }
  members.put("add_generation_prompt", request.chat.add_generation_prompt, true);
  members.put("continue_final_message", request.chat.continue_final_message, false);
  members.put_json("tools", request.chat.tools, Json::value_t::array);
  members.put_json("chat_template_kwargs", request.chat.variables, Json::value_t::object);
}

void put_sampling(const SamplingParams& sampling, Json& out, Members& members) {
  const SamplingParams usual;
  members.put("temperature", sampling.temperature, usual.temperature);
  members.put("top_p", sampling.top_p, usual.top_p);
  members.put("top_k", sampling.top_k, usual.top_k);
  members.put("min_p", sampling.min_p, usual.min_p);
  members.put("typical_p", sampling.typical_p, usual.typical_p);
  members.put("repetition_penalty", sampling.repetition_penalty, usual.repetition_penalty);
  members.put("frequency_penalty", sampling.frequency_penalty, usual.frequency_penalty);
  members.put("presence_penalty", sampling.presence_penalty, usual.presence_penalty);
  for (const LogitBias& bias : sampling.logit_bias) {
    const std::string key = std::to_string(bias.token);
    if (!std::isfinite(bias.bias)) members.fail("logit_bias", "must hold finite numbers");
    if (out["logit_bias"].contains(key)) members.fail("logit_bias", "must name a token only once");
    out["logit_bias"][key] = bias.bias;
  }
  members.put_list("allowed_token_ids", sampling.allowed_token_ids);
  members.put_list("stop_token_ids", sampling.stop_token_ids);
  members.put("ignore_eos", sampling.ignore_eos, false);
  members.put("min_tokens", sampling.min_tokens, usual.min_tokens);
  if (sampling.seed) out["seed"] = *sampling.seed;
  members.put("logprobs", sampling.logprobs, usual.logprobs);
}

void put_rest(const Request& request, Json& out, Members& members) {
  out["max_tokens"] = request.max_tokens;
  members.put_list("stop", request.stop);
  members.put("include_stop_str_in_output", request.include_stop_str_in_output, false);
  members.put("n", request.n, 1U);
  members.put("prompt_logprobs", request.prompt_logprobs, -1);
  members.put("priority", request.priority, 0);
  if (request.deadline_ms) members.put("deadline_ms", *request.deadline_ms, -1.0);
  members.put("user", request.label, std::string());
  members.put("cache_salt", request.cache_salt, std::string());
  out["window"] = request.window;
  if (request.on_notice) out["events"] = {"preempted", "resumed"};
  if (request.logit_processor) {
    members.fail("logit_processor", "runs inside the engine and cannot be sent to a server");
  }
}

}  // namespace

std::optional<ErrorInfo> encode_submit(std::string_view id, const Request& request,
                                       std::string& out) {
  Json frame;
  frame["type"] = "submit";
  frame["id"] = id;
  Members members(frame);
  put_prompt(request, frame, members);
  put_sampling(request.sampling, frame, members);
  put_rest(request, frame, members);
  if (auto error = members.take_error()) {
    if (request.logit_processor) error->code = Errc::not_supported;
    return error;
  }
  try {
    out = frame.dump();
  } catch (const Json::type_error&) {  // Its one cause here.
    return ErrorInfo{Errc::invalid_request,
                     "the request holds text that is not UTF-8, which JSON cannot carry",
                     request.prompt.empty() ? "messages" : "prompt", 0};
  }
  return std::nullopt;
}

}  // namespace tickertape::net
