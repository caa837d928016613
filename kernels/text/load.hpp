// Loading of tokenizers and chat templates from a model file.
#pragma once
#include <memory>
#include <string_view>

#include <tickertape/chat_template.hpp>
#include <tickertape/tokenizer.hpp>

#include "kernels/formats/gguf.hpp"

namespace tickertape::kernels::text {

/// The tokenizer of a model file; nullptr when it has none. Throws tickertape::Error(invalid_model)
/// that names the key when it has one that cannot be used.
///
/// Supported is `gpt2` (byte-level BPE) with the pre-tokenizers `gpt-2`, which is also meant when
/// the file names none, and `smollm`. Of two tokens with the same text the first id is used when
/// encoding; both decode. A merge whose halves or product are not in the vocabulary is passed over.
///
/// The end tokens are those that the file names, the control tokens that known model families end a
/// turn or a text with, and the control token that the file's chat template writes behind an
/// answer.
[[nodiscard]] std::shared_ptr<const Tokenizer> make_tokenizer(const formats::GgufFile& gguf);

/// The chat template of a model file; nullptr when it has none. One that cannot be read is kept and
/// reported when it is rendered. Of several that the file names, the default is used, and
/// "tool_use" for requests with tools. `source`, unless empty, is used instead of all of them; then
/// Error(Errc::invalid_request) is thrown at once when it cannot be read.
[[nodiscard]] std::shared_ptr<const ChatTemplate> make_chat_template(const formats::GgufFile& gguf,
                                                                     std::string_view source = {});

/// A tokenizer without a model: ids 0 to 255 are bytes, 256 is `<|begin|>`, the begin token, and
/// 257 is `<|end|>`, the end token.
[[nodiscard]] std::shared_ptr<const Tokenizer> make_byte_tokenizer();

}  // namespace tickertape::kernels::text
