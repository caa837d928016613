// Text operations: cases, stripping, splitting, joining, padding.
#include "kernels/text/jinja/text_operations.hpp"

#include <algorithm>
#include <string>

#include "kernels/text/jinja/python.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool among(const Text* set, std::string_view text, std::size_t at, Character character) {
  if (set == nullptr) return is_space(character.code);
  const std::string_view wanted = text.substr(at, character.size);
  for (std::size_t i = 0; i < set->size(); i += character_at(set->bytes(), i).size) {
    if (std::string_view(set->bytes()).substr(i, character_at(set->bytes(), i).size) == wanted) {
      return true;
    }
  }
  return false;
}

std::size_t after(std::string_view text, std::size_t at, std::size_t end, const Text* set) {
  while (at < end) {
    const Character character = character_at(text, at);
    if (!among(set, text, at, character)) break;
    at += character.size;
  }
  return at;
}

std::size_t before(std::string_view text, std::size_t begin, std::size_t end, const Text* set) {
  while (end > begin) {
    const std::size_t at = previous_character(text, end);
    if (!among(set, text, at, character_at(text, at))) break;
    end = at;
  }
  return end;
}

/// Adds pieces and counts them.
class Pieces {
 public:
  Pieces(Budget* budget, const Text& text) : budget_(budget), text_(text) {}
  void add(std::size_t begin, std::size_t end) {
    budget_->step();
    items_.emplace_back(part_of(budget_, text_, begin, end));
  }
  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
  [[nodiscard]] std::vector<Value> finish(bool from_right) {
    if (from_right) std::reverse(items_.begin(), items_.end());
    return std::move(items_);
  }

 private:
  Budget* budget_;
  const Text& text_;
  std::vector<Value> items_;
};

std::vector<Value> split_words(Budget* budget, const Text& text, std::size_t most, bool right) {
  Pieces pieces(budget, text);
  const std::string_view bytes = text.bytes();
  std::size_t begin = 0;
  std::size_t end = bytes.size();
  for (;;) {
    begin = right ? begin : after(bytes, begin, end, nullptr);
    end = right ? before(bytes, begin, end, nullptr) : end;
    if (begin == end) break;
    if (pieces.size() == most) {
      pieces.add(begin, end);  // The rest, with the white space at its other end.
      break;
    }
    std::size_t edge = right ? end : begin;
    while (right ? edge > begin : edge < end) {
      const std::size_t at = right ? previous_character(bytes, edge) : edge;
      const Character character = character_at(bytes, at);
      if (is_space(character.code)) break;
      edge = right ? at : edge + character.size;
    }
    right ? pieces.add(edge, end) : pieces.add(begin, edge);
    (right ? end : begin) = edge;
  }
  return pieces.finish(right);
}

std::vector<Value> split_at(Budget* budget, const Text& text, std::string_view separator,
                            std::size_t most, bool right) {
  Pieces pieces(budget, text);
  const std::string_view bytes = text.bytes();
  std::size_t begin = 0;
  std::size_t end = bytes.size();
  while (pieces.size() < most) {
    const std::string_view rest = bytes.substr(begin, end - begin);
    const std::size_t found = right ? rest.rfind(separator) : rest.find(separator);
    if (found == kNone) break;
    const std::size_t place = begin + found;
    if (right) {
      pieces.add(place + separator.size(), end);
      end = place;
    } else {
      pieces.add(begin, place);
      begin = place + separator.size();
    }
  }
  pieces.add(begin, end);
  return pieces.finish(right);
}

}  // namespace

TextPtr part_of(Budget* budget, const Text& text, std::size_t begin, std::size_t end) {
  TextBuilder out(budget);
  out.append(text, begin, end);
  return out.finish();
}

void append_escaped(TextBuilder& out, const Text& text) {
  for_each_character(text, [&](Character character, std::size_t at, bool marked) {
    switch (character.code) {
      case U'&':
        return out.append("&amp;", marked);
      case U'<':
        return out.append("&lt;", marked);
      case U'>':
        return out.append("&gt;", marked);
      case U'"':
        return out.append("&#34;", marked);
      case U'\'':
        return out.append("&#39;", marked);
      default:
        return out.append(text, at, at + character.size);
    }
  });
}

