// Text and TextBuilder: marks through cutting and joining.
#include "kernels/text/jinja/text.hpp"

#include <algorithm>

namespace tickertape::kernels::text::jinja {
namespace {

/// The first mark that ends after `at`.
std::vector<Mark>::const_iterator mark_after(const std::vector<Mark>& marks, std::size_t at) {
  return std::upper_bound(marks.begin(), marks.end(), at,
                          [](std::size_t place, const Mark& mark) { return place < mark.end; });
}

}  // namespace

Text::Text(std::string bytes, std::vector<Mark> marks, Charge charge, bool markup)
    : bytes_(std::move(bytes)),
      marks_(std::move(marks)),
      length_(count_characters(bytes_)),
      charge_(std::move(charge)),
      markup_(markup) {
  charge_.add(sizeof(Text));
}

bool Text::marked_at(std::size_t at) const noexcept {
  const auto mark = mark_after(marks_, at);
  return mark != marks_.end() && mark->begin <= at;
}

std::size_t Text::offset_of(std::size_t character) const noexcept {
  if (character >= length_) return bytes_.size();
  if (length_ == bytes_.size()) return character;
  std::size_t at = 0;
  for (; character > 0; --character) at += character_at(bytes_, at).size;
  return at;
}

void TextBuilder::append(std::string_view bytes, bool marked) {
  if (bytes.empty()) return;
  charge_.add(bytes.size());
  const std::size_t begin = bytes_.size();
  bytes_ += bytes;
  if (marked) mark(begin, bytes_.size());
}

void TextBuilder::append(const Text& text, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  const std::size_t start = bytes_.size();
  append(std::string_view(text.bytes()).substr(begin, end - begin));
  for (auto at = mark_after(text.marks(), begin); at != text.marks().end() && at->begin < end;
       ++at) {
    mark(start + std::max(at->begin, begin) - begin, start + std::min(at->end, end) - begin);
  }
}

void TextBuilder::append_repeated(std::string_view bytes, std::size_t times, bool marked) {
  if (bytes.empty() || times == 0) return;
  // Refused before the work: the product may be as large as the template likes.
  constexpr std::size_t kUnbounded = ~std::size_t{0};
  const std::size_t total = times > kUnbounded / bytes.size() ? kUnbounded : times * bytes.size();
  charge_.add(total);
  const std::size_t begin = bytes_.size();
  bytes_.reserve(begin + total);
  for (std::size_t i = 0; i < times; ++i) bytes_ += bytes;
  if (marked) mark(begin, bytes_.size());
}

void TextBuilder::mark(std::size_t begin, std::size_t end) {
  if (!marks_.empty() && marks_.back().end == begin) {
    marks_.back().end = end;
    return;
  }
  charge_.add(sizeof(Mark));
  marks_.push_back({begin, end});
}

TextPtr TextBuilder::finish(bool markup) {
  return std::make_shared<const Text>(std::move(bytes_), std::move(marks_), std::move(charge_),
                                      markup);
}

}  // namespace tickertape::kernels::text::jinja
