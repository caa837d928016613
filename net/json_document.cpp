// JsonParser: simdjson's DOM, then one walk that looks for duplicate keys.
#include "net/json_document.hpp"

#include <algorithm>
#include <unordered_set>

namespace tickertape::net {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

bool has_duplicate_key(const element& value);

bool has_duplicate_key(const object& fields) {
  std::unordered_set<std::string_view> seen;
  for (const auto field : fields) {
    if (!seen.insert(field.key).second || has_duplicate_key(field.value)) return true;
  }
  return false;
}

/// Recursion ends at JsonParser::kMaxDepth.
bool has_duplicate_key(const element& value) {
  object fields;
  if (value.get(fields) == simdjson::SUCCESS) return has_duplicate_key(fields);
  array items;
  if (value.get(items) != simdjson::SUCCESS) return false;
  for (const element item : items) {
    if (has_duplicate_key(item)) return true;
  }
  return false;
}

std::string reason(simdjson::error_code error) {
  switch (error) {
    case simdjson::DEPTH_ERROR:
      return "the JSON is nested too deeply";
    case simdjson::NUMBER_ERROR:
      return "the JSON holds a number that is malformed or out of range";
    case simdjson::UTF8_ERROR:
      return "the JSON is not valid UTF-8";
    case simdjson::STRING_ERROR:
      return "the JSON holds a malformed string";
    case simdjson::CAPACITY:
      return "the JSON is too long";
    case simdjson::EMPTY:
      return "the JSON is empty";
    default:
      return "the text is not valid JSON";
  }
}

}  // namespace

JsonParser::JsonParser(std::size_t max_bytes) : parser_(max_bytes) {
  // The first allocation fixes the depth; later ones keep it. A failure shows again in parse().
  const simdjson::error_code ignored =
      parser_.allocate(std::min<std::size_t>(max_bytes, 1U << 16), kMaxDepth);
  static_cast<void>(ignored);
}

std::optional<element> JsonParser::parse(std::string_view text, std::string& why) {
  element document;
  const simdjson::error_code error = parser_.parse(text.data(), text.size()).get(document);
  if (error != simdjson::SUCCESS) {
    why = reason(error);
    return std::nullopt;
  }
  if (has_duplicate_key(document)) {
    why = "the JSON holds an object with a duplicate key";
    return std::nullopt;
  }
  return document;
}

}  // namespace tickertape::net
