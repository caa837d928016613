// JsonObject: the text of a JSON object, member by member in the order they are added.
#pragma once
#include <concepts>
#include <string>
#include <string_view>

#include "net/json_text.hpp"

namespace tickertape::net {

/// Written here and not by a library, so that it throws like any string when memory runs out:
/// nlohmann's values crash then. Keys need no escaping; values may be any text.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value) {
    append_json_string(next(key), value);
    return *this;
  }
  JsonObject& add(std::string_view key, const char* value) {
    return add(key, std::string_view(value));
  }
  JsonObject& add(std::string_view key, bool value) {
    next(key) += value ? "true" : "false";
    return *this;
  }
  template <std::integral Number>
  JsonObject& add(std::string_view key, Number value) {
    next(key) += std::to_string(value);
    return *this;
  }
  /// What JSON cannot say becomes null.
  JsonObject& add(std::string_view key, double value);
  JsonObject& add(std::string_view key, const JsonObject& value) {
    return add_json(key, value.text());
  }
  /// `value` is JSON already.
  JsonObject& add_json(std::string_view key, std::string_view value) {
    next(key) += value;
    return *this;
  }
  JsonObject& add_or_null(std::string_view key, std::string_view value) {
    return value.empty() ? add_json(key, "null") : add(key, value);
  }

  [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }
  /// The same without the braces, to go on after other members.
  [[nodiscard]] const std::string& members() const noexcept { return members_; }

 private:
  std::string& next(std::string_view key) {
    if (!members_.empty()) members_ += ',';
    members_ += '"';
    members_ += key;
    members_ += "\":";
    return members_;
  }

  std::string members_;
};

}  // namespace tickertape::net
