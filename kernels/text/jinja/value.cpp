// List and Dict: making, counting, finding.
#include "kernels/text/jinja/value.hpp"

#include <algorithm>

#include "kernels/text/jinja/python.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

constexpr std::size_t kIndexedFrom = 9;

std::size_t depth_of(const Value& value) {
  if (value.is(Kind::list)) return value.list()->depth();
  if (value.is(Kind::dict)) return value.dict()->depth();
  return 0;
}

std::size_t checked(std::size_t depth) {
  if (depth > kMaxValueDepth) {
    fail_bound("nests lists and dictionaries more than " + std::to_string(kMaxValueDepth) +
               " deep");
  }
  return depth;
}

}  // namespace

List::List(std::vector<Value> items, ListKind kind, Budget* budget)
    : items_(std::move(items)),
      kind_(kind),
      charge_(budget, sizeof(List) + items_.size() * sizeof(Value)) {
  // Every operation on lists ends here, so this is where their copies are paid for.
  if (budget != nullptr) budget->step(items_.size() / 8);
  for (const Value& item : items_) depth_ = std::max(depth_, depth_of(item) + 1);
  checked(depth_);
}

Dict::Dict(std::vector<Entry> entries, Budget* budget)
    : entries_(std::move(entries)),
      charge_(budget, sizeof(Dict) + entries_.size() * sizeof(Entry)) {
  const bool indexed = entries_.size() >= kIndexedFrom;
  constexpr std::size_t kIndexEntry = 64;
  if (indexed) charge_.add(entries_.size() * kIndexEntry);
  if (budget != nullptr) budget->step(entries_.size() / 8);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto& [key, value] = entries_[i];
    depth_ = std::max({depth_, depth_of(key) + 1, depth_of(value) + 1});
    if (indexed && key.is(Kind::text)) texts_.emplace(key.text()->bytes(), i);
  }
  checked(depth_);
}

const Value* Dict::find(std::string_view key) const {
  if (entries_.size() >= kIndexedFrom) {
    const auto found = texts_.find(key);
    return found == texts_.end() ? nullptr : &entries_[found->second].second;
  }
  for (const auto& [name, value] : entries_) {
    if (name.is(Kind::text) && name.text()->bytes() == key) return &value;
  }
  return nullptr;
}

const Value* Dict::find_key(const Value& key) const {
  if (key.is(Kind::text)) return find(key.text()->bytes());
  for (const auto& [name, value] : entries_) {
    if (!name.is(Kind::text) && equal(charge_.budget(), name, key)) return &value;
  }
  return nullptr;
}

void DictBuilder::set(Value key, Value value) {
  if (!is_hashable(key)) fail("unhashable type: '" + type_name(key) + "'");
  if (budget_ != nullptr) budget_->step();
  if (key.is(Kind::text)) {
    const auto [found, fresh] = texts_.emplace(key.text()->bytes(), entries_.size());
    if (!fresh) {
      entries_[found->second].second = std::move(value);
      return;
    }
  } else {
    for (auto& [name, old] : entries_) {
      if (!name.is(Kind::text) && equal(budget_, name, key)) {
        old = std::move(value);
        return;
      }
    }
  }
  entries_.emplace_back(std::move(key), std::move(value));
}

DictPtr DictBuilder::finish() {
  texts_.clear();
  return std::make_shared<const Dict>(std::move(entries_), budget_);
}

TextPtr make_text(Budget* budget, std::string_view bytes, bool marked) {
  TextBuilder builder(budget);
  builder.append(bytes, marked);
  return builder.finish();
}

Value make_list(Budget* budget, std::vector<Value> items, ListKind kind) {
  return ListPtr(std::make_shared<const List>(std::move(items), kind, budget));
}

}  // namespace tickertape::kernels::text::jinja
