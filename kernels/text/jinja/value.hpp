// Value: what a template computes with, and the lists, dictionaries and objects behind it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/text/jinja/budget.hpp"
#include "kernels/text/jinja/text.hpp"

namespace tickertape::kernels::text::jinja {

class List;
class Dict;
class Object;
using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;

/// A name, member or argument that is not there. It prints as nothing and fails when it is used.
struct Undefined {
  std::shared_ptr<const std::string> why;  ///< The error of using it; null = "value is undefined".
};
struct None {};

/// The order is that of Value's variant.
enum class Kind : unsigned char {
  undefined,
  none,
  boolean,
  integer,
  number,  ///< A float of Python.
  text,
  list,
  dict,
  object
};

/// A cheap handle: texts, lists and dictionaries are shared and immutable. Objects belong to the
/// rendering, so a value must not outlive it.
class Value {
 public:
  Value() = default;
  Value(Undefined value) : data_(std::move(value)) {}
  Value(None value) : data_(value) {}
  Value(bool value) : data_(value) {}
  Value(std::int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(TextPtr value) : data_(std::move(value)) {}
  Value(ListPtr value) : data_(std::move(value)) {}
  Value(DictPtr value) : data_(std::move(value)) {}
  Value(Object* value) : data_(value) {}
  Value(const void*) = delete;  // A pointer must not become a bool.

  [[nodiscard]] Kind kind() const noexcept { return static_cast<Kind>(data_.index()); }
  [[nodiscard]] bool is(Kind kind) const noexcept { return this->kind() == kind; }

  /// REQUIRES for each: the value is of that kind.
  [[nodiscard]] const Undefined& undefined() const { return std::get<Undefined>(data_); }
  [[nodiscard]] bool boolean() const { return std::get<bool>(data_); }
  [[nodiscard]] std::int64_t integer() const { return std::get<std::int64_t>(data_); }
  [[nodiscard]] double number() const { return std::get<double>(data_); }
  [[nodiscard]] const TextPtr& text() const { return std::get<TextPtr>(data_); }
  [[nodiscard]] const ListPtr& list() const { return std::get<ListPtr>(data_); }
  [[nodiscard]] const DictPtr& dict() const { return std::get<DictPtr>(data_); }
  [[nodiscard]] Object* object() const { return std::get<Object*>(data_); }

 private:
  std::variant<Undefined, None, bool, std::int64_t, double, TextPtr, ListPtr, DictPtr, Object*>
      data_;
};

/// Levels of lists and dictionaries inside each other; what walks over values recurses this deep.
constexpr std::size_t kMaxValueDepth = 200;

/// What Python would have: they differ in how they print, compare and count as true.
enum class ListKind : unsigned char {
  list,
  tuple,
  group,  ///< A tuple of groupby(), with the members grouper and list.
  range,
  keys,
  values,
  items,
  generator  ///< Can be walked once; always true.
};

class List {
 public:
  /// Throws TemplateError when nested too deeply.
  List(std::vector<Value> items, ListKind kind, Budget* budget);

  [[nodiscard]] const std::vector<Value>& items() const noexcept { return items_; }
  [[nodiscard]] ListKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }
  [[nodiscard]] bool is_tuple() const noexcept {
    return kind_ == ListKind::tuple || kind_ == ListKind::group;
  }
  /// Has a length and can be indexed.
  [[nodiscard]] bool is_sequence() const noexcept { return kind_ <= ListKind::range; }
  /// Items of a generator that were taken already. Mutable as in Python; one thread only.
  [[nodiscard]] std::size_t& taken() const noexcept { return taken_; }

 private:
  std::vector<Value> items_;
  ListKind kind_;
  mutable std::size_t taken_ = 0;
  std::size_t depth_ = 1;
  Charge charge_;
};

/// In the order of insertion.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  /// Throws TemplateError when nested too deeply.
  Dict(std::vector<Entry> entries, Budget* budget);

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] const Value* find_key(const Value& key) const;

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, std::size_t> texts_;  ///< Of larger ones only.
  std::size_t depth_ = 1;
  Charge charge_;
};

/// Collects entries; a key that comes again keeps its place and takes the new value.
class DictBuilder {
 public:
  explicit DictBuilder(Budget* budget) : budget_(budget) {}
  /// Throws TemplateError when the key is of a kind that cannot be one.
  void set(Value key, Value value);
  [[nodiscard]] DictPtr finish();

 private:
  Budget* budget_;
  std::vector<Dict::Entry> entries_;
  std::unordered_map<std::string_view, std::size_t> texts_;
};

[[nodiscard]] TextPtr make_text(Budget* budget, std::string_view bytes, bool marked = false);
[[nodiscard]] Value make_list(Budget* budget, std::vector<Value> items,
                              ListKind kind = ListKind::list);

}  // namespace tickertape::kernels::text::jinja
