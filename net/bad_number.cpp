// BadNumber: one walk over a text that was refused; only its tokens are looked at.
#include "net/bad_number.hpp"

#include <simdjson.h>

#include <cstddef>

namespace tickertape::net {
namespace {

bool starts_number(char c) noexcept {
  return c == '-' || (c >= '0' && c <= '9');
}

bool ends_number(char c) noexcept {
  return std::string_view(" \t\r\n,:]}[{\"").find(c) != std::string_view::npos;
}

/// The end of the string that begins at `start`, its last quote included.
std::size_t string_end(std::string_view text, std::size_t start) noexcept {
  for (std::size_t i = start + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

/// Like the names of our fields: what is told back holds no other bytes of the client.
bool is_name(std::string_view key) noexcept {
  constexpr std::size_t kMaxBytes = 64;
  return key.size() <= kMaxBytes &&
         key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}

class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  std::optional<BadNumber> run() {
    while (at_ < text_.size()) step();
    if (!found_) return std::nullopt;
    out_.without += text_.substr(copied_);
    return std::move(out_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"') {
      const std::size_t end = string_end(text_, at_);
      if (depth_ == 1 && end - at_ >= 2) last_string_ = text_.substr(at_ + 1, end - at_ - 2);
      at_ = end;
    } else if (starts_number(c)) {
      number();
    } else {
      if (c == '{' || c == '[') ++depth_;
      if (c == '}' || c == ']') --depth_;
      if (c == ':' && depth_ == 1) member_ = last_string_;
      ++at_;
    }
  }

  void number() {
    std::size_t end = at_;
    while (end < text_.size() && !ends_number(text_[end])) ++end;
    if (is_bad(text_.substr(at_, end - at_))) {
      if (!found_ && is_name(member_)) out_.member = member_;
      found_ = true;
      out_.without += text_.substr(copied_, at_ - copied_);
      out_.without += "null";
      copied_ = end;
    }
    at_ = end;
  }

  bool is_bad(std::string_view number) {
    constexpr std::size_t kMaxSafeDigits = 18;  // Always an integer of 64 bits.
    const bool plain = number.find_first_not_of("0123456789") == std::string_view::npos;
    if (plain && number.size() <= kMaxSafeDigits && number.front() != '0') return false;
    simdjson::dom::element ignored;
    return parser_.parse(number.data(), number.size()).get(ignored) == simdjson::NUMBER_ERROR;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t copied_ = 0;  ///< Up to here the text is in out_.without.
  int depth_ = 0;
  std::string_view last_string_;  ///< At depth 1.
  std::string_view member_;
  bool found_ = false;
  BadNumber out_;
  simdjson::dom::parser parser_;
};

}  // namespace

std::optional<BadNumber> find_bad_number(std::string_view text) {
  return Walk(text).run();
}

}  // namespace tickertape::net
