// ClientFrame: one message of a tickertape.v1 client, read and checked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "net/field_error.hpp"
#include "net/json_document.hpp"
#include "net/request_fields.hpp"

namespace tickertape::net {

struct ClientFrame {
  enum class Type : std::uint8_t { submit, credit, cancel, ping };
  Type type = Type::ping;
  std::string id;            ///< Of all but ping: 1 to 64 characters.
  SubmitFields submit;       ///< Of submit.
  std::uint32_t tokens = 0;  ///< Of credit: 1 to 65,536.
};

/// A frame that is refused. Without an id it could not be attributed to a generation.
struct BadFrame {
  BadFrame(std::string whose, FieldError what) : id(std::move(whose)), error(std::move(what)) {}
  std::string id;
  FieldError error;
};

/// Reads frames as interface section 4 says. Unknown fields are ignored. Thread rules: one thread.
class FrameReader {
 public:
  FrameReader(std::size_t max_bytes, ServedModel served)
      : parser_(max_bytes), served_(std::move(served)) {}

  [[nodiscard]] std::variant<ClientFrame, BadFrame> read(std::string_view text);

 private:
  [[nodiscard]] BadFrame explain(std::string_view text, std::string why);

  JsonParser parser_;
  ServedModel served_;
};

}  // namespace tickertape::net
