// make_simulated_model: a shape with a tokenizer of bytes; and what its seeds stand for.
#include <algorithm>
#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>
#include <tickertape/simulated.hpp>
#include <utility>

#include "kernels/fake/fake_tokenizer.hpp"
#include "kernels/fake/length_law.hpp"
#include "kernels/fake/simulated_backend.hpp"
#include "kernels/text/jinja_template.hpp"
#include "kernels/text/load.hpp"

namespace tickertape {
namespace {

// A seed that stands for a length: mark, index and length, from the top. Below 2^63, so that it can
// be written in every JSON.
constexpr std::uint64_t kMark = 0x51ed;
constexpr unsigned kMarkBits = 48;
constexpr unsigned kLengthBits = 24;
constexpr std::uint64_t kLengthMask = (1U << kLengthBits) - 1;

class SimulatedModel final : public Model {
 public:
  explicit SimulatedModel(SimulatedOptions options)
      : options_(std::move(options)),
        tokenizer_(std::make_shared<kernels::fake::FakeTokenizer>(options_.shape.vocab_size)),
        chat_template_(std::make_shared<kernels::text::JinjaTemplate>(
            std::string(kernels::text::chat_ml_source()),
            kernels::text::JinjaTemplate::Options{})) {
    const ModelShape& shape = options_.shape;
    info_.name = shape.name;
    info_.architecture = "simulated";
    info_.vocab_size = shape.vocab_size;
    info_.max_model_len = shape.max_model_len;
    info_.num_layers = shape.num_layers;
    info_.embedding_size = shape.hidden_size;
    info_.num_heads = shape.num_heads;
    info_.num_kv_heads = shape.num_kv_heads;
    info_.head_size = shape.head_size;
    info_.weight_bytes = shape.weight_bytes();
  }

  [[nodiscard]] const ModelInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }
  [[nodiscard]] std::shared_ptr<const ChatTemplate> chat_template() const override {
    return chat_template_;
  }
  [[nodiscard]] std::unique_ptr<Backend> make_backend(const BackendOptions& options,
                                                      BackendHost& host, Parallel&) const override {
    return std::make_unique<kernels::fake::SimulatedBackend>(options_, options, host);
  }

 private:
  SimulatedOptions options_;
  ModelInfo info_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const ChatTemplate> chat_template_;
};

void check(bool good, const char* field, const std::string& rule) {
  if (!good) {
    throw Error(ErrorInfo{Errc::invalid_request, std::string(field) + " " + rule, field, 0});
  }
}

void check_options(const SimulatedOptions& options) {
  constexpr std::uint32_t kMostVocab = 1U << 24;
  constexpr std::uint32_t kMostSize = 1U << 24;
  const SimulatedDevice& device = options.device;
  check(device.bytes_per_s > 0, "bytes_per_s", "must be more than 0");
  check(device.flops_per_s > 0, "flops_per_s", "must be more than 0");
  check(device.link_bytes_per_s > 0, "link_bytes_per_s", "must be more than 0");
  check(device.pass_ns >= 0 && device.layer_ns >= 0, "pass_ns",
        "and layer_ns must not be negative");
  const auto is_percent = [](std::uint32_t value) { return value >= 1 && value <= 100; };
  check(is_percent(device.bytes_percent), "bytes_percent", "must be from 1 to 100");
  check(is_percent(device.flops_percent), "flops_percent", "must be from 1 to 100");
  const ModelShape& shape = options.shape;
  constexpr std::uint32_t kNumByteIds = 257;
  check(shape.vocab_size >= kNumByteIds && shape.vocab_size <= kMostVocab, "vocab_size",
        "must be from 257 to 2^24");
  for (const auto& [size, name] :
       {std::pair(shape.num_layers, "num_layers"), std::pair(shape.hidden_size, "hidden_size"),
        std::pair(shape.num_heads, "num_heads"), std::pair(shape.num_kv_heads, "num_kv_heads"),
        std::pair(shape.head_size, "head_size"), std::pair(shape.ffn_size, "ffn_size"),
        std::pair(shape.ffn_matrices, "ffn_matrices"), std::pair(shape.weight_bits, "weight_bits"),
        std::pair(shape.max_model_len, "max_model_len")}) {
    check(size >= 1 && size <= kMostSize, name, "must be from 1 to 2^24");
  }
}

}  // namespace

std::shared_ptr<const Model> make_simulated_model(SimulatedOptions options) {
  check_options(options);
  return std::make_shared<SimulatedModel>(std::move(options));
}

std::uint64_t simulated_seed(std::uint32_t output_tokens, std::uint64_t index) noexcept {
  const std::uint64_t length = std::clamp<std::uint64_t>(output_tokens, 1, kLengthMask);
  return (kMark << kMarkBits) | ((index & kLengthMask) << kLengthBits) | length;
}

std::uint32_t simulated_output_tokens(std::uint64_t seed, std::uint32_t choice) noexcept {
  using namespace kernels::fake;
  if (seed >> kMarkBits == kMark) {
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, seed & kLengthMask));
  }
  return std::clamp(kShareGptOut.at(seed, 0, choice), kLeastLength, kMostTogether);
}

}  // namespace tickertape
