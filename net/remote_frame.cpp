// RemoteFrame: type first, then what the type must and may have.
#include "net/remote_frame.hpp"

#include <concepts>
#include <utility>
#include <vector>

namespace tickertape::net {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

/// Reads members of one object; the first one that is missing or of the wrong type is kept in
/// `why`.
class Members {
 public:
  Members(object fields, std::string_view where, std::string& why)
      : fields_(fields), where_(where), why_(why) {}

  template <class Value>
  void need(const char* name, Value& out) {
    element value;
    if (fields_[name].get(value) != SUCCESS || !convert(value, out)) fail(name);
  }

  /// Absent and null leave `out` as it is.
  template <class Value>
  void may(const char* name, Value& out) {
    element value;
    if (fields_[name].get(value) != SUCCESS || value.is_null()) return;
    if (!convert(value, out)) fail(name);
  }

  [[nodiscard]] std::optional<element> find(const char* name) const {
    element value;
    if (fields_[name].get(value) != SUCCESS || value.is_null()) return std::nullopt;
    return value;
  }

  void fail(std::string_view name) {
    if (!why_.empty()) return;
    why_ = std::string(where_) + " without a valid " + std::string(name);
  }
  [[nodiscard]] bool fine() const noexcept { return why_.empty(); }
  [[nodiscard]] std::string& why() const noexcept { return why_; }

 private:
  template <std::integral Value>
  static bool convert(const element& value, Value& out) {
    if constexpr (std::same_as<Value, bool>) {
      return value.get(out) == SUCCESS;
    } else if constexpr (std::unsigned_integral<Value>) {
      std::uint64_t number = 0;
      if (value.get(number) != SUCCESS || !std::in_range<Value>(number)) return false;
      out = static_cast<Value>(number);
      return true;
    } else {
      std::int64_t number = 0;
      if (value.get(number) != SUCCESS || !std::in_range<Value>(number)) return false;
      out = static_cast<Value>(number);
      return true;
    }
  }
  static bool convert(const element& value, double& out) { return value.get(out) == SUCCESS; }
  static bool convert(const element& value, float& out) {
    double number = 0;
    if (value.get(number) != SUCCESS) return false;
    out = static_cast<float>(number);
    return true;
  }
  static bool convert(const element& value, std::string& out) {
    std::string_view text;
    if (value.get(text) != SUCCESS) return false;
    out = text;
    return true;
  }
  static bool convert(const element& value, std::string_view& out) {
    return value.get(out) == SUCCESS;
  }
  static bool convert(const element& value, FinishReason& out) {
    std::string_view name;
    if (value.get(name) != SUCCESS) return false;
    for (std::size_t i = 1; i < kNumFinishReasons; ++i) {
      out = static_cast<FinishReason>(i);
      if (to_string(out) == name) return true;
    }
    return false;
  }

