// render: the prompt that a chat template makes of messages.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>
#include <vector>

#include "tools/tickertape/chat_messages.hpp"
#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/read_file.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

using Json = nlohmann::ordered_json;

struct RenderFlags {
  std::string model;
  std::string messages;
  std::optional<std::string> tools;
  std::optional<std::string> chat_template;
  std::optional<std::string> variables;
  bool no_generation_prompt = false;
  bool json = false;
};

Json read_json(const std::string& path) {
  try {
    return Json::parse(read_file(path));
  } catch (const Json::parse_error& error) {
    throw Error(Errc::invalid_request, fmt::format("{} is not JSON: byte {}", path, error.byte));
  }
}

ChatOptions chat_options(const RenderFlags& flags, const Json& conversation) {
  ChatOptions options;
  options.add_generation_prompt = !flags.no_generation_prompt;
  if (flags.tools) {
    options.tools = read_json(*flags.tools).dump();
  } else if (conversation.is_object() && conversation.contains("tools")) {
    options.tools = conversation.at("tools").dump();
  }
  if (flags.variables) options.variables = *flags.variables;
  return options;
}

int render(const RenderFlags& flags) {
  ModelOptions model_options;
  if (flags.chat_template) {
    model_options.chat_template = read_file(*flags.chat_template);
    if (model_options.chat_template.empty()) {
      throw Error(Errc::invalid_request, *flags.chat_template + " is empty");
    }
  }
  const auto chat_template = load_model(flags.model, model_options)->chat_template();
  if (!chat_template) {
    throw Error(Errc::invalid_model,
                flags.model + ": the model has no chat template; give one with --chat-template");
  }
  const Json conversation = read_json(flags.messages);
  const auto messages = chat_messages(flags.messages, conversation);
  const auto spans = chat_template->render(messages, chat_options(flags, conversation));
  std::string prompt;
  Json parts = Json::array();
  for (const PromptSpan& span : spans) {
    prompt += span.text;
    parts.push_back({{"text", span.text}, {"from_message", span.from_message}});
  }
  if (flags.json) {
    const Json answer = {{"prompt", prompt}, {"spans", parts}};
    fmt::print("{}\n", answer.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    std::fwrite(prompt.data(), 1, prompt.size(), stdout);  // Exactly, without a line end.
  }
  return 0;
}

}  // namespace

void add_render(CLI::App& program, Action& action) {
  auto flags = std::make_shared<RenderFlags>();
  CLI::App& command =
      *program.add_subcommand("render", "The prompt that the chat template makes of messages");
  add_model(command, flags->model);
  add_option(command, "--messages", flags->messages,
             "A JSON file: a list of messages, or an object with messages and tools; - is standard "
             "input")
      ->required();
  add_option(command, "--tools", flags->tools, "A JSON file: a list of tool definitions");
  add_option(command, "--chat-template", flags->chat_template,
             "A file with the Jinja template to use instead of the model's");
  add_option(command, "--chat-template-kwargs", flags->variables,
             "Further variables of the template, as a JSON object");
  add_switch(command, "--no-generation-prompt", flags->no_generation_prompt,
             "Do not open the assistant's turn at the end");
  add_switch(command, "--json", flags->json, "Print one object: prompt, spans");
  command.callback([flags, &action] { action = [flags] { return render(*flags); }; });
}

}  // namespace tickertape::program
