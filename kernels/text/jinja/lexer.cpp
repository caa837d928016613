// Lexer: tags, comments, raw blocks, and what stands inside of tags.
#include "kernels/text/jinja/lexer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "kernels/text/jinja/string_literal.hpp"
#include "kernels/text/jinja/unicode.hpp"

namespace tickertape::kernels::text::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// All line ends as '\n', and one at the very end dropped.
std::string normalized(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
    } else {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool is_name_start(char32_t code) {
  return code == U'_' || is_letter(code);
}
bool is_name_part(char32_t code) {
  return is_name_start(code) || is_digit(code);
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) data();
    add(TokenType::end, "");
    return std::move(tokens_);
  }

 private:
  void add(TokenType type, std::string text) {
    Token token;
    token.type = type;
    token.text = std::move(text);
    token.line = line_;
    tokens_.push_back(std::move(token));
  }
  [[nodiscard]] std::string_view rest() const { return source_.substr(at_); }

  void move_to(std::size_t place) {
    line_ += static_cast<std::uint32_t>(
        std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                   source_.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
    at_ = place;
  }
  [[nodiscard]] std::size_t after_spaces(std::size_t place) const {
    while (place < source_.size()) {
      const Character character = character_at(source_, place);
      if (!is_space(character.code)) break;
      place += character.size;
    }
    return place;
  }

  /// Data up to the next tag, then the tag.
  void data() {
    std::size_t tag = at_;
    while (tag < source_.size()) {
      tag = source_.find('{', tag);
      if (tag == kNone || tag + 1 >= source_.size()) tag = source_.size();
      if (tag == source_.size()) break;
      const char kind = source_[tag + 1];
      if (kind == '{' || kind == '%' || kind == '#') break;
      ++tag;
    }
    if (tag == source_.size()) return add_data(source_.size(), source_.size());
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    add_data(data_end(tag, kind, sign), tag);
    at_ = tag + 2 + (sign == '-' || sign == '+' ? 1 : 0);
    if (kind == '#') return comment();
    if (kind == '%' && raw()) return;
    add(kind == '{' ? TokenType::variable_begin : TokenType::block_begin, "");
    inside(kind == '{');
  }

  void add_data(std::size_t end, std::size_t next) {
    if (end > at_) add(TokenType::data, std::string(source_.substr(at_, end - at_)));
    move_to(next);
  }

  /// Where the data before a tag ends once white space is taken away.
  [[nodiscard]] std::size_t data_end(std::size_t tag, char kind, char sign) const {
    std::size_t end = tag;
    if (sign == '-') {
      while (end > at_) {
        const std::size_t before = previous_character(source_, end);
        if (before < at_ || !is_space(character_at(source_, before).code)) break;
        end = before;
      }
      return end;
    }
    if (sign == '+' || kind == '{') return tag;
    const std::size_t newline = source_.substr(at_, tag - at_).rfind('\n');
    // A tag that something else than data stands before on its line keeps its white space.
    if (newline == kNone && !starts_line(at_)) return tag;
    const std::size_t line_start = newline == kNone ? at_ : at_ + newline + 1;
    return after_spaces(line_start) >= tag ? line_start : tag;
  }
  [[nodiscard]] bool starts_line(std::size_t place) const {
    return place == 0 || source_[place - 1] == '\n';
  }

  /// Skips what the end of a tag takes with it. `place` is behind the end.
  void close_tag(std::size_t place, char sign) {
    if (sign == '-') {
      place = after_spaces(place);
    } else if (sign != '+' && place < source_.size() && source_[place] == '\n') {
      ++place;  // trim_blocks
    }
    move_to(place);
  }

  void comment() {
    const std::uint32_t start = line_;
    const std::size_t end = source_.find("#}", at_);
    if (end == kNone) fail_syntax(start, "a comment is not closed: expected '#}'");
    const char before = end > at_ ? source_[end - 1] : '\0';
    close_tag(end + 2, before);
  }

  /// At the inside of a block tag: takes a whole raw block when it is one.
  bool raw() {
    std::size_t place = after_spaces(at_);
    if (source_.substr(place, 3) != "raw") return false;
    place = after_spaces(place + 3);
    const bool trims = source_.substr(place, 3) == "-%}";
    if (!trims && source_.substr(place, 2) != "%}") return false;
    move_to(trims ? after_spaces(place + 3) : place + 2);
    const std::uint32_t start = line_;
    for (std::size_t tag = source_.find("{%", at_); tag != kNone;
         tag = source_.find("{%", tag + 1)) {
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      const bool has_sign = sign == '-' || sign == '+';
      std::size_t end = after_spaces(tag + 2 + (has_sign ? 1 : 0));
      if (source_.substr(end, 6) != "endraw") continue;
      end = after_spaces(end + 6);
      const char close = end < source_.size() ? source_[end] : '\0';
      if (close == '-' || close == '+') ++end;
      if (source_.substr(end, 2) != "%}") continue;
      add_data(data_end(tag, '%', sign), tag);
      close_tag(end + 2, close);
      return true;
    }
    fail_syntax(start, "a raw block is not closed: expected {% endraw %}");
  }

  /// The tokens of a tag and its end.
  void inside(bool variable) {
    const std::uint32_t start = line_;
    const std::string_view end = variable ? "}}" : "%}";
    for (;;) {
      move_to(after_spaces(at_));
      if (at_ >= source_.size()) {
        fail_syntax(start, "a tag is not closed: expected '" + std::string(end) + "'");
      }
      if (open_.empty()) {
        const char sign = source_[at_];
        const bool has_sign = sign == '-' || (sign == '+' && !variable);
        if (source_.substr(at_ + (has_sign ? 1 : 0), 2) == end) {
          add(variable ? TokenType::variable_end : TokenType::block_end, "");
          const std::size_t place = at_ + (has_sign ? 3 : 2);
          // The newline behind a variable is part of the text.
          if (variable && !has_sign) return move_to(place);
          return close_tag(place, has_sign ? sign : '\0');
        }
      }
      token();
    }
  }

  void token() {
    const char c = source_[at_];
    const Character character = character_at(source_, at_);
    if (is_name_start(character.code)) return name();
    if (c >= '0' && c <= '9') return number();
    if (c == '\'' || c == '"') return string(c);
    symbol();
  }

  void name() {
    std::size_t end = at_;
    while (end < source_.size()) {
      const Character character = character_at(source_, end);
      if (!is_name_part(character.code)) break;
      end += character.size;
    }
    add(TokenType::name, std::string(source_.substr(at_, end - at_)));
    at_ = end;
  }

  void string(char quote) {
    const std::uint32_t start = line_;
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail_syntax(start, "a string is not closed");
    add(TokenType::string, unescaped(source_.substr(at_ + 1, end - at_ - 1), line_));
    move_to(end + 1);
  }

  /// Digits of a base with single underscores between them, copied without those.
  std::string digits(std::size_t& place, int base) const {
    std::string text;
    while (place < source_.size()) {
      const char c = source_[place];
      const bool underscore = c == '_' && !text.empty() && place + 1 < source_.size();
      const char probe = underscore ? source_[place + 1] : c;
      const int lower = probe | 0x20;
      const int value = probe >= '0' && probe <= '9'   ? probe - '0'
                        : lower >= 'a' && lower <= 'z' ? lower - 'a' + 10
                                                       : 99;
      if (value >= base) break;
      if (underscore) ++place;
      text += probe;
      ++place;
    }
    return text;
  }

  void number() {
    constexpr std::pair<std::string_view, int> kBases[] = {{"0x", 16}, {"0o", 8}, {"0b", 2}};
    int base = 10;
    std::size_t place = at_;
    for (const auto& [prefix, value] : kBases) {
      if (source_.substr(at_, 1) == "0" && at_ + 1 < source_.size() &&
          (source_[at_ + 1] | 0x20) == prefix[1]) {
        base = value;
        place = at_ + 2;
      }
    }
    const std::string whole = digits(place, base);
    if (base == 10 && fraction(whole, place)) return;
    Token token;
    token.type = TokenType::integer;
    token.line = line_;
    const auto read =
        std::from_chars(whole.data(), whole.data() + whole.size(), token.integer, base);
    if (whole.empty() || read.ec != std::errc{}) {
      fail_syntax(line_, "a number is not an integer of 64 bits");
    }
    tokens_.push_back(std::move(token));
    at_ = place;
  }

  bool fraction(const std::string& whole, std::size_t place) {
    std::string text = whole;
    bool is_float = false;
    const auto digit_at = [&](std::size_t i) {
      return i < source_.size() && source_[i] >= '0' && source_[i] <= '9';
    };
    if (source_.substr(place, 1) == "." && digit_at(place + 1)) {
      is_float = true;
      text += '.' + digits(++place, 10);
    }
    if (place < source_.size() && (source_[place] | 0x20) == 'e') {
      const std::size_t sign =
          source_.substr(place + 1, 1) == "-" || source_.substr(place + 1, 1) == "+" ? 1 : 0;
      if (digit_at(place + 1 + sign)) {
        is_float = true;
        text += source_.substr(place, 1 + sign);
        place += 1 + sign;
        text += digits(place, 10);
      }
    }
    if (!is_float) return false;
    Token token;
    token.type = TokenType::number;
    token.line = line_;
    token.number = std::strtod(text.c_str(), nullptr);
    tokens_.push_back(std::move(token));
    at_ = place;
    return true;
  }

  void symbol() {
    constexpr std::array<std::string_view, 6> kPairs = {"//", "**", "==", "!=", ">=", "<="};
    const std::string_view two = source_.substr(at_, 2);
    const bool pair = std::find(kPairs.begin(), kPairs.end(), two) != kPairs.end();
    const std::string text(pair ? two : two.substr(0, 1));
    constexpr std::string_view kSingle = "+-/*%~[](){}<>=.:|,;";
    if (!pair && kSingle.find(text[0]) == kNone) {
      fail_syntax(line_, "unexpected character '" +
                             std::string(source_.substr(at_, character_at(source_, at_).size)) +
                             "'");
    }
    balance(text[0]);
    add(TokenType::symbol, text);
    at_ += text.size();
  }

  /// Brackets are matched here, so that '}}' inside of braces does not end a tag.
  void balance(char c) {
    constexpr std::string_view kOpen = "([{";
    constexpr std::string_view kClose = ")]}";
    if (const std::size_t open = kOpen.find(c); open != kNone) open_ += kClose[open];
    if (kClose.find(c) == kNone) return;
    if (open_.empty()) fail_syntax(line_, std::string("unexpected '") + c + "'");
    if (open_.back() != c) {
      fail_syntax(line_, std::string("unexpected '") + c + "', expected '" + open_.back() + "'");
    }
    open_.pop_back();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::string open_;  ///< The closing brackets that are due.
  std::vector<Token> tokens_;
};

}  // namespace

void fail_syntax(std::uint32_t line, const std::string& what) {
  throw Error(
      ErrorInfo{Errc::invalid_request,
                "the chat template cannot be read: line " + std::to_string(line) + ": " + what,
                "chat_template", 0});
}

std::vector<Token> read_tokens(std::string_view source) {
  const std::string text = normalized(source);
  return Lexer(text).run();
}

}  // namespace tickertape::kernels::text::jinja
