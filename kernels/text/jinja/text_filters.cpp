// Filters of texts: cases, stripping, replacing, escaping.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "kernels/text/jinja/format.hpp"
#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"
#include "kernels/text/jinja/text_operations.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

Value upper(Call& call) {
  return cased(call.budget(), *call.self_text(), Case::upper);
}
Value lower(Call& call) {
  return cased(call.budget(), *call.self_text(), Case::lower);
}
Value capitalize(Call& call) {
  return capitalized(call.budget(), *call.self_text());
}
Value string(Call& call) {
  return call.self_text();
}

/// Words begin behind white space, '-' and opening brackets, as the filter has it.
Value title(Call& call) {
  const TextPtr text = call.self_text();
  TextBuilder out(call.budget());
  bool in_word = false;
  for_each_character(*text, [&](Character character, std::size_t at, bool) {
    const char32_t code = character.code;
    const bool border = is_space(code) || code == U'-' || code == U'(' || code == U'{' ||
                        code == U'[' || code == U'<';
    const TextPtr one = part_of(call.budget(), *text, at, at + character.size);
    out.append(*cased(call.budget(), *one, in_word ? Case::lower : Case::upper));
    in_word = !border;
  });
  return out.finish();
}

Value trim(Call& call) {
  const bool white = !call.has(0) || call.arg(0).is(Kind::none);
  const TextPtr set = white ? nullptr : call.text(0);
  return stripped(call.budget(), *call.self_text(), set.get(), true, true);
}

Value replace(Call& call) {
  const bool all = !call.has(2) || call.arg(2).is(Kind::none);
  return replaced(call.budget(), *call.self_text(), *str(call.budget(), call.arg(0)),
                  *str(call.budget(), call.arg(1)), all ? -1 : call.integer(2));
}

Value force_escape(Call& call) {
  TextBuilder out(call.budget());
  append_escaped(out, *call.self_text());
  return out.finish(true);
}

Value escape(Call& call) {
  const bool escaped = call.self().is(Kind::text) && call.self().text()->is_markup();
  return escaped ? call.self() : force_escape(call);
}

Value safe(Call& call) {
  TextBuilder out(call.budget());
  out.append(*call.self_text());
  return out.finish(true);
}

Value word_count(Call& call) {
  const TextPtr text = call.self_text();
  std::int64_t count = 0;
  bool in_word = false;
  for_each_character(*text, [&](Character character, std::size_t, bool) {
    const char32_t code = character.code;
    const bool word = code == U'_' || is_letter(code) || is_digit(code);
    count += word && !in_word ? 1 : 0;
    in_word = word;
  });
  return count;
}

/// In a query, '/' is a reference and a space is '+'.
void append_url(TextBuilder& out, const Text& text, bool query) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.bytes()[at];
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && !query);
    if (plain) {
      out.append(text, at, at + 1);
      continue;
    }
    if (c == ' ' && query) {
      out.append("+", text.marked_at(at));
      continue;
    }
    std::array<char, 4> code{};
    std::snprintf(code.data(), code.size(), "%%%02X", static_cast<unsigned>(c) & 0xffU);
    out.append(code.data(), text.marked_at(at));
  }
}

/// A text, or the pairs of a query.
Value url_encode(Call& call) {
  TextBuilder out(call.budget());
  const bool pairs = call.self().is(Kind::dict) || call.self().is(Kind::list);
  if (!pairs) {
    append_url(out, *call.self_text(), false);
    return out.finish();
  }
  std::vector<std::pair<Value, Value>> entries;
  if (call.self().is(Kind::dict)) {
    entries = call.self().dict()->entries();
  } else {
    for (const Value& item : items_of(call.budget(), call.self())->items()) {
      const ListPtr pair = items_of(call.budget(), item);
      if (pair->size() != 2) fail("urlencode needs pairs");
      entries.emplace_back(pair->items()[0], pair->items()[1]);
    }
  }
  for (const auto& [key, value] : entries) {
    if (out.size() > 0) out.append("&");
    append_url(out, *str(call.budget(), key), true);
    out.append("=");
    append_url(out, *str(call.budget(), value), true);
  }
  return out.finish();
}

Value format(Call& call) {
  Arguments& given = call.rest();
  if (!given.named.empty() && !given.positional.empty()) {
    fail("format takes positional or named arguments, not both");
  }
  Value values;
  if (given.named.empty()) {
    values = make_list(call.budget(), std::move(given.positional), ListKind::tuple);
  } else {
    DictBuilder named(call.budget());
    for (auto& [name, value] : given.named) named.set(call.run().text(name), std::move(value));
    values = named.finish();
  }
  return format_percent(call.budget(), call.self_text(), values);
}

constexpr Native kFilters[] = {
    {"upper", "", upper},
    {"lower", "", lower},
    {"capitalize", "", capitalize},
    {"title", "", title},
    {"trim", "chars", trim},
    {"string", "", string},
    {"replace", "old new count", replace},
    {"escape", "", escape},
    {"e", "", escape},
    {"forceescape", "", force_escape},
    {"safe", "", safe},
    {"wordcount", "", word_count},
    {"urlencode", "", url_encode},
    {"format", "**", format},
};

}  // namespace

std::span<const Native> text_filters() noexcept {
  return kFilters;
}

}  // namespace tickertape::kernels::text::jinja
