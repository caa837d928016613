// score: the log-likelihood of a text under the model.
#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/read_file.hpp"
#include "tools/tickertape/run_request.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

struct ScoreFlags {
  EngineFlags engine;
  std::optional<std::string> file;
  std::optional<std::string> ids;
  bool json = false;
};

int score(const ScoreFlags& flags) {
  Request request;
  request.max_tokens = 0;
  request.prompt_logprobs = 0;
  if (flags.ids) {
    request.prompt_ids = parse_ids("--ids", *flags.ids);
  } else {
    request.prompt = read_file(*flags.file);
  }
  Engine engine(open_model(flags.engine), flags.engine.options);
  const Answer answer = run_request(engine, std::move(request));

  std::vector<double> nll;
  double sum = 0;
  for (const PromptLogprob& entry : answer.finish.prompt_logprobs) {
    nll.push_back(-static_cast<double>(entry.chosen.logprob));
    sum += nll.back();
  }
  if (nll.empty()) throw Error(Errc::invalid_request, "a text of one token has no likelihood");
  const double mean = sum / static_cast<double>(nll.size());
  const double perplexity = std::exp(mean);
  if (flags.json) {
    const nlohmann::ordered_json json{{"ids", answer.accepted.prompt_ids},
                                      {"nll", nll},
                                      {"mean_nll", mean},
                                      {"perplexity", perplexity}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} tokens, mean negative log-likelihood {:.4f}, perplexity {:.3f}\n",
               answer.accepted.prompt_ids.size(), mean, perplexity);
  }
  return 0;
}

}  // namespace

void add_score(CLI::App& program, Action& action) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App& command = *program.add_subcommand("score", "How likely the model finds a text");
  add_engine_flags(command, flags->engine);
  CLI::Option_group& text = *command.add_option_group("Text", "Exactly one of these");
  add_option(text, "--file", flags->file, "The text's file; - is standard input");
  add_option(text, "--ids", flags->ids, "The text as token ids: \"1 2 3\"")->check(id_list());
  text.require_option(1);
  add_switch(command, "--json", flags->json,
             "Print one object: ids, nll (of each id but the first), mean_nll, perplexity");
  command.callback([flags, &action] {
    check_engine_flags(flags->engine);
    action = [flags] { return score(*flags); };
  });
}

}  // namespace tickertape::program
