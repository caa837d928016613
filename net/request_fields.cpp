// SubmitFields: the table of fields, and the rules that concern more than one of them.
#include "net/request_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "net/list_fields.hpp"
#include "net/message_fields.hpp"

namespace tickertape::net {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr double kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr double kMinInt32 = std::numeric_limits<std::int32_t>::min();
constexpr double kMaxTopLogprobs = 20;
constexpr double kMaxWindow = 65536;
constexpr double kMaxRepetitionPenalty = 10;
constexpr std::size_t kMaxLabelBytes = 256;

/// What the fields say before the rules that concern several of them.
struct Draft {
  SubmitFields fields;
  const ServedModel* served = nullptr;
  std::optional<std::uint32_t> max_tokens;
  std::optional<std::uint32_t> max_completion_tokens;
  bool logprobs = false;
  std::int32_t top_logprobs = 0;
  unsigned num_prompts = 0;
  std::optional<std::int64_t> best_of;
  std::optional<bool> add_generation_prompt;
};

using SetInteger = void (*)(Draft&, std::int64_t);
using SetNumber = void (*)(Draft&, double);
using SetFlag = void (*)(Draft&, bool);
using Read = Refusal (*)(Draft&, const element&);

struct Field {
  std::string_view name;
  std::variant<SetInteger, SetNumber, SetFlag, Read> read;
  double least = 0;  ///< Of integers and numbers, both ends included.
  double most = 0;
};

Refusal apply(const Field& field, SetInteger set, Draft& draft, const element& value) {
  const auto number = read_integer(value, static_cast<std::int64_t>(field.least),
                                   static_cast<std::int64_t>(field.most));
  if (!number) {
    return FieldError(field.name, fmt::format("{} must be an integer from {:.0f} to {:.0f}",
                                              field.name, field.least, field.most));
  }
  set(draft, *number);
  return std::nullopt;
}

Refusal apply(const Field& field, SetNumber set, Draft& draft, const element& value) {
  double number = 0;
  if (value.get(number) != SUCCESS || number < field.least || number > field.most) {
    return FieldError(field.name, fmt::format("{} must be a number from {} to {}", field.name,
                                              field.least, field.most));
  }
  set(draft, number);
  return std::nullopt;
}

Refusal apply(const Field& field, SetFlag set, Draft& draft, const element& value) {
  bool flag = false;
  if (value.get(flag) != SUCCESS) {
    return FieldError(field.name, fmt::format("{} must be true or false", field.name));
  }
  set(draft, flag);
  return std::nullopt;
}

Refusal apply(const Field&, Read read, Draft& draft, const element& value) {
  return read(draft, value);
}

Refusal read_seed(Draft& draft, const element& value) {
  std::uint64_t big = 0;
  if (value.get(big) == SUCCESS) {
    draft.fields.request.sampling.seed = big;
    return std::nullopt;
  }
  const auto number = read_integer(value, std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max());
  if (!number) return FieldError("seed", "seed must be an integer of 64 bits");
  draft.fields.request.sampling.seed = static_cast<std::uint64_t>(*number);
  return std::nullopt;
}

/// true or false, or the count of the older completions API.
Refusal read_logprobs(Draft& draft, const element& value) {
  if (value.get(draft.logprobs) == SUCCESS) return std::nullopt;
  const auto count = read_integer(value, 0, static_cast<std::int64_t>(kMaxTopLogprobs));
  if (!count) {
    return FieldError("logprobs", "logprobs must be true, false or an integer from 0 to 20");
  }
  draft.logprobs = true;
  draft.top_logprobs = std::max(draft.top_logprobs, static_cast<std::int32_t>(*count));
  return std::nullopt;
}

Refusal read_repetition_penalty(Draft& draft, const element& value) {
  double penalty = 0;
  if (value.get(penalty) != SUCCESS || penalty <= 0 || penalty > kMaxRepetitionPenalty) {
    return FieldError("repetition_penalty",
                      "repetition_penalty must be a number above 0 and at most 10");
  }
  draft.fields.request.sampling.repetition_penalty = penalty;
  return std::nullopt;
}

Refusal read_stop_strings(Draft& draft, const element& value) {
  return read_stop(value, draft.fields.request.stop);
}

Refusal read_stop_ids(Draft& draft, const element& value) {
  return read_token_ids("stop_token_ids", value, draft.served->vocab_size,
                        draft.fields.request.sampling.stop_token_ids);
}

Refusal read_allowed_ids(Draft& draft, const element& value) {
  return read_token_ids("allowed_token_ids", value, draft.served->vocab_size,
                        draft.fields.request.sampling.allowed_token_ids);
}

Refusal read_biases(Draft& draft, const element& value) {
  return read_logit_bias(value, draft.served->vocab_size, draft.fields.request.sampling.logit_bias);
}

Refusal read_template_variables(Draft& draft, const element& value) {
  if (!value.is_object()) {
    return FieldError("chat_template_kwargs", "chat_template_kwargs must be an object");
  }
  draft.fields.request.chat.variables = simdjson::minify(value);
  return std::nullopt;
}

Refusal read_events(Draft& draft, const element& value) {
  array names;
  const FieldError error("events", "events must be a list of: preempted, resumed");
  if (value.get(names) != SUCCESS) return error;
  for (const element item : names) {
    std::string_view name;
    if (item.get(name) != SUCCESS || (name != "preempted" && name != "resumed")) return error;
    draft.fields.notices = true;
  }
  return std::nullopt;
}

Refusal read_model(Draft& draft, const element& value) {
  std::string_view name;
  if (value.get(name) != SUCCESS) return FieldError("model", "model must be a string");
  if (name == draft.served->name) return std::nullopt;
  return FieldError("model", "this model is not served here; GET /v1/models lists what is", 404);
}

Refusal read_label(const char* field, const element& value, std::string& target) {
  std::string_view text;
  if (value.get(text) != SUCCESS || text.size() > kMaxLabelBytes) {
    return FieldError(field, std::string(field) + " must be a string of at most 256 bytes");
  }
  target = text;
  return std::nullopt;
}

Refusal read_user(Draft& draft, const element& value) {
  return read_label("user", value, draft.fields.request.label);
}

Refusal read_cache_salt(Draft& draft, const element& value) {
  return read_label("cache_salt", value, draft.fields.request.cache_salt);
}

template <Refusal (*read)(const element&, std::uint32_t, Request&)>
Refusal read_what_to_run(Draft& draft, const element& value) {
  ++draft.num_prompts;
  return read(value, draft.served->vocab_size, draft.fields.request);
}

/// Settings of the request's sampling, by the name and range of the field.
template <double SamplingParams::* member>
void set_sampling(Draft& draft, double value) {
  draft.fields.request.sampling.*member = value;
}

const Field kFields[] = {
    {"prompt", Read(read_what_to_run<read_prompt>)},
    {"prompt_ids", Read(read_what_to_run<read_prompt_ids>)},
    {"messages", Read(read_what_to_run<read_messages>)},
    {"max_tokens",
     SetInteger([](Draft& d, std::int64_t v) { d.max_tokens = static_cast<std::uint32_t>(v); }), 0,
     kMaxInt32},
    {"max_completion_tokens", SetInteger([](Draft& d, std::int64_t v) {
       d.max_completion_tokens = static_cast<std::uint32_t>(v);
     }),
     0, kMaxInt32},
    {"temperature", SetNumber(set_sampling<&SamplingParams::temperature>), 0, 2},
    {"top_p", SetNumber(set_sampling<&SamplingParams::top_p>), 0, 1},
    {"top_k", SetInteger([](Draft& d, std::int64_t v) {
       d.fields.request.sampling.top_k = static_cast<std::int32_t>(v);
     }),
     -1, kMaxInt32},
    {"min_p", SetNumber(set_sampling<&SamplingParams::min_p>), 0, 1},
    {"typical_p", SetNumber(set_sampling<&SamplingParams::typical_p>), 0, 1},
    {"repetition_penalty", Read(read_repetition_penalty)},
    {"frequency_penalty", SetNumber(set_sampling<&SamplingParams::frequency_penalty>), -2, 2},
    {"presence_penalty", SetNumber(set_sampling<&SamplingParams::presence_penalty>), -2, 2},
    {"logit_bias", Read(read_biases)},
    {"allowed_token_ids", Read(read_allowed_ids)},
    {"seed", Read(read_seed)},
    {"ignore_eos", SetFlag([](Draft& d, bool v) { d.fields.request.sampling.ignore_eos = v; })},
    {"min_tokens", SetInteger([](Draft& d, std::int64_t v) {
       d.fields.request.sampling.min_tokens = static_cast<std::uint32_t>(v);
     }),
     0, kMaxInt32},
    {"stop", Read(read_stop_strings)},
    {"stop_token_ids", Read(read_stop_ids)},
    {"include_stop_str_in_output",
     SetFlag([](Draft& d, bool v) { d.fields.request.include_stop_str_in_output = v; })},
    {"logprobs", Read(read_logprobs)},
    {"top_logprobs", SetInteger([](Draft& d, std::int64_t v) {
       d.top_logprobs = std::max(d.top_logprobs, static_cast<std::int32_t>(v));
     }),
     0, kMaxTopLogprobs},
    {"prompt_logprobs", SetInteger([](Draft& d, std::int64_t v) {
       d.fields.request.prompt_logprobs = static_cast<std::int32_t>(v);
     }),
     0, kMaxTopLogprobs},
    {"n", SetInteger([](Draft& d, std::int64_t v) {
       d.fields.request.n = static_cast<std::uint32_t>(v);
     }),
     1, kMaxInt32},
    {"best_of", SetInteger([](Draft& d, std::int64_t v) { d.best_of = v; }), 1, kMaxInt32},
    {"add_generation_prompt", SetFlag([](Draft& d, bool v) { d.add_generation_prompt = v; })},
    {"continue_final_message",
     SetFlag([](Draft& d, bool v) { d.fields.request.chat.continue_final_message = v; })},
    {"chat_template_kwargs", Read(read_template_variables)},
    {"priority", SetInteger([](Draft& d, std::int64_t v) {
       d.fields.request.priority = static_cast<std::int32_t>(v);
     }),
     kMinInt32, kMaxInt32},
    {"deadline_ms", SetNumber([](Draft& d, double v) { d.fields.request.deadline_ms = v; }), 1,
     1e9},
    {"window",
     SetInteger([](Draft& d, std::int64_t v) { d.fields.window = static_cast<std::uint32_t>(v); }),
     1, kMaxWindow},
    {"events", Read(read_events)},
    {"model", Read(read_model)},
    {"user", Read(read_user)},
    {"cache_salt", Read(read_cache_salt)},
};

bool is_empty(const element& value) {
  array items;
  if (value.get(items) == SUCCESS) return items.size() == 0;
  object fields;
  if (value.get(fields) == SUCCESS) return fields.size() == 0;
  return false;
}

template <bool flag>
bool is_flag(const element& value) {
  bool given = false;
  return value.get(given) == SUCCESS && given == flag;
}

bool is_empty_text(const element& value) {
  std::string_view text;
  return value.get(text) == SUCCESS && text.empty();
}

bool is_text_format(const element& value) {
  std::string_view type;
  return value.is_object() && value["type"].get(type) == SUCCESS && type == "text";
}

bool is_no_tool_choice(const element& value) {
  std::string_view choice;
  return value.get(choice) == SUCCESS && (choice == "none" || choice == "auto");
}

/// A field that is known and not served, and the values of it that change nothing.
struct UnservedField {
  std::string_view name;
  bool (*is_neutral)(const element&);
};

constexpr UnservedField kUnservedFields[] = {
    {"echo", is_flag<false>},   {"suffix", is_empty_text},
    {"adapter", is_empty_text}, {"response_format", is_text_format},
    {"tools", is_empty},        {"tool_choice", is_no_tool_choice},
    {"functions", is_empty},
};

Refusal read_field(Draft& draft, std::string_view name, const element& value) {
  if (value.is_null()) return std::nullopt;
  for (const Field& field : kFields) {
    if (field.name != name) continue;
    return std::visit([&](auto read) { return apply(field, read, draft, value); }, field.read);
  }
  for (const UnservedField& field : kUnservedFields) {
    if (field.name != name || field.is_neutral(value)) continue;
    return FieldError(field.name, fmt::format("{} is not supported by this version", field.name));
  }
  return std::nullopt;
}

Refusal finish_chat(Draft& draft) {
  ChatOptions& chat = draft.fields.request.chat;
  chat.add_generation_prompt = draft.add_generation_prompt.value_or(!chat.continue_final_message);
  if (!chat.add_generation_prompt || !chat.continue_final_message) return std::nullopt;
  return FieldError("continue_final_message",
                    "continue_final_message needs add_generation_prompt to be false");
}

Refusal finish_lengths(Draft& draft) {
  Request& request = draft.fields.request;
  if (draft.max_tokens || draft.max_completion_tokens) {
    constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    request.max_tokens =
        std::min(draft.max_tokens.value_or(kNone), draft.max_completion_tokens.value_or(kNone));
  }
  if (request.max_tokens == 0 && request.prompt_logprobs < 0) {
    const bool older = draft.max_tokens == 0U;
    const std::string_view name = older ? "max_tokens" : "max_completion_tokens";
    return FieldError(name, fmt::format("{} must be at least 1 without prompt_logprobs", name));
  }
  if (request.sampling.min_tokens > request.max_tokens) {
    return FieldError(
        "min_tokens",
        fmt::format("min_tokens must be at most max_tokens, which is {}", request.max_tokens));
  }
  return std::nullopt;
}

Refusal finish(Draft& draft) {
  Request& request = draft.fields.request;
  if (draft.num_prompts != 1) {
    return FieldError("prompt", "give exactly one of prompt, prompt_ids and messages");
  }
  if (auto refusal = finish_lengths(draft)) return refusal;
  if (auto refusal = finish_chat(draft)) return refusal;
  if (draft.best_of && *draft.best_of != std::int64_t{request.n}) {
    return FieldError("best_of", "best_of must equal n: every choice is given");
  }
  if (draft.top_logprobs > 0 && !draft.logprobs) {
    return FieldError("top_logprobs", "top_logprobs needs logprobs to be true");
  }
  request.sampling.logprobs = draft.logprobs ? draft.top_logprobs : -1;
  return std::nullopt;
}

}  // namespace

Refusal read_submit_fields(object body, const ServedModel& served, SubmitFields& out) {
  Draft draft;
  draft.served = &served;
  for (const auto field : body) {
    if (auto refusal = read_field(draft, field.key, field.value)) return refusal;
  }
  if (auto refusal = finish(draft)) return refusal;
  out = std::move(draft.fields);
  return std::nullopt;
}

}  // namespace tickertape::net
