// load_model: a GGUF file as a Model.
#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>

#include "kernels/cpu/cpu_backend.hpp"
#include "kernels/cpu/memory_budget.hpp"
#include "kernels/cpu/memory_need.hpp"
#include "kernels/cpu/weights.hpp"
#include "kernels/formats/gguf.hpp"
#include "kernels/models/decoder_spec.hpp"
#include "kernels/models/llama.hpp"
#include "kernels/text/load.hpp"

namespace tickertape {
namespace kernels::models {
namespace {

ModelInfo describe(const formats::GgufFile& file, const DecoderSpec& spec) {
  ModelInfo info;
  info.name = file.path().stem().string();
  info.architecture = spec.architecture;
  info.vocab_size = spec.vocab_size;
  info.max_model_len = spec.max_model_len;
  info.num_layers = static_cast<std::uint32_t>(spec.layers.size());
  info.embedding_size = spec.embedding_size;
  info.num_heads = spec.num_heads;
  info.num_kv_heads = spec.num_kv_heads;
  info.head_size = spec.head_size;
  for (const formats::TensorInfo& tensor : file.tensors()) info.weight_bytes += tensor.size_bytes;
  return info;
}

std::vector<ModelTensor> list_tensors(const formats::GgufFile& file) {
  std::vector<ModelTensor> tensors;
  for (const formats::TensorInfo& info : file.tensors()) {
    ModelTensor& tensor = tensors.emplace_back();
    tensor.name = info.name;
    tensor.type = formats::traits(info.type).name;
    tensor.shape.assign(std::reverse_iterator(info.dims.begin() + info.num_dims),
                        std::reverse_iterator(info.dims.begin()));
    tensor.bytes = info.size_bytes;
  }
  return tensors;
}

class GgufModel final : public Model {
 public:
  GgufModel(formats::GgufFile file, DecoderSpec spec, const ModelOptions& options)
      : file_(std::move(file)),
        spec_(std::make_shared<const DecoderSpec>(std::move(spec))),
        info_(describe(file_, *spec_)),
        tensors_(list_tensors(file_)),
        tokenizer_(text::make_tokenizer(file_)),
        chat_template_(text::make_chat_template(file_, options.chat_template)) {}

  const ModelInfo& info() const noexcept override { return info_; }
  std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }
  std::shared_ptr<const ChatTemplate> chat_template() const override { return chat_template_; }

  std::span<const ModelTensor> tensors() const noexcept override { return tensors_; }

  MemoryNeed memory_need(const BackendOptions& options) const override {
    cpu::check_options(*spec_, options);
    const unsigned threads = std::max(std::thread::hardware_concurrency(), 1U);
    return cpu::memory_need(*spec_, cpu::packed_bytes(file_, *spec_), options, threads);
  }

  std::unique_ptr<Backend> make_backend(const BackendOptions& options, BackendHost& host,
                                        Parallel& parallel) const override {
    cpu::check_options(*spec_, options);  // before the weights are read: that takes seconds
    BackendOptions sized = options;
    auto loaded = weights(sized, parallel.num_members());
    return cpu::make_cpu_backend(spec_, std::move(loaded), sized, host, parallel);
  }

 private:
  /// All instruction sets read the same form, so there is one copy while anyone uses it. Throws
  /// when a backend with these options does not fit into memory; sets their num_host_pages.
  std::shared_ptr<const cpu::CpuWeights> weights(BackendOptions& options,
                                                 unsigned num_threads) const {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const cpu::CpuWeights> weights = weights_.lock();
    const std::uint64_t missing = weights ? 0 : cpu::packed_bytes(file_, *spec_);
    const cpu::MemoryBudget budget = cpu::read_memory_budget();
    options.num_host_pages = cpu::num_host_pages_of(
        cpu::memory_need(*spec_, missing, options, num_threads), options, budget);
    cpu::check_memory(cpu::memory_need(*spec_, missing, options, num_threads), options, budget);
    if (!weights) {
      weights = std::make_shared<const cpu::CpuWeights>(file_, *spec_);
      weights_ = weights;
    }
    return weights;
  }

  formats::GgufFile file_;
  std::shared_ptr<const DecoderSpec> spec_;
  ModelInfo info_;
  std::vector<ModelTensor> tensors_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const ChatTemplate> chat_template_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const cpu::CpuWeights> weights_;
};

}  // namespace
}  // namespace kernels::models

std::shared_ptr<const Model> load_model(const std::filesystem::path& path,
                                        const ModelOptions& options) {
  using namespace kernels;
  formats::GgufFile file = formats::GgufFile::open(path);
  const std::string_view architecture = file.get_string("general.architecture");
  if (architecture != "llama") {
    file.fail("general.architecture is \"" + std::string(architecture) + "\"; llama is supported");
  }
  models::DecoderSpec spec = models::read_llama_spec(file);
  return std::make_shared<models::GgufModel>(std::move(file), std::move(spec), options);
}

}  // namespace tickertape
