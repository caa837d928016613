// TextModel: a model that is a tokenizer and a chat template and nothing else.
#pragma once
#include <memory>
#include <utility>

#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>

#include "kernels/text/load.hpp"
#include "tests/unit/formats/gguf_builder.hpp"
#include "tests/unit/formats/temp_file.hpp"

namespace tickertape::test {

class TextModel final : public Model {
 public:
  explicit TextModel(const GgufBuilder& file)
      : TextModel(kernels::formats::GgufFile::open(TempFile(file.build()).path())) {}
  explicit TextModel(const kernels::formats::GgufFile& file)
      : tokenizer_(kernels::text::make_tokenizer(file)),
        chat_template_(kernels::text::make_chat_template(file)) {
    info_.max_model_len = 4096;
    info_.vocab_size = static_cast<std::uint32_t>(tokenizer_->vocab_size());
  }

  const ModelInfo& info() const noexcept override { return info_; }
  std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }
  std::shared_ptr<const ChatTemplate> chat_template() const override { return chat_template_; }
  std::unique_ptr<Backend> make_backend(const BackendOptions&, BackendHost&,
                                        Parallel&) const override {
    throw Error(Errc::not_supported, "this model runs nothing");
  }

 private:
  ModelInfo info_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const ChatTemplate> chat_template_;
};

}  // namespace tickertape::test
