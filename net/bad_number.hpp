// BadNumber: the number that makes a JSON text unreadable, and where it stands.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tickertape::net {

struct BadNumber {
  std::string member;   ///< The member of the outermost object that holds it; empty if none.
  std::string without;  ///< The text with null in the place of every such number.
};

/// Finds the first number that no double or 64-bit integer holds, or that is malformed (1e999,
/// 2^70, 01). Nothing if there is none.
[[nodiscard]] std::optional<BadNumber> find_bad_number(std::string_view text);

}  // namespace tickertape::net