TextPtr cased(Budget* budget, const Text& text, Case to) {
  TextBuilder out(budget);
  bool in_word = false;
  std::string character_bytes;
  for_each_character(text, [&](Character character, std::size_t at, bool marked) {
    if (character.size == 1 && static_cast<unsigned char>(text.bytes()[at]) >= 0x80) {
      return out.append(text, at, at + 1);  // No character at all.
    }
    character_bytes.clear();
    append_cased(character_bytes, character.code, to == Case::title && in_word ? Case::lower : to);
    out.append(character_bytes, marked);
    in_word = is_upper(character.code) || is_lower(character.code);
  });
  return out.finish();
}

TextPtr capitalized(Budget* budget, const Text& text) {
  const std::size_t first = text.offset_of(1);
  TextBuilder out(budget);
  out.append(*cased(budget, *part_of(budget, text, 0, first), Case::title));
  out.append(*cased(budget, *part_of(budget, text, first, text.size()), Case::lower));
  return out.finish();
}

TextPtr stripped(Budget* budget, const Text& text, const Text* set, bool left, bool right) {
  if (set != nullptr) budget->step(set->length());
  const std::string_view bytes = text.bytes();
  const std::size_t begin = left ? after(bytes, 0, bytes.size(), set) : 0;
  const std::size_t end = right ? before(bytes, begin, bytes.size(), set) : bytes.size();
  return part_of(budget, text, begin, end);
}

TextPtr replaced(Budget* budget, const Text& text, const Text& from, const Text& to,
                 std::int64_t count) {
  const std::size_t most = count < 0 ? kNone : static_cast<std::size_t>(count);
  TextBuilder out(budget);
  std::size_t done = 0;
  std::size_t at = 0;
  std::size_t search = 0;
  while (done < most) {
    const std::size_t found = text.bytes().find(from.bytes(), search);
    if (found == kNone) break;
    budget->step();
    out.append(text, at, found);
    out.append(to);
    at = found + from.size();
    // An empty text is found before every character and at the end.
    search = from.empty() && at < text.size() ? at + character_at(text.bytes(), at).size
                                              : at + (from.empty() ? 1 : 0);
    ++done;
    if (search > text.size()) break;
  }
  out.append(text, at, text.size());
  return out.finish();
}

std::vector<Value> split(Budget* budget, const Text& text, const Text* separator, std::int64_t most,
                         bool from_right) {
  const std::size_t limit = most < 0 ? kNone : static_cast<std::size_t>(most);
  if (separator == nullptr) return split_words(budget, text, limit, from_right);
  if (separator->empty()) fail("empty separator");
  return split_at(budget, text, separator->bytes(), limit, from_right);
}

std::vector<TextPtr> lines_of(Budget* budget, const Text& text, bool keep_ends) {
  std::vector<TextPtr> lines;
  const std::string_view bytes = text.bytes();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Character character = character_at(bytes, at);
    const std::size_t end = at;
    at += character.size;
    if (!is_line_end(character.code)) continue;
    if (character.code == U'\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    budget->step();
    lines.push_back(part_of(budget, text, begin, keep_ends ? at : end));
    begin = at;
  }
  if (begin < bytes.size()) lines.push_back(part_of(budget, text, begin, bytes.size()));
  return lines;
}

TextPtr joined(Budget* budget, const Text& separator, const std::vector<Value>& items) {
  TextBuilder out(budget);
  for (std::size_t i = 0; i < items.size(); ++i) {
    budget->step();
    if (i > 0) out.append(separator);
    append_str(out, items[i]);
  }
  budget->touch(out.size());
  return out.finish();
}

TextPtr padded(Budget* budget, const Text& text, std::int64_t width, const Text& fill, bool left,
               bool right) {
  if (fill.length() != 1) fail("the fill must be one character");
  const auto length = static_cast<std::int64_t>(text.length());
  const auto pad = static_cast<std::size_t>(std::max<std::int64_t>(width - length, 0));
  // As in Python, where the odd character of the middle goes.
  const std::size_t odd = pad & static_cast<std::size_t>(width) & 1;
  const std::size_t before = left && right ? pad / 2 + odd : left ? pad : 0;
  TextBuilder out(budget);
  out.append_repeated(fill.bytes(), before, fill.any_marked());
  out.append(text);
  out.append_repeated(fill.bytes(), pad - before, fill.any_marked());
  return out.finish();
}

}  // namespace tickertape::kernels::text::jinja
