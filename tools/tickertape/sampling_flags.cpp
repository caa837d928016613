// Sampling flags: the fields of a request that shape its answer, as flags.
#include "tools/tickertape/sampling_flags.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

/// "ID:BIAS,ID:BIAS"; white space separates as well.
std::vector<LogitBias> parse_biases(const std::string& text) {
  std::vector<LogitBias> biases;
  std::size_t place = 0;
  while (place < text.size()) {
    const std::size_t end = std::min(text.find_first_of(", \n\t", place), text.size());
    const std::string entry = text.substr(place, end - place);
    place = end + 1;
    if (entry.empty()) continue;
    const std::size_t colon = entry.find(':');
    LogitBias bias;
    const auto [stopped, error] =
        std::from_chars(entry.data(), entry.data() + std::min(colon, entry.size()), bias.token);
    char* number_end = nullptr;
    const bool has_number = colon != std::string::npos && colon + 1 < entry.size();
    if (has_number) bias.bias = std::strtof(entry.c_str() + colon + 1, &number_end);
    if (error != std::errc() || !has_number || *stopped != ':' || *number_end != '\0') {
      throw CLI::ValidationError("--logit-bias", fmt::format("'{}' is not ID:BIAS", entry));
    }
    biases.push_back(bias);
  }
  return biases;
}

void add_ids(CLI::App& command, const std::string& flag, std::vector<TokenId>& target,
             const std::string& help) {
  const auto set = [&target, flag](const std::string& text) { target = parse_ids(flag, text); };
  command.add_option_function<std::string>(flag, set, help)
      ->envname(environment_name(flag))
      ->check(id_list());
}

void add_filter_flags(CLI::App& command, SamplingParams& sampling) {
  add_option(command, "--temperature", sampling.temperature, "0 takes the most likely token")
      ->check(in_range(0, 2));
  add_option(command, "--top-p", sampling.top_p,
             "Only the most likely tokens with this much probability together; 1 = off")
      ->check(in_range(0, 1));
  add_option(command, "--top-k", sampling.top_k, "Only so many most likely tokens; 0 = off")
      ->check(in_range(-1, 2147483647.0));
  add_option(command, "--min-p", sampling.min_p,
             "Only tokens with this fraction of the largest probability; 0 = off")
      ->check(in_range(0, 1));
  add_option(command, "--typical-p", sampling.typical_p,
             "Only the most typical tokens with this much probability together; 1 = off")
      ->check(in_range(0, 1));
  add_option(command, "--seed", sampling.seed, "Of the random numbers")
      ->check(whole_number())
      ->default_str("random");
}

void add_penalty_flags(CLI::App& command, SamplingParams& sampling) {
  add_option(command, "--repetition-penalty", sampling.repetition_penalty,
             "Logits of tokens of the prompt and the answer are divided by it; 1 = off")
      ->check(in_range(1e-6, 10));
  add_option(command, "--frequency-penalty", sampling.frequency_penalty,
             "Taken off a token's logit for each time it was generated")
      ->check(in_range(-2, 2));
  add_option(command, "--presence-penalty", sampling.presence_penalty,
             "Taken off the logit of every token that was generated")
      ->check(in_range(-2, 2));
  const auto set_bias = [&sampling](const std::string& text) {
    sampling.logit_bias = parse_biases(text);
  };
  command
      .add_option_function<std::string>("--logit-bias", set_bias,
                                        "Added to tokens' logits: \"ID:BIAS,ID:BIAS\", -100 to 100")
      ->envname(environment_name("--logit-bias"));
  add_ids(command, "--allowed-token-ids", sampling.allowed_token_ids,
          "Only these tokens are possible: \"1 2 3\"");
}

void add_stop_flags(CLI::App& command, Request& request) {
  SamplingParams& sampling = request.sampling;
  add_option(command, "--max-tokens", request.max_tokens, "Tokens to generate at most")
      ->check(in_range(1, 4294967295.0));
  add_option(command, "--min-tokens", sampling.min_tokens, "Tokens to generate before any stop")
      ->check(in_range(0, 4294967295.0));
  command.add_option("--stop", request.stop, "Text that ends the answer; may be given repeatedly")
      ->envname(environment_name("--stop"))
      ->allow_extra_args(false);
  add_switch(command, "--include-stop-str-in-output", request.include_stop_str_in_output,
             "The stop text is part of the answer");
  add_ids(command, "--stop-token-ids", sampling.stop_token_ids,
          "Tokens that end the answer: \"1 2 3\"");
  add_switch(command, "--ignore-eos", sampling.ignore_eos, "Go on after end tokens");
}

}  // namespace

void add_sampling_flags(CLI::App& command, Request& request) {
  add_stop_flags(command, request);
  add_filter_flags(command, request.sampling);
  add_penalty_flags(command, request.sampling);
}

}  // namespace tickertape::program
