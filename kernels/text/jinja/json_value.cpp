// JSON texts as values.
#include "kernels/text/jinja/json_value.hpp"

#include <simdjson.h>

#include <limits>
#include <utility>
#include <vector>

namespace tickertape::kernels::text::jinja {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

Value read(Budget* budget, element json);

Value read_array(Budget* budget, simdjson::dom::array array) {
  std::vector<Value> items;
  for (const element item : array) items.push_back(read(budget, item));
  return make_list(budget, std::move(items));
}

Value read_object(Budget* budget, simdjson::dom::object object) {
  DictBuilder entries(budget);
  for (const auto [key, value] : object) {
    entries.set(make_text(budget, key, true), read(budget, value));
  }
  return entries.finish();
}

Value read(Budget* budget, element json) {
  switch (json.type()) {
    case element_type::ARRAY:
      return read_array(budget, json.get_array().value_unsafe());
    case element_type::OBJECT:
      return read_object(budget, json.get_object().value_unsafe());
    case element_type::STRING:
      return make_text(budget, json.get_string().value_unsafe(), true);
    case element_type::INT64:
      return json.get_int64().value_unsafe();
    case element_type::UINT64:
      fail("holds an integer beyond 64 bits");
    case element_type::DOUBLE:
      return json.get_double().value_unsafe();
    case element_type::BOOL:
      return json.get_bool().value_unsafe();
    default:
      return None{};
  }
}

}  // namespace

Value read_json(Budget* budget, std::string_view json) {
  simdjson::dom::parser parser;
  // Levels beyond what a value may have are refused here, before anything recurses.
  if (parser.allocate(json.size() + 1, kMaxValueDepth) != simdjson::SUCCESS) {
    fail_bound("is too large");
  }
  const simdjson::padded_string padded(json);
  element root;
  if (const auto error = parser.parse(padded).get(root); error != simdjson::SUCCESS) {
    fail(std::string("is not JSON: ") + simdjson::error_message(error));
  }
  return read(budget, root);
}

}  // namespace tickertape::kernels::text::jinja
