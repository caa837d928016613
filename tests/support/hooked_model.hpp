// HookedModel: another model with a hook in its tokenizer, to make it slow or faulty.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tickertape/model.hpp>

namespace tickertape::test {

/// Called before the real tokenizer, on whatever thread that is; may block or throw. May be empty.
struct TokenizerHooks {
  std::function<void(std::string_view)> on_encode;
  std::function<void(TokenId)> on_bytes;
};

class HookedTokenizer final : public Tokenizer {
 public:
  HookedTokenizer(std::shared_ptr<const Tokenizer> real, TokenizerHooks hooks)
      : real_(std::move(real)), hooks_(std::move(hooks)) {}

  std::vector<TokenId> encode(std::string_view text, bool parse_special) const override {
    if (hooks_.on_encode) hooks_.on_encode(text);
    return real_->encode(text, parse_special);
  }
  std::vector<TokenId> encode_spans(std::span<const PromptSpan> spans) const override {
    return real_->encode_spans(spans);
  }
  std::string_view bytes(TokenId id) const override {
    if (hooks_.on_bytes) hooks_.on_bytes(id);
    return real_->bytes(id);
  }
  bool is_control(TokenId id) const override { return real_->is_control(id); }
  std::size_t vocab_size() const noexcept override { return real_->vocab_size(); }
  std::span<const TokenId> end_tokens() const noexcept override { return real_->end_tokens(); }
  TokenId begin_token() const noexcept override { return real_->begin_token(); }
  std::size_t longest_token() const noexcept override { return real_->longest_token(); }

 private:
  std::shared_ptr<const Tokenizer> real_;
  TokenizerHooks hooks_;
};

class HookedModel final : public Model {
 public:
  HookedModel(std::shared_ptr<const Model> real, TokenizerHooks hooks)
      : real_(std::move(real)),
        tokenizer_(std::make_shared<HookedTokenizer>(real_->tokenizer(), std::move(hooks))) {}
  const ModelInfo& info() const noexcept override { return real_->info(); }
  std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }
  std::shared_ptr<const ChatTemplate> chat_template() const override {
    return real_->chat_template();
  }
  std::unique_ptr<Backend> make_backend(const BackendOptions& options, BackendHost& host,
                                        Parallel& parallel) const override {
    return real_->make_backend(options, host, parallel);
  }

 private:
  std::shared_ptr<const Model> real_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace tickertape::test
