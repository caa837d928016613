// Characters: look-ups in the tables.
#include "kernels/text/jinja/unicode.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/text/jinja/unicode_tables.hpp"
#include "kernels/text/utf8.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

constexpr char32_t kAsciiEnd = 0x80;
constexpr char32_t kReplacement = 0xfffd;

bool within(std::span<const CodeRange> ranges, char32_t code) noexcept {
  const auto next = std::upper_bound(ranges.begin(), ranges.end(), code,
                                     [](char32_t c, const CodeRange& r) { return c < r.first; });
  return next != ranges.begin() && code <= std::prev(next)->last;
}

char32_t mapped(std::span<const CaseRun> runs, char32_t code) noexcept {
  // Runs of step 2 may lie inside each other, so the two before the point are looked at.
  auto next = std::upper_bound(runs.begin(), runs.end(), code,
                               [](char32_t c, const CaseRun& r) { return c < r.first; });
  for (int i = 0; i < 2 && next != runs.begin(); ++i) {
    --next;
    if (code <= next->last && (code - next->first) % next->step == 0) {
      return static_cast<char32_t>(static_cast<std::int32_t>(code) + next->delta);
    }
  }
  return code;
}

char32_t mapped_ascii(char32_t code, Case to) noexcept {
  if (to == Case::lower) return code >= U'A' && code <= U'Z' ? code + 32 : code;
  return code >= U'a' && code <= U'z' ? code - 32 : code;
}

char32_t simple_case(char32_t code, Case to) noexcept {
  if (code < kAsciiEnd) return mapped_ascii(code, to);
  if (to == Case::lower) return mapped(lower_runs(), code);
  return mapped(to == Case::upper ? upper_runs() : title_runs(), code);
}

const CaseExpansion* expansion_of(char32_t code) noexcept {
  const auto all = case_expansions();
  const auto found = std::lower_bound(
      all.begin(), all.end(), code, [](const CaseExpansion& e, char32_t c) { return e.from < c; });
  return found != all.end() && found->from == code ? &*found : nullptr;
}

std::uint32_t low_bits(char byte, std::uint32_t mask) noexcept {
  return static_cast<unsigned char>(byte) & mask;
}

}  // namespace

Character character_at(std::string_view text, std::size_t at) noexcept {
  const std::string_view rest = text.substr(at);
  const auto lead = static_cast<unsigned char>(rest[0]);
  if (lead < kAsciiEnd) return {lead, 1};
  const Utf8Unit unit = next_unit(rest);
  if (unit.kind != Utf8Unit::Kind::character) return {kReplacement, 1};
  constexpr std::uint32_t kLeadMasks[] = {0, 0, 0x1f, 0x0f, 0x07};
  std::uint32_t code = lead & kLeadMasks[unit.size];
  for (std::size_t i = 1; i < unit.size; ++i) code = code << 6 | low_bits(rest[i], 0x3f);
  return {static_cast<char32_t>(code), unit.size};
}

std::size_t previous_character(std::string_view text, std::size_t end) noexcept {
  constexpr std::size_t kLongest = 4;
  for (std::size_t size = 2; size <= kLongest && size <= end; ++size) {
    const std::size_t at = end - size;
    if (static_cast<unsigned char>(text[at]) >= 0xc0) {
      if (character_at(text.substr(0, end), at).size == size) return at;
      break;
    }
  }
  return end - 1;
}

std::size_t count_characters(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += character_at(text, at).size;
  return count;
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto tail = [&](int shift) { put(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    put(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

void append_cased(std::string& out, char32_t code, Case to) {
  constexpr char32_t kDottedCapitalI = 0x130;
  if (code >= kAsciiEnd && to != Case::lower) {
    if (const CaseExpansion* expansion = expansion_of(code)) {
      for (const char32_t part : to == Case::upper ? expansion->upper : expansion->title) {
        if (part != 0) append_utf8(out, part);
      }
      return;
    }
  }
  append_utf8(out, simple_case(code, to));
  if (code == kDottedCapitalI && to == Case::lower) append_utf8(out, 0x307);
}

bool is_space(char32_t code) noexcept {
  if (code < kAsciiEnd) return (code >= 9 && code <= 13) || (code >= 0x1c && code <= 0x20);
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool is_letter(char32_t code) noexcept {
  if (code < kAsciiEnd) return (code | 32) >= U'a' && (code | 32) <= U'z';
  return within(letters(), code);
}

bool is_decimal(char32_t code) noexcept {
  if (code < kAsciiEnd) return code >= U'0' && code <= U'9';
  return within(decimals(), code);
}

bool is_digit(char32_t code) noexcept {
  return is_decimal(code) || within(other_digits(), code);
}

bool is_upper(char32_t code) noexcept {
  return simple_case(code, Case::lower) != code;
}

bool is_lower(char32_t code) noexcept {
  return simple_case(code, Case::upper) != code || (code >= kAsciiEnd && expansion_of(code));
}

bool is_printable(char32_t code) noexcept {
  if (code < kAsciiEnd) return code >= 0x20 && code != 0x7f;
  constexpr CodeRange kHidden[] = {
      {0x80, 0xa0},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
      {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
      {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},
      {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},   {0xfeff, 0xfeff},
      {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
      {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff}, {0xe01f0, 0x10ffff}};
  return !within(kHidden, code);
}

bool is_line_end(char32_t code) noexcept {
  return (code >= 0x0a && code <= 0x0d) || (code >= 0x1c && code <= 0x1e) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

}  // namespace tickertape::kernels::text::jinja
