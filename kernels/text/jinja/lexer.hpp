// Lexer: a template's text as tokens, with Jinja's control of white space.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/errors.hpp>

namespace tickertape::kernels::text::jinja {

enum class TokenType : unsigned char {
  data,            ///< Text that is written as it is.
  variable_begin,  ///< {{
  variable_end,
  block_begin,  ///< {%
  block_end,
  name,
  string,
  integer,
  number,
  symbol,  ///< An operator or bracket.
  end      ///< Of the template.
};

struct Token {
  TokenType type = TokenType::end;
  std::string text;  ///< Of a string: its value.
  std::int64_t integer = 0;
  double number = 0;
  std::uint32_t line = 1;

  [[nodiscard]] bool is_symbol(std::string_view symbol) const {
    return type == TokenType::symbol && text == symbol;
  }
  [[nodiscard]] bool is_name(std::string_view name) const {
    return type == TokenType::name && text == name;
  }
};

/// Throws Error(Errc::invalid_request) with the line and what is wrong.
[[noreturn]] void fail_syntax(std::uint32_t line, const std::string& what);

/// White space is treated as transformers sets Jinja up: trim_blocks and lstrip_blocks are on, and
/// one newline at the end of the template is dropped. Comments are gone, `raw` blocks are data. The
/// last token is `end`.
[[nodiscard]] std::vector<Token> read_tokens(std::string_view source);

}  // namespace tickertape::kernels::text::jinja
