// The fields that say what to run: prompt, prompt_ids and messages.
#pragma once
#include <simdjson.h>

#include <cstdint>
#include <tickertape/request.hpp>

#include "net/field_error.hpp"

namespace tickertape::net {

/// `prompt`: a string, a list of token ids, or a list that holds one of these.
[[nodiscard]] Refusal read_prompt(const simdjson::dom::element& value, std::uint32_t vocab_size,
                                  Request& out);

/// `prompt_ids`: a list of token ids, not empty.
[[nodiscard]] Refusal read_prompt_ids(const simdjson::dom::element& value, std::uint32_t vocab_size,
                                      Request& out);

/// `messages`: a list of objects with role and content. Content is a string, or a list of text
/// parts that are joined as they are; an assistant's may be null. Further members are kept.
[[nodiscard]] Refusal read_messages(const simdjson::dom::element& value, std::uint32_t vocab_size,
                                    Request& out);

}  // namespace tickertape::net
