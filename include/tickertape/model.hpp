// Model: weights with their tokenizer and chat template, and the way to a backend for them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

/// One tensor of a model's file.
struct ModelTensor {
  std::string name;
  std::string type;                  ///< "Q4_1", "F32", ...
  std::vector<std::uint64_t> shape;  ///< Rows of the matrix first: [out, in].
  std::uint64_t bytes = 0;
};

/// What a backend with given options would take, before it is made.
struct MemoryNeed {
  std::uint64_t weight_bytes = 0;   ///< In the form that the backend keeps.
  std::uint64_t kv_bytes = 0;       ///< The whole pool.
  std::uint64_t scratch_bytes = 0;  ///< Activations and logits of the largest pass.
  std::uint64_t bytes_per_page = 0;
  std::uint64_t num_pages = 0;
  [[nodiscard]] std::uint64_t total_bytes() const noexcept {
    return weight_bytes + kv_bytes + scratch_bytes;
  }
};

/// How load_model() opens a file.
struct ModelOptions {
  /// The text of a chat template (Jinja) to use instead of the file's; empty = the file's.
  std::string chat_template;
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

  /// The file's tensors, in its order; none for models without a file. Valid as long as the model.
  [[nodiscard]] virtual std::span<const ModelTensor> tensors() const noexcept { return {}; }

  /// What make_backend() would take. Throws what it would throw for these options.
  [[nodiscard]] virtual MemoryNeed memory_need(const BackendOptions&) const { return {}; }

  /// A backend with its own KV pool. `host` and `parallel` must outlive it.
  /// Throws Error(Errc::invalid_model or Errc::invalid_request) with what is wrong.
  [[nodiscard]] virtual std::unique_ptr<Backend> make_backend(const BackendOptions& options,
                                                              BackendHost& host,
                                                              Parallel& parallel) const = 0;
};

/// Opens a .gguf file; checks everything that the header says against the file.
/// Throws Error(Errc::invalid_model) naming the field at fault. A chat template in the file that
/// cannot be used is no error until messages are rendered; one in `options` is.
[[nodiscard]] std::shared_ptr<const Model> load_model(const std::filesystem::path& path,
                                                      const ModelOptions& options = {});

}  // namespace tickertape
