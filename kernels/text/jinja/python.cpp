// Python's meaning of values: types, truth, equality, order.
#include "kernels/text/jinja/python.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/text/jinja/object.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

std::string list_type(ListKind kind) {
  switch (kind) {
    case ListKind::list:
      return "list";
    case ListKind::tuple:
    case ListKind::group:
      return "tuple";
    case ListKind::range:
      return "range";
    case ListKind::keys:
      return "dict_keys";
    case ListKind::values:
      return "dict_values";
    case ListKind::items:
      return "dict_items";
    case ListKind::generator:
      break;
  }
  return "generator";
}

bool same_items(Budget* budget, const List& a, const List& b) {
  const bool comparable = a.kind() == b.kind() || (a.is_tuple() && b.is_tuple());
  if (!comparable || a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(budget, a.items()[i], b.items()[i])) return false;
  }
  return true;
}

bool same_entries(Budget* budget, const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    const Value* other = b.find_key(key);
    if (other == nullptr || !equal(budget, value, *other)) return false;
  }
  return true;
}

int three_way(auto a, auto b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int compare_lists(Budget* budget, const List& a, const List& b) {
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (!equal(budget, a.items()[i], b.items()[i])) {
      return compare(budget, a.items()[i], b.items()[i]);
    }
  }
  return three_way(a.size(), b.size());
}

}  // namespace

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::number:
      return "float";
    case Kind::text:
      return "str";
    case Kind::list:
      return list_type(value.list()->kind());
    case Kind::dict:
      return "dict";
    case Kind::object:
      break;
  }
  return std::string(value.object()->type_name());
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
      return value.boolean();
    case Kind::integer:
      return value.integer() != 0;
    case Kind::number:
      return value.number() != 0;
    case Kind::text:
      return !value.text()->empty();
    case Kind::list:
      return value.list()->kind() == ListKind::generator || value.list()->size() > 0;
    case Kind::dict:
      return value.dict()->size() > 0;
    case Kind::object:
      break;
  }
  return true;
}

bool is_hashable(const Value& value) {
  if (value.is(Kind::dict)) return false;
  if (!value.is(Kind::list)) return true;
  if (!value.list()->is_tuple()) return value.list()->kind() != ListKind::list;
  return std::all_of(value.list()->items().begin(), value.list()->items().end(), is_hashable);
}

bool is_integral(const Value& value) {
  return value.is(Kind::integer) || value.is(Kind::boolean);
}

bool is_numeric(const Value& value) {
  return is_integral(value) || value.is(Kind::number);
}

std::int64_t as_integer(const Value& value) {
  return value.is(Kind::boolean) ? static_cast<std::int64_t>(value.boolean()) : value.integer();
}

double as_number(const Value& value) {
  return value.is(Kind::number) ? value.number() : static_cast<double>(as_integer(value));
}

bool equal(Budget* budget, const Value& a, const Value& b) {
  if (budget != nullptr) budget->step();
  if (is_integral(a) && is_integral(b)) return as_integer(a) == as_integer(b);
  if (is_numeric(a) && is_numeric(b)) return as_number(a) == as_number(b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::text:
      if (budget != nullptr) budget->touch(std::min(a.text()->size(), b.text()->size()));
      return a.text()->bytes() == b.text()->bytes();
    case Kind::list:
      return a.list() == b.list() || same_items(budget, *a.list(), *b.list());
    case Kind::dict:
      return a.dict() == b.dict() || same_entries(budget, *a.dict(), *b.dict());
    case Kind::object:
      return a.object() == b.object();
    default:
      return true;  // Undefined or none, both.
  }
}

int compare(Budget* budget, const Value& a, const Value& b) {
  if (budget != nullptr) budget->step();
  require_defined(a);
  require_defined(b);
  if (is_integral(a) && is_integral(b)) return three_way(as_integer(a), as_integer(b));
  if (is_numeric(a) && is_numeric(b)) return three_way(as_number(a), as_number(b));
  if (a.is(Kind::text) && b.is(Kind::text)) {
    if (budget != nullptr) budget->touch(std::min(a.text()->size(), b.text()->size()));
    return three_way(a.text()->bytes(), b.text()->bytes());
  }
  if (a.is(Kind::list) && b.is(Kind::list) && a.list()->is_sequence() && b.list()->is_sequence() &&
      a.list()->is_tuple() == b.list()->is_tuple()) {
    return compare_lists(budget, *a.list(), *b.list());
  }
  fail("'" + type_name(a) + "' and '" + type_name(b) + "' have no order");
}

bool contains(Budget* budget, const Value& whole, const Value& part) {
  if (whole.is(Kind::text)) {
    if (!part.is(Kind::text)) {
      require_defined(part);
      fail("'in' with a string needs a string before it, not " + type_name(part));
    }
    budget->touch(whole.text()->size());
    return whole.text()->bytes().find(part.text()->bytes()) != std::string::npos;
  }
  if (whole.is(Kind::dict)) {
    if (!is_hashable(part)) fail("unhashable type: '" + type_name(part) + "'");
    budget->step();
    return whole.dict()->find_key(part) != nullptr;
  }
  const ListPtr items = items_of(budget, whole);
  return std::any_of(items->items().begin(), items->items().end(),
                     [&](const Value& item) { return equal(budget, item, part); });
}

ListPtr items_of(Budget* budget, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::undefined:
      break;
    case Kind::list: {
      const ListPtr& list = value.list();
      if (list->kind() != ListKind::generator) return list;
      const std::size_t taken = std::exchange(list->taken(), list->size());
      if (taken == 0) return list;
      items.assign(list->items().begin() + static_cast<std::ptrdiff_t>(taken), list->items().end());
      break;
    }
    case Kind::dict:
      for (const auto& [key, entry] : value.dict()->entries()) items.push_back(key);
      budget->step(items.size());
      break;
    case Kind::text: {
      const Text& text = *value.text();
      budget->step(text.length());
      for_each_character(text, [&](Character character, std::size_t at, bool marked) {
        items.emplace_back(
            make_text(budget, std::string_view(text.bytes()).substr(at, character.size), marked));
      });
      break;
    }
    default:
      fail("'" + type_name(value) + "' object is not iterable");
  }
  return std::make_shared<const List>(std::move(items), ListKind::list, budget);
}

void require_defined(const Value& value) {
  if (!value.is(Kind::undefined)) return;
  const auto& why = value.undefined().why;
  fail(why ? *why : "value is undefined");
}

}  // namespace tickertape::kernels::text::jinja
