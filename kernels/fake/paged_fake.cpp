// make_paged_fake_model: the model around the paged fake's backend.
#include <tickertape/errors.hpp>
#include <tickertape/fake.hpp>
#include <tickertape/model.hpp>
#include <utility>

#include "kernels/fake/fake_info.hpp"
#include "kernels/fake/fake_tokenizer.hpp"
#include "kernels/fake/paged_fake_backend.hpp"

namespace tickertape {
namespace {

class PagedFakeModel final : public Model {
 public:
  explicit PagedFakeModel(PagedFakeOptions options)
      : options_(std::move(options)),
        tokenizer_(std::make_shared<kernels::fake::FakeTokenizer>(options_.vocab_size)) {
    info_.name = "paged_fake";
    info_.architecture = "paged_fake";
    info_.vocab_size = options_.vocab_size;
    info_.max_model_len = options_.max_model_len;
    info_.num_layers = 1;
    info_.embedding_size = options_.embedding_size;
    info_.num_heads = 1;
    info_.num_kv_heads = 1;
    info_.head_size = options_.embedding_size;
  }

  [[nodiscard]] const ModelInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }
  [[nodiscard]] std::shared_ptr<const ChatTemplate> chat_template() const override { return {}; }
  [[nodiscard]] std::unique_ptr<Backend> make_backend(const BackendOptions& options,
                                                      BackendHost& host, Parallel&) const override {
    return std::make_unique<kernels::fake::PagedFakeBackend>(options_, options, host);
  }

 private:
  PagedFakeOptions options_;
  ModelInfo info_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace

std::shared_ptr<const Model> make_paged_fake_model(PagedFakeOptions options) {
  if (options.vocab_size < 2) {
    throw Error(ErrorInfo{Errc::invalid_request, "vocab_size must be at least 2", "vocab_size", 0});
  }
  for (const LayerGroup& group : options.windows) {
    if (group.window > 0) continue;
    throw Error(ErrorInfo{Errc::invalid_request,
                          "windows: a layer group beside the first needs one", "windows", 0});
  }
  return std::make_shared<PagedFakeModel>(std::move(options));
}

}  // namespace tickertape
