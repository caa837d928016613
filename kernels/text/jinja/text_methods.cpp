// Methods of strings, as Python has them.
#include <algorithm>
#include <string>

#include "kernels/text/jinja/format.hpp"
#include "kernels/text/jinja/native.hpp"
#include "kernels/text/jinja/python.hpp"
#include "kernels/text/jinja/runtime.hpp"
#include "kernels/text/jinja/text_operations.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

const Text& own(Call& call) {
  return *call.self_text();
}

template <Case to>
Value change_case(Call& call) {
  return cased(call.budget(), own(call), to);
}

Value capitalize(Call& call) {
  return capitalized(call.budget(), own(call));
}

/// Upper case first, so that characters such as the sharp s become what they stand for.
Value fold_case(Call& call) {
  return cased(call.budget(), *cased(call.budget(), own(call), Case::upper), Case::lower);
}

Value swap_case(Call& call) {
  const Text& text = own(call);
  TextBuilder out(call.budget());
  for_each_character(text, [&](Character character, std::size_t at, bool) {
    const TextPtr one = part_of(call.budget(), text, at, at + character.size);
    out.append(*cased(call.budget(), *one, is_upper(character.code) ? Case::lower : Case::upper));
  });
  return out.finish();
}

template <bool left, bool right>
Value strip(Call& call) {
  const bool white = !call.has(0) || call.arg(0).is(Kind::none);
  const TextPtr set = white ? nullptr : call.text(0);
  return stripped(call.budget(), own(call), set.get(), left, right);
}

template <bool from_right>
Value split_text(Call& call) {
  const bool white = !call.has(0) || call.arg(0).is(Kind::none);
  const TextPtr separator = white ? nullptr : call.text(0);
  return make_list(call.budget(), split(call.budget(), own(call), separator.get(),
                                        call.integer_or(1, -1), from_right));
}

Value split_lines(Call& call) {
  std::vector<Value> lines;
  for (TextPtr& line : lines_of(call.budget(), own(call), call.flag_or(0, false))) {
    lines.emplace_back(std::move(line));
  }
  return make_list(call.budget(), std::move(lines));
}

template <bool from_right>
Value partition(Call& call) {
  const Text& text = own(call);
  const TextPtr separator = call.text(0);
  if (separator->empty()) fail("empty separator");
  const std::size_t found =
      from_right ? text.bytes().rfind(separator->bytes()) : text.bytes().find(separator->bytes());
  const TextPtr none = make_text(call.budget(), "");
  std::vector<Value> parts;
  if (found != kNone) {
    parts = {part_of(call.budget(), text, 0, found),
             part_of(call.budget(), text, found, found + separator->size()),
             part_of(call.budget(), text, found + separator->size(), text.size())};
  } else if (from_right) {
    parts = {none, none, call.self()};
  } else {
    parts = {call.self(), none, none};
  }
  return make_list(call.budget(), std::move(parts), ListKind::tuple);
}

/// The bytes of the characters [start, end) that arguments `i` and `i + 1` name.
struct Range {
  std::size_t begin;
  std::size_t end;
};

Range range_of(Call& call, const Text& text, std::size_t i) {
  const auto size = static_cast<std::int64_t>(text.length());
  const auto placed = [&](std::size_t argument, std::int64_t missing) {
    if (!call.has(argument) || call.arg(argument).is(Kind::none)) return missing;
    const std::int64_t index = call.integer(argument);
    return std::max<std::int64_t>(index < 0 ? index + size : index, 0);
  };
  const std::int64_t start = placed(i, 0);
  if (start > size) return {1, 0};
  return {text.offset_of(static_cast<std::size_t>(start)),
          text.offset_of(static_cast<std::size_t>(placed(i + 1, size)))};
}

template <bool at_end>
Value affixed(Call& call) {
  const Text& text = own(call);
  const Range range = range_of(call, text, 1);
  const auto matches = [&](const Value& affix) {
    if (!affix.is(Kind::text)) {
      require_defined(affix);
      fail(std::string(call.native().name) + "() needs a string or a tuple of strings");
    }
    if (range.begin > range.end) return false;
    const std::string_view part =
        std::string_view(text.bytes()).substr(range.begin, range.end - range.begin);
    return at_end ? part.ends_with(affix.text()->bytes()) : part.starts_with(affix.text()->bytes());
  };
  const Value& affix = call.arg(0);
  if (affix.is(Kind::list) && affix.list()->is_tuple()) {
    return std::any_of(affix.list()->items().begin(), affix.list()->items().end(), matches);
  }
  return matches(affix);
}

template <bool from_right>
std::int64_t position(Call& call) {
  const Text& text = own(call);
  const TextPtr part = call.text(0);
  const Range range = range_of(call, text, 1);
  if (range.begin > range.end) return -1;
  const std::string_view within =
      std::string_view(text.bytes()).substr(range.begin, range.end - range.begin);
  const std::size_t found = from_right ? within.rfind(part->bytes()) : within.find(part->bytes());
  if (found == kNone) return -1;
  return static_cast<std::int64_t>(
      count_characters(std::string_view(text.bytes()).substr(0, range.begin + found)));
}