  object fields_;
  std::string_view where_;
  std::string& why_;
};

/// Our word for a refusal of this status.
Errc code_of(int status) {
  switch (status) {
    case 400:
    case 404:
    case 413:
      return Errc::invalid_request;
    case 429:
      return Errc::queue_full;
    case 503:
      return Errc::shutting_down;
    case 504:
      return Errc::deadline_exceeded;
    default:
      return Errc::internal;
  }
}

void read_error(Members& members, ErrorInfo& out) {
  int status = 500;
  members.need("status", status);
  members.need("message", out.message);
  members.may("param", out.param);
  members.may("retry_after", out.retry_after);
  out.code = code_of(status);
}

void read_logprob(Members& members, TokenLogprob& out) {
  members.need("token", out.token);
  members.need("logprob", out.logprob);
}

/// Calls read(members, entry) for each object of the list `name`, if there is one.
template <class Entry, class Read>
void read_list(Members& members, const char* name, std::vector<Entry>& out, Read&& read) {
  const auto value = members.find(name);
  if (!value) return;
  array items;
  if (value->get(items) != SUCCESS) return members.fail(name);
  out.reserve(items.size());
  for (const element item : items) {
    object fields;
    if (item.get(fields) != SUCCESS) return members.fail(name);
    Members entry(fields, name, members.why());
    read(entry, out.emplace_back());
    if (!members.fine()) return;
  }
}

void read_token(Members& members, Token& out) {
  members.need("index", out.index);
  members.need("seq", out.seq);
  members.need("text", out.text);
  members.need("token", out.id);
  members.may("finish_reason", out.finish_reason);
  if (!members.find("logprob")) return;
  members.need("logprob", out.logprob.emplace());
  read_list(members, "top_logprobs", out.top_logprobs, read_logprob);
}

void read_hello(Members& members, RemoteFrame& out) {
  members.need("protocol", out.protocol);
  members.may("model", out.hello.model);
  members.may("max_model_len", out.hello.max_model_len);
  members.may("max_streams", out.hello.max_streams);
  members.may("max_body", out.hello.max_body);
}

void read_accepted(Members& members, Accepted& out) {
  members.need("request_id", out.request_id);
  members.need("prompt_tokens", out.prompt_tokens);
  members.may("max_tokens", out.max_tokens);
  members.may("seed", out.seed);
  members.may("queue_position", out.queue_position);
}

/// The object `name`; an empty one when it is missing, which fails.
object need_object(Members& members, const char* name) {
  object fields;
  const auto value = members.find(name);
  if (!value || value->get(fields) != SUCCESS) members.fail(name);
  return fields;
}

void read_usage(object fields, std::string& why, Usage& out) {
  Members usage(fields, "usage", why);
  usage.need("prompt_tokens", out.prompt_tokens);
  usage.need("completion_tokens", out.completion_tokens);
  object details;
  const auto value = usage.find("prompt_tokens_details");
  if (!value || value->get(details) != SUCCESS) return;
  Members(details, "prompt_tokens_details", why).may("cached_tokens", out.cached_tokens);
}

void read_timings(object fields, std::string& why, Timings& out) {
  Members timings(fields, "timings", why);
  timings.may("queued_ms", out.queued_ms);
  timings.may("prefill_ms", out.prefill_ms);
  timings.may("decode_ms", out.decode_ms);
  timings.may("preemptions", out.preemptions);
  timings.may("swapped_pages", out.swapped_pages);
  timings.may("cached_tokens", out.cached_tokens);
  timings.may("ticks", out.ticks);
}

void read_end(Members& members, RemoteEnd& out) {
  const object usage = need_object(members, "usage");
  if (!members.fine()) return;
  read_usage(usage, members.why(), out.usage);
  if (const auto value = members.find("timings")) {
    object timings;
    if (value->get(timings) != SUCCESS) return members.fail("timings");
    read_timings(timings, members.why(), out.timings);
  }
  read_list(members, "prompt_logprobs", out.prompt_logprobs,
            [](Members& entry, PromptLogprob& score) {
              read_logprob(entry, score.chosen);
              read_list(entry, "top_logprobs", score.top, read_logprob);
            });
}

void read_done(Members& members, RemoteFrame& out) {
  members.need("index", out.index);
  members.need("finish_reason", out.choice.reason);
  if (const auto reason = members.find("stop_reason")) {
    if (reason->is_string()) {
      members.need("stop_reason", out.choice.stop);
    } else {
      members.need("stop_reason", out.choice.stop_token);
    }
  }
  if (out.choice.reason == FinishReason::error) {
    const object fields = need_object(members, "error");
    if (!members.fine()) return;
    Members error(fields, "error", members.why());
    read_error(error, out.choice.error);
  }
  members.may("final", out.is_final);
  if (out.is_final) read_end(members, out.end);
}

void read_notice(Members& members, std::string_view type, Notice& out) {
  if (type == "resumed") {
    out.kind = Notice::Kind::resumed;
    return;
  }
  std::string_view how;
  members.need("how", how);
  out.how = how == "swap" ? Notice::How::swap : Notice::How::recompute;
}

RemoteFrame::Type type_of(std::string_view name) {
  using Type = RemoteFrame::Type;
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"token", Type::token}, {"accepted", Type::accepted}, {"done", Type::done},
      {"error", Type::error}, {"preempted", Type::notice},  {"resumed", Type::notice},
      {"hello", Type::hello}};
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return Type::other;
}

void read_rest(Members& members, std::string_view type, RemoteFrame& out) {
  switch (out.type) {
    case RemoteFrame::Type::hello:
      return read_hello(members, out);
    case RemoteFrame::Type::accepted:
      return read_accepted(members, out.accepted);
    case RemoteFrame::Type::token:
      return read_token(members, out.token);
    case RemoteFrame::Type::notice:
      return read_notice(members, type, out.notice);
    case RemoteFrame::Type::done:
      return read_done(members, out);
    case RemoteFrame::Type::error:
      return read_error(members, out.error);
    case RemoteFrame::Type::other:
      return;
  }
}

}  // namespace

std::optional<RemoteFrame> RemoteFrameReader::read(std::string_view text, std::string& why) {
  why.clear();
  const std::optional<element> document = parser_.parse(text, why);
  if (!document) return std::nullopt;
  object fields;
  std::string_view type;
  if (document->get(fields) != SUCCESS || fields["type"].get(type) != SUCCESS) {
    why = "a frame without a type";
    return std::nullopt;
  }
  RemoteFrame out;
  out.type = type_of(type);
  Members members(fields, type, why);
  using Type = RemoteFrame::Type;
  const bool needs_id = out.type != Type::hello && out.type != Type::other;
  if (out.type == Type::error) {
    members.may("id", out.id);
  } else if (needs_id) {
    members.need("id", out.id);
  }
  read_rest(members, type, out);
  if (!why.empty()) return std::nullopt;
  return out;
}

}  // namespace tickertape::net
