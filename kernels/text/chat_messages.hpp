// Messages as a template sees them.
#pragma once
#include <span>

#include <tickertape/chat_template.hpp>

#include "kernels/text/jinja/value.hpp"

namespace tickertape::kernels::text {

/// A list of dictionaries: role, content, then the further fields. Every text in it is marked.
/// Throws Error(Errc::invalid_request) that names the message when its fields cannot be used.
[[nodiscard]] jinja::Value messages_value(jinja::Budget* budget,
                                          std::span<const ChatMessage> messages);

/// The value of a JSON text given as `param`; none when it is empty.
/// Throws Error(Errc::invalid_request) when it is not JSON or its root is of another kind.
[[nodiscard]] jinja::Value json_param(jinja::Budget* budget, const std::string& json,
                                      jinja::Kind root, const std::string& param);

}  // namespace tickertape::kernels::text
