// Methods of lists and dictionaries, and those of strings that answer yes or no.
#include <algorithm>

#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

bool every_character(const Text& text, bool (*in_class)(char32_t)) {
  bool all = true;
  for_each_character(
      text, [&](Character character, std::size_t, bool) { all = all && in_class(character.code); });
  return all;
}

/// Whether there are characters and all of them are of the class.
template <bool (*in_class)(char32_t)>
Value all_are(Call& call) {
  const TextPtr text = call.self_text();
  return !text->empty() && every_character(*text, in_class);
}

bool is_alphanumeric(char32_t code) {
  return is_letter(code) || is_digit(code);
}
bool is_ascii_character(char32_t code) {
  return code < 0x80;
}

Value is_ascii(Call& call) {
  return every_character(*call.self_text(), is_ascii_character);
}
Value is_printable_text(Call& call) {
  return every_character(*call.self_text(), is_printable);
}

template <Case wanted>
Value is_all_cased(Call& call) {
  bool any = false;
  bool all = true;
  for_each_character(*call.self_text(), [&](Character character, std::size_t, bool) {
    const bool upper = is_upper(character.code);
    const bool lower = !upper && is_lower(character.code);
    any |= upper || lower;
    all &= wanted == Case::upper ? !lower : !upper;
  });
  return any && all;
}

Value is_title(Call& call) {
  bool any = false;
  bool right = true;
  bool in_word = false;
  for_each_character(*call.self_text(), [&](Character character, std::size_t, bool) {
    const bool upper = is_upper(character.code);
    const bool lower = !upper && is_lower(character.code);
    right &= upper ? !in_word : lower ? in_word : true;
    in_word = upper || lower;
    any |= in_word;
  });
  return any && right;
}

Value is_identifier(Call& call) {
  const TextPtr text = call.self_text();
  bool right = !text->empty();
  for_each_character(*text, [&](Character character, std::size_t at, bool) {
    const char32_t code = character.code;
    right = right && (code == U'_' || is_letter(code) || (at > 0 && is_digit(code)));
  });
  return right;
}

Value list_count(Call& call) {
  std::int64_t count = 0;
  for (const Value& item : call.self().list()->items()) {
    count += equal(call.budget(), item, call.arg(0)) ? 1 : 0;
  }
  return count;
}

Value list_index(Call& call) {
  const auto& items = call.self().list()->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (equal(call.budget(), items[i], call.arg(0))) return static_cast<std::int64_t>(i);
  }
  fail("the value is not in the list");
}

Value copy(Call& call) {
  return call.self();
}

Value dict_get(Call& call) {
  if (!is_hashable(call.arg(0))) fail("unhashable type: '" + type_name(call.arg(0)) + "'");
  const Value* found = call.self().dict()->find_key(call.arg(0));
  return found != nullptr ? *found : call.arg_or(1, None{});
}

template <ListKind kind>
Value dict_view(Call& call) {
  std::vector<Value> items;
  for (const auto& [key, value] : call.self().dict()->entries()) {
    if (kind == ListKind::keys) items.push_back(key);
    if (kind == ListKind::values) items.push_back(value);
    if (kind == ListKind::items) {
      items.push_back(make_list(call.budget(), {key, value}, ListKind::tuple));
    }
  }
  call.budget()->step(items.size());
  return make_list(call.budget(), std::move(items), kind);
}

constexpr Native kPredicates[] = {
    {"isalpha", "", all_are<is_letter>},
    {"isdigit", "", all_are<is_digit>},
    {"isdecimal", "", all_are<is_decimal>},
    {"isnumeric", "", all_are<is_digit>},
    {"isalnum", "", all_are<is_alphanumeric>},
    {"isspace", "", all_are<is_space>},
    {"isascii", "", is_ascii},
    {"isprintable", "", is_printable_text},
    {"isupper", "", is_all_cased<Case::upper>},
    {"islower", "", is_all_cased<Case::lower>},
    {"istitle", "", is_title},
    {"isidentifier", "", is_identifier},
};

constexpr Native kListMethods[] = {
    {"count", "value", list_count},
    {"index", "value", list_index},
    {"copy", "", copy},
};

constexpr Native kDictMethods[] = {
    {"get", "key default", dict_get},
    {"keys", "", dict_view<ListKind::keys>},
    {"values", "", dict_view<ListKind::values>},
    {"items", "", dict_view<ListKind::items>},
    {"copy", "", copy},
};

}  // namespace

std::span<const Native> text_predicates() noexcept {
  return kPredicates;
}
std::span<const Native> list_methods() noexcept {
  return kListMethods;
}
std::span<const Native> dict_methods() noexcept {
  return kDictMethods;
}

}  // namespace tickertape::kernels::text::jinja
