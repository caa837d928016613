// Filters of lists and dictionaries that need no further filter or test.
#include <algorithm>
#include <string>

#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/operators.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"
#include "kernels/text/jinja/selection.hpp"
#include "kernels/text/jinja/text_operations.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

Value length(Call& call) {
  const Value& value = call.self();
  if (value.is(Kind::undefined)) return std::int64_t{0};
  if (value.is(Kind::text)) return static_cast<std::int64_t>(value.text()->length());
  if (value.is(Kind::dict)) return static_cast<std::int64_t>(value.dict()->size());
  if (!value.is(Kind::list) || value.list()->kind() == ListKind::generator) {
    fail("object of type '" + type_name(value) + "' has no len()");
  }
  return static_cast<std::int64_t>(value.list()->size());
}

Value default_value(Call& call) {
  const bool missing =
      call.self().is(Kind::undefined) || (call.flag_or(1, false) && !truthy(call.self()));
  return missing ? call.arg_or(0, call.run().text("")) : call.self();
}

Value join(Call& call) {
  std::vector<Value> items = items_of(call.budget(), call.self())->items();
  if (call.has(1) && !call.arg(1).is(Kind::none)) {
    const MemberPath path(call.arg(1));
    for (Value& item : items) item = path.of(call.run(), item);
  }
  return joined(call.budget(), *str(call.budget(), call.arg_or(0, call.run().text(""))), items);
}

Undefined no_item(const char* why) {
  return Undefined{std::make_shared<const std::string>(why)};
}

Value first(Call& call) {
  const Value& value = call.self();
  if (value.is(Kind::list)) {
    const List& list = *value.list();
    const std::size_t at = list.kind() == ListKind::generator ? list.taken() : 0;
    if (at >= list.size()) return no_item("no first item, the list is empty");
    if (list.kind() == ListKind::generator) ++list.taken();
    return list.items()[at];
  }
  if (value.is(Kind::text)) {
    if (auto item = item_at(call.budget(), value, std::int64_t{0})) return *std::move(item);
    return no_item("no first item, the string is empty");
  }
  const ListPtr items = items_of(call.budget(), value);
  if (items->size() == 0) return no_item("no first item, it is empty");
  return items->items()[0];
}

Value last(Call& call) {
  const Value& value = call.self();
  if (value.is(Kind::text)) {
    if (auto item = item_at(call.budget(), value, std::int64_t{-1})) return *std::move(item);
    return no_item("no last item, the string is empty");
  }
  const ListPtr items = items_of(call.budget(), value);
  if (items->size() == 0) return no_item("no last item, it is empty");
  return items->items().back();
}

Value list(Call& call) {
  return make_list(call.budget(), items_of(call.budget(), call.self())->items());
}

Value reverse(Call& call) {
  if (call.self().is(Kind::text)) {
    return slice(call.budget(), call.self(), None{}, None{}, std::int64_t{-1});
  }
  std::vector<Value> items = items_of(call.budget(), call.self())->items();
  std::reverse(items.begin(), items.end());
  return make_list(call.budget(), std::move(items), ListKind::generator);
}

Value pair(Call& call, const Value& a, const Value& b) {
  return make_list(call.budget(), {a, b}, ListKind::tuple);
}

Value items(Call& call) {
  std::vector<Value> pairs;
  if (!call.self().is(Kind::undefined)) {
    if (!call.self().is(Kind::dict)) {
      fail("items needs a mapping, not " + type_name(call.self()));
    }
    for (const auto& [key, value] : call.self().dict()->entries()) {
      pairs.push_back(pair(call, key, value));
    }
  }
  return make_list(call.budget(), std::move(pairs), ListKind::generator);
}

Value dict_sort(Call& call) {
  if (!call.self().is(Kind::dict)) {
    require_defined(call.self());
    fail("dictsort needs a mapping, not " + type_name(call.self()));
  }
  const std::string by = call.has(1) ? call.text(1)->bytes() : "key";
  if (by != "key" && by != "value") fail("dictsort sorts by 'key' or 'value'");
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const auto& [key, value] : call.self().dict()->entries()) {
    pairs.push_back(pair(call, key, value));
    keys.push_back(folded(call.budget(), by == "key" ? key : value, call.flag_or(0, false)));
  }
  return make_list(call.budget(), sorted(call.budget(), pairs, keys, call.flag_or(2, false)));
}

Value batch(Call& call) {
  const std::int64_t size = call.integer(0);
  if (size < 1) fail("batch needs a size of at least 1");
  std::vector<Value> groups;
  std::vector<Value> group;
  const ListPtr all = items_of(call.budget(), call.self());
  for (const Value& item : all->items()) {
    group.push_back(item);
    if (static_cast<std::int64_t>(group.size()) == size) {
      groups.push_back(make_list(call.budget(), std::exchange(group, {})));
    }
  }
  if (!group.empty()) {
    if (call.has(1) && !call.arg(1).is(Kind::none)) {
      const auto missing = static_cast<std::size_t>(size) - group.size();
      const Charge charge(call.budget(), missing * sizeof(Value));
      group.insert(group.end(), missing, call.arg(1));
    }
    groups.push_back(make_list(call.budget(), std::move(group)));
  }
  return make_list(call.budget(), std::move(groups), ListKind::generator);
}

Value slices(Call& call) {
  const std::int64_t count = call.integer(0);
  if (count < 1) fail("slice needs a count of at least 1");
  const ListPtr all = items_of(call.budget(), call.self());
  const auto slices = static_cast<std::size_t>(count);
  call.budget()->step(slices);
  const bool fills = call.has(1) && !call.arg(1).is(Kind::none);
  const std::size_t each = all->size() / slices;
  const std::size_t longer = all->size() % slices;
  std::vector<Value> groups;
  std::size_t at = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t size = each + (i < longer ? 1 : 0);
    const auto begin = all->items().begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<Value> group(begin, begin + static_cast<std::ptrdiff_t>(size));
    if (fills && i >= longer) group.push_back(call.arg(1));
    groups.push_back(make_list(call.budget(), std::move(group)));
    at += size;
  }
  return make_list(call.budget(), std::move(groups), ListKind::generator);
}

Value attribute(Call& call) {
  return call.run().attribute_only(call.self(), call.text(0)->bytes());
}

constexpr Native kFilters[] = {
    {"length", "", length},
    {"count", "", length},
    {"default", "default_value boolean", default_value},
    {"d", "default_value boolean", default_value},
    {"join", "d attribute", join},
    {"first", "", first},
    {"last", "", last},
    {"list", "", list},
    {"reverse", "", reverse},
    {"items", "", items},
    {"dictsort", "case_sensitive by reverse", dict_sort},
    {"batch", "linecount fill_with", batch},
    {"slice", "slices fill_with", slices},
    {"attr", "name", attribute},
};

}  // namespace

std::span<const Native> list_filters() noexcept {
  return kFilters;
}

}  // namespace tickertape::kernels::text::jinja
