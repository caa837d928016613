// Filters that look at members of their items or run a filter or test on each.
#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/operators.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"
#include "kernels/text/jinja/selection.hpp"
#include "kernels/text/jinja/text_operations.hpp"

namespace tickertape::kernels::text::jinja {

MemberPath::MemberPath(const Value& attribute) {
  if (!attribute.is(Kind::text)) {
    steps_.push_back(attribute);
    return;
  }
  std::string_view path = attribute.text()->bytes();
  for (;;) {
    const std::size_t end = std::min(path.find('.'), path.size());
    const std::string_view step = path.substr(0, end);
    std::int64_t index = 0;
    const auto read = std::from_chars(step.data(), step.data() + step.size(), index);
    const bool number = read.ec == std::errc{} && read.ptr == step.data() + step.size();
    steps_.push_back(number ? Value(index) : Value(make_text(nullptr, step)));
    if (end == path.size()) return;
    path.remove_prefix(end + 1);
  }
}

Value MemberPath::of(Runtime& run, Value value, const Value* missing) const {
  for (const Value& step : steps_) {
    run.budget()->step();
    value = run.item(value, step);
    if (missing != nullptr && value.is(Kind::undefined)) value = *missing;
  }
  return value;
}

Value folded(Budget* budget, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is(Kind::text)) return value;
  budget->touch(value.text()->size());
  return cased(budget, *value.text(), Case::lower);
}

std::vector<Value> sorted(Budget* budget, const std::vector<Value>& items,
                          const std::vector<Value>& keys, bool reverse) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) {
    const int relation = compare(budget, keys[a], keys[b]);
    return relation == 0 ? a < b : (relation < 0) != reverse;
  };
  // A heap stays within its bounds even where NaN makes the order contradict itself.
  std::make_heap(order.begin(), order.end(), before);
  std::sort_heap(order.begin(), order.end(), before);
  std::vector<Value> result;
  result.reserve(items.size());
  for (const std::size_t i : order) result.push_back(items[i]);
  return result;
}

namespace {

bool given(const Call& call, std::size_t i) {
  return call.has(i) && !call.arg(i).is(Kind::none);
}

/// The values that the items are compared by.
std::vector<Value> keys_of(Call& call, const std::vector<Value>& items, std::size_t attribute,
                           bool case_sensitive) {
  std::vector<MemberPath> paths;
  if (given(call, attribute)) {
    const Value& names = call.arg(attribute);
    if (names.is(Kind::text)) {
      const TextPtr comma = make_text(nullptr, ",");
      for (const Value& name : split(call.budget(), *names.text(), comma.get(), -1, false)) {
        paths.emplace_back(name);
      }
    } else {
      paths.emplace_back(names);
    }
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> parts;
    for (const MemberPath& path : paths) {
      parts.push_back(folded(call.budget(), path.of(call.run(), item), case_sensitive));
    }
    if (paths.empty()) {
      keys.push_back(folded(call.budget(), item, case_sensitive));
    } else if (paths.size() == 1) {
      keys.push_back(std::move(parts[0]));
    } else {
      keys.push_back(make_list(call.budget(), std::move(parts)));
    }
  }
  return keys;
}

Value sort(Call& call) {
  const ListPtr items = items_of(call.budget(), call.self());
  const auto keys = keys_of(call, items->items(), 2, call.flag_or(1, false));
  return make_list(call.budget(),
                   sorted(call.budget(), items->items(), keys, call.flag_or(0, false)));
}

Value unique(Call& call) {
  const ListPtr items = items_of(call.budget(), call.self());
  const auto keys = keys_of(call, items->items(), 1, call.flag_or(0, false));
  std::vector<Value> result;
  // From the back, so that the first place of a key is the one that stays.
  DictBuilder places(call.budget());
  for (std::size_t i = items->size(); i-- > 0;) {
    places.set(keys[i], static_cast<std::int64_t>(i));
  }
  const DictPtr first = places.finish();
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Value* place = first->find_key(keys[i]);
    if (place->integer() == static_cast<std::int64_t>(i)) result.push_back(items->items()[i]);
  }
  return make_list(call.budget(), std::move(result), ListKind::generator);
}

template <int sign>
Value extreme(Call& call) {
  const ListPtr items = items_of(call.budget(), call.self());
  if (items->size() == 0) {
    return Undefined{std::make_shared<const std::string>("no items to compare, the list is empty")};
  }
  const auto keys = keys_of(call, items->items(), 1, call.flag_or(0, false));
  std::size_t best = 0;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (compare(call.budget(), keys[i], keys[best]) * sign > 0) best = i;
  }
  return items->items()[best];
}

