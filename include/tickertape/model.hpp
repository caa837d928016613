// Model: weights with their tokenizer and chat template, and the way to a backend for them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <tickertape/backend.hpp>
#include <tickertape/chat_template.hpp>
#include <tickertape/options.hpp>
#include <tickertape/parallel.hpp>
#include <tickertape/tokenizer.hpp>

namespace tickertape {

struct ModelInfo {
  std::string name;          ///< The file's name without folder and ending.
  std::string architecture;  ///< "llama", ...
  std::uint32_t vocab_size = 0;
  std::uint32_t max_model_len = 0;  ///< Tokens that the model was trained for.
  std::uint32_t num_layers = 0;
  std::uint32_t embedding_size = 0;
  std::uint32_t num_heads = 0;
  std::uint32_t num_kv_heads = 0;
  std::uint32_t head_size = 0;
  std::uint64_t weight_bytes = 0;  ///< Of all tensors in the file.
};

/// A model that was opened and checked. Weights are read when the first backend is made, and shared
/// by all backends that want them in the same form; so tokenizing alone stays cheap.
///
/// Thread rules: const members may be called from any thread at the same time.
class Model {
 public:
  virtual ~Model() = default;
  [[nodiscard]] virtual const ModelInfo& info() const noexcept = 0;

  /// Null when the file holds none: then only token ids are accepted.
  [[nodiscard]] virtual std::shared_ptr<const Tokenizer> tokenizer() const = 0;

  /// Null when the file holds none, or one of a form that is not known.
  [[nodiscard]] virtual std::shared_ptr<const ChatTemplate> chat_template() const = 0;

  /// A backend with its own KV pool. `host` and `parallel` must outlive it.
  /// Throws Error(Errc::invalid_model or Errc::invalid_request) with what is wrong.
  [[nodiscard]] virtual std::unique_ptr<Backend> make_backend(const BackendOptions& options,
                                                              BackendHost& host,
                                                              Parallel& parallel) const = 0;
};

/// Opens a .gguf file; checks everything that the header says against the file.
/// Throws Error(Errc::invalid_model) naming the field at fault.
[[nodiscard]] std::shared_ptr<const Model> load_model(const std::filesystem::path& path);

}  // namespace tickertape
