// JSON text of values.
#include "kernels/text/jinja/to_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "kernels/text/jinja/python.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(Budget* budget, const JsonStyle& style)
      : budget_(budget), style_(style), out_(budget) {}

  TextPtr run(const Value& value) {
    write(value);
    return out_.finish();
  }

 private:
  void write(const Value& value) {
    budget_->step();
    switch (value.kind()) {
      case Kind::none:
        return out_.append("null");
      case Kind::boolean:
        return out_.append(value.boolean() ? "true" : "false");
      case Kind::integer:
        return out_.append(std::to_string(value.integer()));
      case Kind::number:
        return number(value.number());
      case Kind::text:
        return quoted(*value.text());
      case Kind::list:
        if (value.list()->kind() == ListKind::list || value.list()->is_tuple()) {
          return list(*value.list());
        }
        break;
      case Kind::dict:
        return dict(*value.dict());
      default:
        break;
    }
    fail("Object of type " + type_name(value) + " is not JSON serializable");
  }

  void number(double value) {
    if (std::isnan(value)) return out_.append("NaN");
    if (std::isinf(value)) return out_.append(value < 0 ? "-Infinity" : "Infinity");
    out_.append(number_text(value));
  }

  void line_start() {
    if (!style_.indent) return;
    out_.append("\n");
    for (std::size_t i = 0; i < depth_; ++i) out_.append(*style_.indent);
  }

  void list(const List& list) {
    out_.append("[");
    ++depth_;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_.append(*style_.item_separator);
      line_start();
      write(list.items()[i]);
    }
    --depth_;
    if (list.size() > 0) line_start();
    out_.append("]");
  }

  void dict(const Dict& dict) {
    std::vector<const Dict::Entry*> entries;
    for (const auto& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      const auto before = [&](const Dict::Entry* a, const Dict::Entry* b) {
        const int relation = compare(budget_, a->first, b->first);
        return relation == 0 ? a < b : relation < 0;
      };
      // A heap stays within its bounds even where NaN makes the order contradict itself.
      std::make_heap(entries.begin(), entries.end(), before);
      std::sort_heap(entries.begin(), entries.end(), before);
    }
    out_.append("{");
    ++depth_;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.append(*style_.item_separator);
      line_start();
      key(entries[i]->first);
      out_.append(*style_.key_separator);
      write(entries[i]->second);
    }
    --depth_;
    if (!entries.empty()) line_start();
    out_.append("}");
  }

  void key(const Value& value) {
    if (value.is(Kind::text)) return quoted(*value.text());
    if (!value.is(Kind::none) && !is_numeric(value)) {
      fail("keys of JSON must be str, int, float, bool or None, not " + type_name(value));
    }
    out_.append("\"");
    write(value);
    out_.append("\"");
  }

  void escape(char32_t code, bool marked) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(code) & 0xffffU);
    out_.append(text.data(), marked);
  }

  void character(const Text& text, Character character, std::size_t at, bool marked) {
    constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b";
    constexpr std::string_view kLetters = "\"\\nrtfb";
    const char32_t code = character.code;
    if (code < 0x80) {
      const std::size_t found = kEscaped.find(static_cast<char>(code));
      if (found != std::string_view::npos) {
        const std::array<char, 2> pair = {'\\', kLetters[found]};
        return out_.append({pair.data(), 2}, marked);
      }
      if (code < 0x20) return escape(code, marked);
    } else if (style_.ascii_only) {
      constexpr char32_t kFirstPair = 0x10000;
      if (code < kFirstPair) return escape(code, marked);
      escape(0xd800 + ((code - kFirstPair) >> 10), marked);
      return escape(0xdc00 + ((code - kFirstPair) & 0x3ff), marked);
    }
    out_.append(text, at, at + character.size);
  }

  void quoted(const Text& text) {
    budget_->touch(text.size());
    out_.append("\"");
    for_each_character(text, [&](Character one, std::size_t at, bool marked) {
      character(text, one, at, marked);
    });
    out_.append("\"");
  }

  Budget* budget_;
  const JsonStyle& style_;
  TextBuilder out_;
  std::size_t depth_ = 0;
};

}  // namespace

TextPtr to_json(Budget* budget, const Value& value, const JsonStyle& style) {
  return JsonWriter(budget, style).run(value);
}

}  // namespace tickertape::kernels::text::jinja