template <bool from_right>
Value find(Call& call) {
  return position<from_right>(call);
}

template <bool from_right>
Value index(Call& call) {
  const std::int64_t found = position<from_right>(call);
  if (found < 0) fail("substring not found");
  return found;
}

Value count(Call& call) {
  const Text& text = own(call);
  const TextPtr part = call.text(0);
  const Range range = range_of(call, text, 1);
  if (range.begin > range.end) return std::int64_t{0};
  const std::string_view within =
      std::string_view(text.bytes()).substr(range.begin, range.end - range.begin);
  if (part->empty()) return static_cast<std::int64_t>(count_characters(within) + 1);
  std::int64_t result = 0;
  for (std::size_t at = within.find(part->bytes()); at != kNone;
       at = within.find(part->bytes(), at + part->size())) {
    ++result;
  }
  return result;
}

Value replace(Call& call) {
  return replaced(call.budget(), own(call), *call.text(0), *call.text(1), call.integer_or(2, -1));
}

template <bool at_end>
Value without_affix(Call& call) {
  const Text& text = own(call);
  const TextPtr affix = call.text(0);
  if (at_end && !affix->empty() && text.bytes().ends_with(affix->bytes())) {
    return part_of(call.budget(), text, 0, text.size() - affix->size());
  }
  if (!at_end && text.bytes().starts_with(affix->bytes())) {
    return part_of(call.budget(), text, affix->size(), text.size());
  }
  return call.self();
}

Value join(Call& call) {
  const ListPtr items = items_of(call.budget(), call.arg(0));
  for (const Value& item : items->items()) {
    if (!item.is(Kind::text)) fail("join() needs strings, not " + type_name(item));
  }
  return joined(call.budget(), own(call), items->items());
}

template <bool left, bool right>
Value pad(Call& call) {
  const TextPtr fill = call.has(1) ? call.text(1) : make_text(call.budget(), " ");
  return padded(call.budget(), own(call), call.integer(0), *fill, left, right);
}

Value fill_zeros(Call& call) {
  const Text& text = own(call);
  const bool sign = !text.empty() && (text.bytes()[0] == '-' || text.bytes()[0] == '+');
  const std::size_t begin = sign ? 1 : 0;
  TextBuilder out(call.budget());
  out.append(text, 0, begin);
  out.append(*padded(call.budget(), *part_of(call.budget(), text, begin, text.size()),
                     call.integer(0) - static_cast<std::int64_t>(begin),
                     *make_text(call.budget(), "0"), true, false));
  return out.finish();
}

Value expand_tabs(Call& call) {
  const std::int64_t size = std::clamp<std::int64_t>(call.integer_or(0, 8), 0, 1 << 20);
  const Text& text = own(call);
  TextBuilder out(call.budget());
  std::int64_t column = 0;
  for_each_character(text, [&](Character character, std::size_t at, bool marked) {
    if (character.code == U'\t') {
      const std::int64_t spaces = size == 0 ? 0 : size - column % size;
      out.append_repeated(" ", static_cast<std::size_t>(spaces), marked);
      column += spaces;
      return;
    }
    out.append(text, at, at + character.size);
    column = character.code == U'\n' || character.code == U'\r' ? 0 : column + 1;
  });
  return out.finish();
}

Value format(Call& call) {
  return format_braces(call.run(), own(call), call.rest());
}

constexpr Native kMethods[] = {
    {"upper", "", change_case<Case::upper>},
    {"lower", "", change_case<Case::lower>},
    {"casefold", "", fold_case},
    {"title", "", change_case<Case::title>},
    {"capitalize", "", capitalize},
    {"swapcase", "", swap_case},
    {"strip", "chars", strip<true, true>},
    {"lstrip", "chars", strip<true, false>},
    {"rstrip", "chars", strip<false, true>},
    {"split", "sep maxsplit", split_text<false>},
    {"rsplit", "sep maxsplit", split_text<true>},
    {"splitlines", "keepends", split_lines},
    {"partition", "sep", partition<false>},
    {"rpartition", "sep", partition<true>},
    {"startswith", "prefix start end", affixed<false>},
    {"endswith", "suffix start end", affixed<true>},
    {"find", "sub start end", find<false>},
    {"rfind", "sub start end", find<true>},
    {"index", "sub start end", index<false>},
    {"rindex", "sub start end", index<true>},
    {"count", "sub start end", count},
    {"replace", "old new count", replace},
    {"removeprefix", "prefix", without_affix<false>},
    {"removesuffix", "suffix", without_affix<true>},
    {"join", "iterable", join},
    {"center", "width fillchar", pad<true, true>},
    {"ljust", "width fillchar", pad<false, true>},
    {"rjust", "width fillchar", pad<true, false>},
    {"zfill", "width", fill_zeros},
    {"expandtabs", "tabsize", expand_tabs},
    {"format", "**", format},
};

}  // namespace

std::span<const Native> text_methods() noexcept {
  return kMethods;
}

}  // namespace tickertape::kernels::text::jinja
