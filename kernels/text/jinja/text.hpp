// Text: a string that knows which of its bytes came from messages.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/text/jinja/budget.hpp"
#include "kernels/text/jinja/unicode.hpp"

namespace tickertape::kernels::text::jinja {

/// Bytes [begin, end) that came from messages, tools or variables.
struct Mark {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Text;
using TextPtr = std::shared_ptr<const Text>;

/// Immutable. Marks are sorted and neither overlap nor touch. Indices are bytes unless said
/// otherwise.
class Text {
 public:
  Text(std::string bytes, std::vector<Mark> marks, Charge charge, bool markup = false);

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] const std::vector<Mark>& marks() const noexcept { return marks_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  /// What `safe` and `escape` give: '+' escapes the other text for HTML.
  [[nodiscard]] bool is_markup() const noexcept { return markup_; }
  [[nodiscard]] bool any_marked() const noexcept { return !marks_.empty(); }
  [[nodiscard]] bool marked_at(std::size_t at) const noexcept;

  /// Characters, not bytes.
  [[nodiscard]] std::size_t length() const noexcept { return length_; }
  /// The byte where a character starts; size() for those past the end.
  [[nodiscard]] std::size_t offset_of(std::size_t character) const noexcept;

 private:
  std::string bytes_;
  std::vector<Mark> marks_;
  std::size_t length_;
  Charge charge_;
  bool markup_;
};

/// Makes a Text piece by piece; every byte is counted against the budget before it is written.
class TextBuilder {
 public:
  explicit TextBuilder(Budget* budget) : charge_(budget, 0) {}

  void append(std::string_view bytes, bool marked = false);
  void append(const Text& text) { append(text, 0, text.size()); }
  /// Bytes [begin, end) with their marks.
  void append(const Text& text, std::size_t begin, std::size_t end);
  void append_repeated(std::string_view bytes, std::size_t times, bool marked = false);

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] TextPtr finish(bool markup = false);

 private:
  void mark(std::size_t begin, std::size_t end);

  std::string bytes_;
  std::vector<Mark> marks_;
  Charge charge_;
};

/// Calls use(character, its first byte, whether it is marked) for each character.
template <class Use>
void for_each_character(const Text& text, const Use& use) {
  auto mark = text.marks().begin();
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text.bytes(), at);
    while (mark != text.marks().end() && mark->end <= at) ++mark;
    use(character, at, mark != text.marks().end() && mark->begin <= at);
    at += character.size;
  }
}

}  // namespace tickertape::kernels::text::jinja
