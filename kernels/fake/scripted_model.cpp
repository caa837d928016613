// make_scripted_model: a script joined with a tokenizer.
#include <algorithm>
#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>
#include <tickertape/scripted.hpp>
#include <utility>

#include "kernels/fake/scripted_backend.hpp"
#include "kernels/fake/scripted_tokenizer.hpp"
#include "kernels/text/jinja_template.hpp"
#include "kernels/text/load.hpp"

namespace tickertape {
namespace {

using kernels::fake::ScriptedAnswer;
using kernels::fake::ScriptedAnswers;
using kernels::fake::ScriptedTokenizer;

class ScriptedModel final : public Model {
 public:
  ScriptedModel(ModelInfo info, std::shared_ptr<const ScriptedAnswers> answers,
                std::shared_ptr<const ChatTemplate> chat_template)
      : info_(std::move(info)),
        answers_(std::move(answers)),
        chat_template_(std::move(chat_template)) {}

  [[nodiscard]] const ModelInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::shared_ptr<const Tokenizer> tokenizer() const override {
    return answers_->tokenizer;
  }
  [[nodiscard]] std::shared_ptr<const ChatTemplate> chat_template() const override {
    return chat_template_;
  }
  [[nodiscard]] std::unique_ptr<Backend> make_backend(const BackendOptions& options,
                                                      BackendHost& host, Parallel&) const override {
    return std::make_unique<kernels::fake::ScriptedBackend>(answers_, options, host);
  }

 private:
  ModelInfo info_;
  std::shared_ptr<const ScriptedAnswers> answers_;
  std::shared_ptr<const ChatTemplate> chat_template_;
};

[[noreturn]] void fail(const std::string& field, const std::string& what) {
  throw Error(ErrorInfo{Errc::invalid_request, "script: " + field + " " + what, field, 0});
}

/// `name` is the rule's, for messages; pieces have ids from `first_piece` on.
[[nodiscard]] ScriptedAnswer resolve(ScriptRule rule, const std::string& name,
                                     const Tokenizer& tokenizer, std::size_t first_piece) {
  ScriptedAnswer answer;
  for (const TokenId token : rule.tokens) {
    if (token < 0 || static_cast<std::size_t>(token) >= tokenizer.vocab_size()) {
      fail(name + ".tokens", "has a token outside of the vocabulary: " + std::to_string(token));
    }
    answer.tokens.push_back(token);
  }
  for (const std::uint32_t piece : rule.pieces) {
    if (piece >= tokenizer.vocab_size() - first_piece) {
      fail(name + ".pieces", "has a piece that does not exist: " + std::to_string(piece));
    }
    answer.tokens.push_back(static_cast<TokenId>(first_piece + piece));
  }
  const std::vector<TokenId> text = tokenizer.encode(rule.text, false);
  answer.tokens.insert(answer.tokens.end(), text.begin(), text.end());
  answer.rule = std::move(rule);
  return answer;
}

[[nodiscard]] std::shared_ptr<const ScriptedAnswers> resolve_all(
    Script& script, std::shared_ptr<const Tokenizer> base) {
  constexpr double kNsPerMs = 1e6;
  auto answers = std::make_shared<ScriptedAnswers>();
  const std::size_t first_piece = base->vocab_size();
  const auto tokenizer = std::make_shared<ScriptedTokenizer>(base, std::move(script.pieces));
  for (std::size_t i = 0; i < script.rules.size(); ++i) {
    answers->answers.push_back(resolve(
        std::move(script.rules[i]), "rules[" + std::to_string(i) + "]", *tokenizer, first_piece));
  }
  answers->answers.push_back(
      resolve(std::move(script.fallback), "default", *tokenizer, first_piece));
  answers->tokenizer = tokenizer;
  answers->probe = script.probe ? script.probe : std::make_shared<ScriptedProbe>();
  answers->vocab_size = static_cast<std::uint32_t>(tokenizer->vocab_size());
  const std::vector<TokenId> filler = tokenizer->encode("a", false);
  answers->filler = filler.empty() ? 0 : filler.front();
  const auto ends = tokenizer->end_tokens();
  answers->end_token = ends.empty() ? answers->filler : ends.front();
  answers->tick_ns = static_cast<std::int64_t>(script.tick_ms * kNsPerMs);
  answers->prefill_ns_per_token = script.prefill_ms_per_token * kNsPerMs;
  return answers;
}

}  // namespace

std::shared_ptr<const Model> make_scripted_model(Script script, std::shared_ptr<const Model> base) {
  constexpr std::uint32_t kDefaultMaxModelLen = 2048;
  ModelInfo info;
  info.name = "scripted";
  info.architecture = "scripted";
  info.max_model_len = kDefaultMaxModelLen;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;
  if (base) {
    info = base->info();
    tokenizer = base->tokenizer();
    chat_template = base->chat_template();
  } else {
    using kernels::text::JinjaTemplate;
    chat_template = std::make_shared<JinjaTemplate>(std::string(kernels::text::chat_ml_source()),
                                                    JinjaTemplate::Options{});
  }
  if (!tokenizer) tokenizer = kernels::text::make_byte_tokenizer();
  if (script.max_model_len > 0) info.max_model_len = script.max_model_len;
  auto answers = resolve_all(script, std::move(tokenizer));
  // A model's logits may be wider than its tokenizer.
  info.vocab_size = std::max(info.vocab_size, answers->vocab_size);
  return std::make_shared<ScriptedModel>(std::move(info), std::move(answers),
                                         std::move(chat_template));
}

}  // namespace tickertape