Value sum(Call& call) {
  const ListPtr items = items_of(call.budget(), call.self());
  Value total = call.arg_or(1, std::int64_t{0});
  if (total.is(Kind::text)) fail("sum cannot add strings: use join");
  for (const Value& item : items->items()) {
    call.budget()->step();
    const Value value = given(call, 0) ? MemberPath(call.arg(0)).of(call.run(), item) : item;
    total = arithmetic(call.budget(), Operator::add, total, value);
  }
  return total;
}

Value group_by(Call& call) {
  const ListPtr items = items_of(call.budget(), call.self());
  const MemberPath path(call.arg(0));
  const Value missing = call.arg_or(1, None{});
  const bool exact = call.flag_or(2, false);
  std::vector<Value> values;
  std::vector<Value> keys;
  for (const Value& item : items->items()) {
    values.push_back(path.of(call.run(), item, given(call, 1) ? &missing : nullptr));
    keys.push_back(folded(call.budget(), values.back(), exact));
  }
  std::vector<Value> order;
  for (std::size_t i = 0; i < items->size(); ++i) order.emplace_back(static_cast<std::int64_t>(i));
  std::vector<Value> groups;
  std::vector<Value> group;
  std::size_t first = 0;
  const auto close = [&] {
    if (group.empty()) return;
    groups.push_back(make_list(call.budget(),
                               {values[first], make_list(call.budget(), std::exchange(group, {}))},
                               ListKind::group));
  };
  for (const Value& place : sorted(call.budget(), order, keys, false)) {
    const auto i = static_cast<std::size_t>(place.integer());
    if (group.empty() || !equal(call.budget(), keys[i], keys[first])) {
      close();
      first = i;
    }
    group.push_back(items->items()[i]);
  }
  close();
  return make_list(call.budget(), std::move(groups));
}

/// These filters take everything that counts as false for an empty list.
ListPtr chosen_from(Call& call) {
  if (truthy(call.self())) return items_of(call.budget(), call.self());
  return std::make_shared<const List>(std::vector<Value>{}, ListKind::list, call.budget());
}

Value named_value(const Arguments& arguments, std::string_view name) {
  for (const auto& [key, value] : arguments.named) {
    if (key == name) return value;
  }
  return Undefined{};
}

/// Takes the first positional argument as a name.
std::string take_name(Call& call) {
  auto& positional = call.rest().positional;
  if (positional.empty() || !positional[0].is(Kind::text)) {
    fail(std::string(call.native().name) + " needs a name as its first argument");
  }
  std::string name = positional[0].text()->bytes();
  positional.erase(positional.begin());
  return name;
}

Value map(Call& call) {
  const ListPtr items = chosen_from(call);
  std::vector<Value> result;
  const Value attribute = named_value(call.rest(), "attribute");
  if (call.rest().positional.empty() && !attribute.is(Kind::undefined)) {
    const MemberPath path(attribute);
    const Value missing = named_value(call.rest(), "default");
    for (const Value& item : items->items()) {
      result.push_back(path.of(call.run(), item, missing.is(Kind::undefined) ? nullptr : &missing));
    }
  } else {
    const std::string name = take_name(call);
    const Native* filter = find_filter(name);
    if (filter == nullptr) fail("there is no filter '" + name + "'");
    for (const Value& item : items->items()) {
      result.push_back(invoke(call.run(), *filter, item, call.rest()));
    }
  }
  return make_list(call.budget(), std::move(result), ListKind::generator);
}

/// Those items that pass a test, or fail it; with `member` the test is of a member of the item.
template <bool wanted, bool member>
Value choose(Call& call) {
  const ListPtr items = chosen_from(call);
  Value attribute;
  if constexpr (member) attribute = call.arg(0);
  const Native* test = nullptr;
  if (!call.rest().positional.empty()) {
    const std::string name = take_name(call);
    test = find_test(name);
    if (test == nullptr) fail("there is no test '" + name + "'");
  }
  std::vector<Value> result;
  for (const Value& item : items->items()) {
    call.budget()->step();
    const Value value = member ? MemberPath(attribute).of(call.run(), item) : item;
    const bool passes =
        test == nullptr ? truthy(value) : truthy(invoke(call.run(), *test, value, call.rest()));
    if (passes == wanted) result.push_back(item);
  }
  return make_list(call.budget(), std::move(result), ListKind::generator);
}

constexpr Native kFilters[] = {
    {"sort", "reverse case_sensitive attribute", sort},
    {"unique", "case_sensitive attribute", unique},
    {"min", "case_sensitive attribute", extreme<-1>},
    {"max", "case_sensitive attribute", extreme<1>},
    {"sum", "attribute start", sum},
    {"groupby", "attribute default case_sensitive", group_by},
    {"map", "**", map},
    {"select", "**", choose<true, false>},
    {"reject", "**", choose<false, false>},
    {"selectattr", "attr **", choose<true, true>},
    {"rejectattr", "attr **", choose<false, true>},
};

}  // namespace

std::span<const Native> selection_filters() noexcept {
  return kFilters;
}

}  // namespace tickertape::kernels::text::jinja
