// Preparer: a request's fields checked, and its prompt as token ids.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>
#include <tickertape/request.hpp>

namespace tickertape::actors {

/// The limits in force.
struct RequestLimits {
  std::uint32_t max_model_len = 0;  ///< Prompt and generated tokens.
  std::uint32_t vocab_size = 0;     ///< Ids at and above it are refused.
  std::uint32_t max_num_seqs = 1;   ///< Most choices of a request.
};

/// A request that was found good.
struct Prepared {
  std::vector<TokenId> ids;
  std::uint32_t max_tokens = 0;  ///< To generate, after clipping to the context.
};

/// Knows the model and nothing of the engine's state. Thread rules: any thread.
class Preparer {
 public:
  Preparer(std::shared_ptr<const Model> model, RequestLimits limits);

  /// What can be said without reading the text: fields, sizes, ids.
  [[nodiscard]] std::optional<ErrorInfo> check(const Request& request) const;

  /// The prompt's ids. REQUIRES: check() found nothing.
  [[nodiscard]] std::variant<Prepared, ErrorInfo> read(const Request& request) const;

  /// Both.
  [[nodiscard]] std::variant<Prepared, ErrorInfo> prepare(const Request& request) const;

  /// Whether prepare() takes so long that no reactor should wait for it: text beyond 4 KiB.
  [[nodiscard]] static bool takes_long(const Request& request);

  [[nodiscard]] const std::shared_ptr<const Tokenizer>& tokenizer() const noexcept {
    return tokenizer_;
  }

 private:
  [[nodiscard]] std::optional<ErrorInfo> check_text(const Request& request) const;
  [[nodiscard]] std::optional<ErrorInfo> check_sampled_ids(const SamplingParams& sampling) const;
  [[nodiscard]] std::optional<ErrorInfo> check_id(TokenId id, const std::string& param) const;
  [[nodiscard]] std::vector<TokenId> read_prompt(const Request& request) const;

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  RequestLimits limits_;
};

}  // namespace tickertape::actors
