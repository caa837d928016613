// Call: binding arguments to parameters; look-ups in the tables.
#include "kernels/text/jinja/native.hpp"

#include <algorithm>
#include <unordered_map>

#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

using Index = std::unordered_map<std::string_view, const Native*>;

Index index_of(std::initializer_list<std::span<const Native>> tables) {
  Index index;
  for (const auto table : tables) {
    for (const Native& native : table) index.emplace(native.name, &native);
  }
  return index;
}

const Native* look_up(const Index& index, std::string_view name) noexcept {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

Call::Call(Runtime& run, const Native& native, const Value& self, Arguments arguments)
    : run_(run), native_(native), self_(self) {
  std::vector<std::string_view> names = words_of(native.parameters);
  bool more_positional = false;
  bool more_named = false;
  if (!names.empty() && names.back().front() == '*') {
    more_positional = true;
    more_named = names.back() == "**";
    names.pop_back();
  }
  if (!more_positional && arguments.positional.size() > names.size()) {
    fail(std::string(native.name) + "() takes at most " + std::to_string(names.size()) +
         " arguments, " + std::to_string(arguments.positional.size()) + " were given");
  }
  bound_.resize(names.size());
  rest_.names_marked = arguments.names_marked;
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    Value& value = arguments.positional[i];
    if (i < names.size()) {
      bound_[i] = {std::move(value), true};
    } else {
      rest_.positional.push_back(std::move(value));
    }
  }
  for (auto& [name, value] : arguments.named) {
    bind_named(std::move(name), std::move(value), names, more_named);
  }
}

void Call::bind_named(std::string name, Value value, std::span<const std::string_view> names,
                      bool takes_more) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) {
    Bound& bound = bound_[static_cast<std::size_t>(found - names.begin())];
    if (bound.set) fail(std::string(native_.name) + "() got '" + name + "' twice");
    bound = {std::move(value), true};
  } else if (takes_more) {
    rest_.named.emplace_back(std::move(name), std::move(value));
  } else {
    fail(std::string(native_.name) + "() has no argument '" + name + "'");
  }
}

Budget* Call::budget() const noexcept {
  return run_.budget();
}

TextPtr Call::self_text() const {
  TextPtr text = str(run_.budget(), self_);
  run_.budget()->touch(text->size());
  return text;
}

const Value& Call::arg(std::size_t i) const {
  if (!has(i)) {
    const auto names = words_of(native_.parameters);
    fail(std::string(native_.name) + "() needs the argument '" + std::string(names.at(i)) + "'");
  }
  return bound_[i].value;
}

Value Call::arg_or(std::size_t i, Value missing) const {
  return has(i) ? bound_[i].value : std::move(missing);
}

bool Call::flag_or(std::size_t i, bool missing) const {
  return has(i) ? truthy(arg(i)) : missing;
}

std::int64_t Call::integer(std::size_t i) const {
  const Value& value = arg(i);
  if (!is_integral(value)) {
    require_defined(value);
    fail(std::string(native_.name) + "() needs an integer, not " + type_name(value));
  }
  return as_integer(value);
}

std::int64_t Call::integer_or(std::size_t i, std::int64_t missing) const {
  return has(i) ? integer(i) : missing;
}

TextPtr Call::text(std::size_t i) const {
  const Value& value = arg(i);
  if (!value.is(Kind::text)) {
    require_defined(value);
    fail(std::string(native_.name) + "() needs a string, not " + type_name(value));
  }
  return value.text();
}

const Native* find_filter(std::string_view name) noexcept {
  static const Index index = index_of(
      {text_filters(), layout_filters(), number_filters(), list_filters(), selection_filters()});
  return look_up(index, name);
}

const Native* find_test(std::string_view name) noexcept {
  static const Index index = index_of({tests()});
  return look_up(index, name);
}

const Native* find_function(std::string_view name) noexcept {
  static const Index index = index_of({functions()});
  return look_up(index, name);
}

const Native* find_method(const Value& owner, std::string_view name) noexcept {
  static const Index of_texts = index_of({text_methods(), text_predicates()});
  static const Index of_lists = index_of({list_methods()});
  static const Index of_dicts = index_of({dict_methods()});
  if (owner.is(Kind::text)) return look_up(of_texts, name);
  if (owner.is(Kind::list)) return look_up(of_lists, name);
  if (owner.is(Kind::dict)) return look_up(of_dicts, name);
  return nullptr;
}

bool is_forbidden_method(const Value& owner, std::string_view name) noexcept {
  constexpr std::string_view kOfLists[] = {"append", "clear",  "extend",  "insert",
                                           "pop",    "remove", "reverse", "sort"};
  constexpr std::string_view kOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
  const auto among = [&](std::span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (owner.is(Kind::list)) return owner.list()->kind() == ListKind::list && among(kOfLists);
  return owner.is(Kind::dict) && among(kOfDicts);
}

Value invoke(Runtime& run, const Native& native, const Value& self, Arguments arguments) {
  run.budget()->step();
  Call call(run, native, self, std::move(arguments));
  return native.function(call);
}

}  // namespace tickertape::kernels::text::jinja
