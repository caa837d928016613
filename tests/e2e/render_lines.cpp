// Renders chat templates: one JSON object per line in, one per line out.
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <tickertape/errors.hpp>

#include "kernels/text/jinja_template.hpp"
#include "tools/tickertape/chat_messages.hpp"

namespace {

using Json = nlohmann::ordered_json;
using tickertape::ChatOptions;
using tickertape::kernels::text::JinjaTemplate;

/// {"template", "messages", "tools", "variables", "add_generation_prompt", "now"} to {"prompt"}, or
/// to {"error"}. Templates are read once.
class Renderer {
 public:
  Json answer(const Json& line) {
    try {
      const JinjaTemplate& chat = template_of(line);
      if (!line.contains("messages")) {
        chat.check();
        return {{"prompt", ""}};
      }
      ChatOptions options;
      options.add_generation_prompt = line.value("add_generation_prompt", true);
      options.continue_final_message = line.value("continue_final_message", false);
      if (line.contains("tools")) options.tools = line.at("tools").dump();
      if (line.contains("variables")) options.variables = line.at("variables").dump();
      std::string prompt;
      for (const auto& span :
           chat.render(tickertape::program::chat_messages("line", line), options)) {
        prompt += span.text;
      }
      return {{"prompt", prompt}};
    } catch (const tickertape::Error& error) {
      return {{"error", error.what()}, {"status", error.info().status()}};
    }
  }

 private:
  const JinjaTemplate& template_of(const Json& line) {
    const auto source = line.at("template").get<std::string>();
    const auto known = templates_.find(source);
    if (known != templates_.end()) return *known->second;
    JinjaTemplate::Options options;
    options.tokens = {.begin = "<BOS>", .end = "<EOS>", .unknown = {}, .padding = {}};
    options.clock = [now = line.value("now", std::int64_t{0})] { return now; };
    auto made = std::make_unique<JinjaTemplate>(source, std::move(options));
    return *templates_.emplace(source, std::move(made)).first->second;
  }

  std::map<std::string, std::unique_ptr<JinjaTemplate>> templates_;
};

}  // namespace

int main() {
  try {
    Renderer renderer;
    for (std::string line; std::getline(std::cin, line);) {
      const std::string answer =
          renderer.answer(Json::parse(line)).dump(-1, ' ', false, Json::error_handler_t::replace);
      std::cout << answer << '\n';
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "render_lines: %s\n", error.what());
    return 1;
  }
}
