// Answer JSON: an answer as --json prints it.
#include "tools/tickertape/answer_json.hpp"

#include <utility>

namespace tickertape::program {
namespace {

using Json = nlohmann::ordered_json;

Json top_json(const std::vector<TokenLogprob>& entries) {
  Json top = Json::array();
  for (const TokenLogprob& entry : entries) {
    top.push_back(Json{{"token", entry.token}, {"logprob", entry.logprob}});
  }
  return top;
}

Json usage_json(const Usage& usage) {
  return Json{{"prompt_tokens", usage.prompt_tokens},
              {"completion_tokens", usage.completion_tokens},
              {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
              {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

Json timings_json(const Timings& timings) {
  return Json{{"queued_ms", timings.queued_ms},
              {"prefill_ms", timings.prefill_ms},
              {"decode_ms", timings.decode_ms},
              {"preemptions", timings.preemptions},
              {"swapped_pages", timings.swapped_pages},
              {"cached_tokens", timings.cached_tokens},
              {"ticks", timings.ticks}};
}

/// Adds ids, text and how it ended.
void fill_choice(Json& json, const Answer& answer, std::uint32_t index) {
  Json ids = Json::array();
  for (const Token& token : answer.tokens) {
    if (token.index == index) ids.push_back(token.id);
  }
  json["ids"] = std::move(ids);
  json["text"] = text_of(answer, index);
  const ChoiceFinish& finish = answer.finish.choices.at(index);
  json["finish_reason"] = to_string(finish.reason);
  if (!finish.stop.empty()) json["stop_reason"] = finish.stop;
  if (finish.stop_token >= 0) json["stop_reason"] = finish.stop_token;
}

Json logprobs_json(const Answer& answer, std::uint32_t index) {
  Json list = Json::array();
  for (const Token& token : answer.tokens) {
    if (token.index != index) continue;
    list.push_back(Json{{"token", token.id},
                        {"logprob", token.logprob.value_or(0)},
                        {"top_logprobs", top_json(token.top_logprobs)}});
  }
  return list;
}

}  // namespace

std::string text_of(const Answer& answer, std::uint32_t index) {
  std::string text;
  for (const Token& token : answer.tokens) {
    if (token.index == index) text += token.text;
  }
  return text;
}

Json answer_json(const Answer& answer, bool logprobs, bool prompt_logprobs) {
  Json json{{"prompt_ids", answer.accepted.prompt_ids}};
  fill_choice(json, answer, 0);
  json["seed"] = answer.accepted.seed;
  json["usage"] = usage_json(answer.finish.usage);
  json["timings"] = timings_json(answer.finish.timings);
  if (logprobs) json["logprobs"] = logprobs_json(answer, 0);
  if (prompt_logprobs) {
    Json list = Json::array();
    for (const PromptLogprob& entry : answer.finish.prompt_logprobs) {
      list.push_back(Json{{"token", entry.chosen.token},
                          {"logprob", entry.chosen.logprob},
                          {"top_logprobs", top_json(entry.top)}});
    }
    json["prompt_logprobs"] = std::move(list);
  }
  if (answer.finish.choices.size() > 1) {
    Json choices = Json::array();
    for (std::uint32_t index = 0; index < answer.finish.choices.size(); ++index) {
      Json choice{{"index", index}};
      fill_choice(choice, answer, index);
      if (logprobs) choice["logprobs"] = logprobs_json(answer, index);
      choices.push_back(std::move(choice));
    }
    json["choices"] = std::move(choices);
  }
  return json;
}

std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tickertape::program
