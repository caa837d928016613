// Filters that lay texts out: indent, center, truncate, wordwrap, tojson.
#include <algorithm>
#include <string>

#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"
#include "kernels/text/jinja/text_operations.hpp"
#include "kernels/text/jinja/to_json.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

/// A number of spaces, or the text itself.
TextPtr indentation(Call& call, const Value& width) {
  if (width.is(Kind::text)) return width.text();
  if (!is_integral(width)) fail("an indent must be an integer or a string");
  TextBuilder spaces(call.budget());
  spaces.append_repeated(" ",
                         static_cast<std::size_t>(std::max<std::int64_t>(as_integer(width), 0)));
  return spaces.finish();
}

Value indent(Call& call) {
  const TextPtr margin = indentation(call, call.arg_or(0, std::int64_t{4}));
  const bool first = call.flag_or(1, false);
  const bool blank = call.flag_or(2, false);
  TextBuilder source(call.budget());
  source.append(*call.self_text());
  source.append("\n");
  const std::vector<TextPtr> lines = lines_of(call.budget(), *source.finish(), false);
  TextBuilder out(call.budget());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append("\n");
    if (i == 0 ? first : blank || !lines[i]->empty()) out.append(*margin);
    out.append(*lines[i]);
  }
  return out.finish();
}

Value center(Call& call) {
  return padded(call.budget(), *call.self_text(), call.integer_or(0, 80),
                *make_text(call.budget(), " "), true, true);
}

Value truncate(Call& call) {
  const TextPtr text = call.self_text();
  const std::int64_t length = call.integer_or(0, 255);
  const TextPtr end = str(call.budget(), call.arg_or(2, call.run().text("...")));
  const auto end_length = static_cast<std::int64_t>(end->length());
  if (length < end_length) fail("truncate needs a length of at least that of its end");
  const bool fits = !call.has(3) || call.arg(3).is(Kind::none);
  const std::int64_t leeway = fits ? 5 : call.integer(3);
  if (static_cast<std::int64_t>(text->length()) <= length + leeway) return text;
  const std::size_t cut = text->offset_of(static_cast<std::size_t>(length - end_length));
  const std::size_t space = std::string_view(text->bytes()).substr(0, cut).rfind(' ');
  const bool at_word = !call.flag_or(1, false) && space != std::string_view::npos;
  TextBuilder out(call.budget());
  out.append(*text, 0, at_word ? space : cut);
  out.append(*end);
  return out.finish();
}

/// Words of each line, filled up to a width; words that are longer stand alone or are cut.
Value word_wrap(Call& call) {
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(call.integer_or(0, 79), 1));
  const bool cuts = call.flag_or(1, true);
  const bool newline = !call.has(2) || call.arg(2).is(Kind::none);
  const TextPtr end = newline ? make_text(call.budget(), "\n") : call.text(2);
  TextBuilder out(call.budget());
  bool first_line = true;
  for (const TextPtr& line : lines_of(call.budget(), *call.self_text(), false)) {
    if (!std::exchange(first_line, false)) out.append(*end);
    std::size_t column = 0;
    for (const Value& word : split(call.budget(), *line, nullptr, -1, false)) {
      const Text& text = *word.text();
      if (column > 0 && column + 1 + text.length() > width) {
        out.append(*end);
        column = 0;
      } else if (column > 0) {
        out.append(" ");
        ++column;
      }
      std::size_t from = 0;
      while (cuts && text.length() - from > width) {
        out.append(text, text.offset_of(from), text.offset_of(from + width));
        out.append(*end);
        from += width;
      }
      out.append(text, text.offset_of(from), text.size());
      column += text.length() - from;
    }
  }
  return out.finish();
}

/// transformers' own: nothing is escaped for HTML, and ensure_ascii is off.
Value to_json(Call& call) {
  JsonStyle style;
  style.ascii_only = call.flag_or(0, false);
  const bool indented = call.has(1) && !call.arg(1).is(Kind::none);
  if (indented) style.indent = indentation(call, call.arg(1));
  style.item_separator = make_text(call.budget(), indented ? "," : ", ");
  style.key_separator = make_text(call.budget(), ": ");
  if (call.has(2) && !call.arg(2).is(Kind::none)) {
    const ListPtr pair = items_of(call.budget(), call.arg(2));
    if (pair->size() != 2) fail("separators of tojson must be two strings");
    style.item_separator = str(call.budget(), pair->items()[0]);
    style.key_separator = str(call.budget(), pair->items()[1]);
  }
  style.sort_keys = call.flag_or(3, false);
  require_defined(call.self());
  return jinja::to_json(call.budget(), call.self(), style);
}

constexpr Native kFilters[] = {
    {"indent", "width first blank", indent},
    {"center", "width", center},
    {"truncate", "length killwords end leeway", truncate},
    {"wordwrap", "width break_long_words wrapstring", word_wrap},
    {"tojson", "ensure_ascii indent separators sort_keys", to_json},
};

}  // namespace

std::span<const Native> layout_filters() noexcept {
  return kFilters;
}

}  // namespace tickertape::kernels::text::jinja
