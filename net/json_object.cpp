// JsonObject's numbers.
#include "net/json_object.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace tickertape::net {

JsonObject& JsonObject::add(std::string_view key, double value) {
  if (!std::isfinite(value)) return add_json(key, "null");
  fmt::format_to(std::back_inserter(next(key)), "{}", value);
  return *this;
}

}  // namespace tickertape::net
