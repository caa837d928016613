// JsonParser: JSON from a client, refused as a whole unless everybody reads it the same way.
#pragma once
#include <simdjson.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tickertape::net {

/// Parses untrusted JSON text (RFC 8259). Beyond the grammar it refuses duplicate keys at any depth
/// (a proxy and this server may otherwise see different values), nesting deeper than 64, bytes that
/// are not UTF-8 and numbers that no double or 64-bit integer holds.
///
/// Thread rules: one thread.
class JsonParser {
 public:
  static constexpr std::size_t kMaxDepth = 64;

  /// Texts longer than `max_bytes` are refused.
  explicit JsonParser(std::size_t max_bytes);

  /// The document, valid until the next call, or nothing and the reason in `why`.
  [[nodiscard]] std::optional<simdjson::dom::element> parse(std::string_view text,
                                                            std::string& why);

 private:
  simdjson::dom::parser parser_;
};

}  // namespace tickertape::net
