// Answer JSON: an answer as --json prints it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tools/tickertape/run_request.hpp"

namespace tickertape::program {

/// {"prompt_ids", "ids", "text", "finish_reason", "seed", "usage", "timings"} of the first choice;
/// "stop_reason" (the stop string or token) where there is one; "logprobs" and "prompt_logprobs"
/// where they were asked for; "choices" where there are several.
[[nodiscard]] nlohmann::ordered_json answer_json(const Answer& answer, bool logprobs,
                                                 bool prompt_logprobs);

/// One line of valid UTF-8.
[[nodiscard]] std::string one_line(const nlohmann::ordered_json& json);

/// The text of one choice.
[[nodiscard]] std::string text_of(const Answer& answer, std::uint32_t index);

}  // namespace tickertape::program
