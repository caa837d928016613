// Functions: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
#include <array>
#include <ctime>
#include <string>

#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

/// Members that a template can set, also from inside of loops.
class Namespace final : public Object {
 public:
  explicit Namespace(Budget* budget) : charge_(budget, 0) {}
  [[nodiscard]] std::string_view type_name() const noexcept override { return "Namespace"; }
  [[nodiscard]] std::optional<Value> attribute(Runtime&, std::string_view name) override {
    for (const auto& [key, value] : members_) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool set_attribute(Runtime& run, std::string_view name, Value value) override {
    run.budget()->step(1 + members_.size() / 8);
    for (auto& [key, old] : members_) {
      if (key == name) {
        old = std::move(value);
        return true;
      }
    }
    charge_.add(sizeof(members_[0]) + name.size());
    members_.emplace_back(std::string(name), std::move(value));
    return true;
  }

 private:
  std::vector<std::pair<std::string, Value>> members_;
  Charge charge_;
};

/// cycler(): .next() gives its values in turn, .current the one that is due, .reset() starts again.
class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> values) : values_(std::move(values)) {}
  [[nodiscard]] std::string_view type_name() const noexcept override { return "Cycler"; }
  [[nodiscard]] std::optional<Value> attribute(Runtime& run, std::string_view name) override;

  Value next() {
    const Value& value = values_[at_];
    at_ = (at_ + 1) % values_.size();
    return value;
  }
  void reset() noexcept { at_ = 0; }

 private:
  std::vector<Value> values_;
  std::size_t at_ = 0;
};

class CyclerMethod final : public Object {
 public:
  CyclerMethod(Cycler& cycler, bool next) : cycler_(cycler), next_(next) {}
  [[nodiscard]] std::string_view type_name() const noexcept override { return "method"; }
  [[nodiscard]] bool callable() const noexcept override { return true; }
  [[nodiscard]] Value call(Runtime&, Arguments) override {
    if (next_) return cycler_.next();
    cycler_.reset();
    return None{};
  }

 private:
  Cycler& cycler_;
  bool next_;
};

std::optional<Value> Cycler::attribute(Runtime& run, std::string_view name) {
  if (name == "current") return values_[at_];
  if (name == "next" || name == "reset") {
    return Value(run.make<CyclerMethod>(*this, name == "next"));
  }
  return std::nullopt;
}

/// joiner(): nothing at the first call, then the separator.
class Joiner final : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  [[nodiscard]] std::string_view type_name() const noexcept override { return "Joiner"; }
  [[nodiscard]] bool callable() const noexcept override { return true; }
  [[nodiscard]] Value call(Runtime& run, Arguments) override {
    if (std::exchange(used_, true)) return separator_;
    return run.text("");
  }

 private:
  Value separator_;
  bool used_ = false;
};

Value range(Call& call) {
  constexpr std::int64_t kMostItems = 100'000;  // Jinja's sandbox has the same bound.
  const std::int64_t first = call.integer(0);
  const std::int64_t start = call.has(1) ? first : 0;
  const std::int64_t stop = call.has(1) ? call.integer(1) : first;
  const std::int64_t step = call.integer_or(2, 1);
  if (step == 0) fail("the step of range() must not be zero");
  std::vector<Value> items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<std::int64_t>(items.size()) == kMostItems) {
      fail_bound("asks for a range() of more than " + std::to_string(kMostItems) + " numbers");
    }
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  call.budget()->step(items.size() / 8);
  return make_list(call.budget(), std::move(items), ListKind::range);
}

/// Entries of a dictionary or of a list of pairs.
void set_entries(Call& call, DictBuilder& out, const Value& from) {
  if (from.is(Kind::dict)) {
    for (const auto& [key, value] : from.dict()->entries()) out.set(key, value);
    return;
  }
  for (const Value& item : items_of(call.budget(), from)->items()) {
    const ListPtr pair = items_of(call.budget(), item);
    if (pair->size() != 2) fail(std::string(call.native().name) + "() needs pairs");
    out.set(pair->items()[0], pair->items()[1]);
  }
}

Value make_dict(Call& call) {
  DictBuilder out(call.budget());
  if (call.has(0)) set_entries(call, out, call.arg(0));
  for (auto& [name, value] : call.rest().named) {
    out.set(call.run().text(name, call.rest().names_marked), std::move(value));
  }
  return out.finish();
}

Value make_namespace(Call& call) {
  const Value members = make_dict(call);
  auto* result = call.run().make<Namespace>(call.budget());
  for (const auto& [key, value] : members.dict()->entries()) {
    if (!key.is(Kind::text)) fail("a namespace's members are named by strings");
    static_cast<void>(result->set_attribute(call.run(), key.text()->bytes(), value));
  }
  return result;
}

Value make_cycler(Call& call) {
  if (call.rest().positional.empty()) fail("cycler() needs values");
  return call.run().make<Cycler>(std::move(call.rest().positional));
}

Value make_joiner(Call& call) {
  return call.run().make<Joiner>(call.arg_or(0, call.run().text(", ")));
}

Value raise_exception(Call& call) {
  throw TemplateError(str(call.budget(), call.arg(0))->bytes(), TemplateError::Kind::refusal);
}

Value strftime_now(Call& call) {
  const TextPtr form = call.text(0);
  constexpr std::size_t kLongest = 4096;
  if (form->empty()) return form;
  const std::time_t now = call.run().now_s();
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, kLongest> buffer{};
  const std::size_t size =
      form->bytes().find('\0') == std::string::npos
          ? std::strftime(buffer.data(), buffer.size(), form->bytes().c_str(), &local)
          : 0;
  if (size == 0) fail("strftime_now() cannot write this format");
  return call.run().text({buffer.data(), size}, form->any_marked());
}

constexpr Native kFunctions[] = {
    {"range", "start stop step", range},
    {"dict", "mapping **", make_dict},
    {"namespace", "mapping **", make_namespace},
    {"cycler", "*", make_cycler},
    {"joiner", "sep", make_joiner},
    {"raise_exception", "message", raise_exception},
    {"strftime_now", "format", strftime_now},
};

}  // namespace

std::span<const Native> functions() noexcept {
  return kFunctions;
}

}  // namespace tickertape::kernels::text::jinja
