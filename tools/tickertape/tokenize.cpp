// tokenize and detokenize: text to token ids, and back.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>
#include <vector>

#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/read_file.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

using Json = nlohmann::ordered_json;

struct TextFlags {
  std::string model;
  std::optional<std::string> text;
  std::vector<std::string> words;
  std::optional<std::string> file;
  bool no_special = false;
  bool json = false;
};

std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& path) {
  auto tokenizer = load_model(path)->tokenizer();
  if (!tokenizer) throw Error(Errc::invalid_model, path + ": the model has no tokenizer");
  return tokenizer;
}

int tokenize(const TextFlags& flags) {
  const std::string text = flags.file ? read_file(*flags.file) : *flags.text;
  const auto tokenizer = open_tokenizer(flags.model);
  std::vector<TokenId> ids = tokenizer->encode(text, !flags.no_special);
  if (const TokenId begin = tokenizer->begin_token(); begin >= 0 && !flags.no_special) {
    ids.insert(ids.begin(), begin);
  }
  if (flags.json) {
    fmt::print("{}\n", Json{{"ids", ids}, {"count", ids.size()}}.dump());
  } else {
    fmt::print("{}\n", fmt::join(ids, " "));
  }
  return 0;
}

std::vector<TokenId> given_ids(const TextFlags& flags) {
  if (flags.file) return parse_ids(*flags.file, read_file(*flags.file));
  std::vector<TokenId> ids;
  for (const std::string& word : flags.words) {
    const auto some = parse_ids("ID", word);
    ids.insert(ids.end(), some.begin(), some.end());
  }
  return ids;
}

int detokenize(const TextFlags& flags) {
  const std::vector<TokenId> ids = given_ids(flags);
  const auto tokenizer = open_tokenizer(flags.model);
  std::string text;
  for (const TokenId id : ids) {
    if (static_cast<std::size_t>(id) >= tokenizer->vocab_size()) {
      throw Error(Errc::invalid_request,
                  fmt::format("{} is no id of this model's vocabulary, which has {}", id,
                              tokenizer->vocab_size()));
    }
    if (!flags.no_special || !tokenizer->is_control(id)) text += tokenizer->bytes(id);
  }
  if (flags.json) {
    fmt::print("{}\n", Json{{"text", text}}.dump(-1, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  // The bytes as they are; a line end only for a reader at a terminal.
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (::isatty(STDOUT_FILENO) == 1) std::fputc('\n', stdout);
  return 0;
}

/// Positional words and --file: exactly one of the two. (Not an option group of CLI11: those do not
/// see what stands behind "--".)
void check_source(const CLI::Option& words, const TextFlags& flags) {
  if (words.count() == 0 && !flags.file) {
    throw CLI::RequiredError(words.get_name(true) + " or --file");
  }
}

}  // namespace

void add_tokenize(CLI::App& program, Action& action) {
  auto flags = std::make_shared<TextFlags>();
  CLI::App& command = *program.add_subcommand("tokenize", "Text to token ids, on one line");
  add_model(command, flags->model);
  CLI::Option* text = command.add_option("TEXT", flags->text, "The text");
  add_option(command, "--file", flags->file, "The text's file; - is standard input")
      ->excludes(text);
  add_switch(command, "--no-special", flags->no_special,
             "Take control tokens in the text as plain text, and add none");
  add_switch(command, "--json", flags->json, "Print one object: ids, count");
  command.callback([flags, text, &action] {
    check_source(*text, *flags);
    action = [flags] { return tokenize(*flags); };
  });
}

void add_detokenize(CLI::App& program, Action& action) {
  auto flags = std::make_shared<TextFlags>();
  CLI::App& command = *program.add_subcommand("detokenize", "Token ids to their text");
  add_model(command, flags->model);
  CLI::Option* ids = command.add_option("ID", flags->words, "Token ids")->check(id_list());
  add_option(command, "--file", flags->file, "A file of token ids; - is standard input")
      ->excludes(ids);
  add_switch(command, "--no-special", flags->no_special, "Leave control tokens out");
  add_switch(command, "--json", flags->json, "Print one object: text");
  command.callback([flags, ids, &action] {
    check_source(*ids, *flags);
    action = [flags] { return detokenize(*flags); };
  });
}

}  // namespace tickertape::program
