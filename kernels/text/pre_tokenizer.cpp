// PreTokenizer: the patterns, matched by PCRE2.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "kernels/text/pre_tokenizer.hpp"

#include <pcre2.h>

#include <cstdint>

#include <tickertape/assert.hpp>

#include "kernels/text/utf8.hpp"

namespace tickertape::kernels::text {
namespace {

// White space is spelled out (Unicode's White_Space) since PCRE2's own class has U+180E as well.
#define TICKERTAPE_SPACE                                                             \
  "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}" \
  "\\x{202f}\\x{205f}\\x{3000}"

// Quantifiers are possessive where nothing after them can need a character back: no backtracking is
// recorded, so a word of any length takes constant stack.
#define TICKERTAPE_WORDS "'(?:s|t|re|ve|m|ll|d)| ?\\p{L}++"
#define TICKERTAPE_SYMBOLS " ?[^\\p{L}\\p{N}" TICKERTAPE_SPACE "]++"

// GPT-2: a run of spaces leaves its last one to the word that follows.
constexpr const char* kGpt2 = TICKERTAPE_WORDS "| ?\\p{N}++|" TICKERTAPE_SYMBOLS
                                               "|[" TICKERTAPE_SPACE "]+(?![^" TICKERTAPE_SPACE
                                               "])"
                                               "|[" TICKERTAPE_SPACE "]++";

// SmolLM cuts out every digit before GPT-2's rule sees the pieces between them: a digit takes no
// space, and a run of spaces before one is not followed by a word.
constexpr const char* kSmollm = "\\p{N}|" TICKERTAPE_WORDS "|" TICKERTAPE_SYMBOLS
                                "|[" TICKERTAPE_SPACE "]+(?![^\\p{N}" TICKERTAPE_SPACE
                                "])"
                                "|[" TICKERTAPE_SPACE "]++";

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const noexcept { pcre2_match_data_free(data); }
};

/// The end of the run of characters, or of bytes that are none, from `at`.
std::size_t run_end(std::string_view text, std::size_t at, bool characters) {
  while (at < text.size()) {
    const Utf8Unit unit = next_unit(text.substr(at));
    if ((unit.kind == Utf8Unit::Kind::character) != characters) break;
    at += unit.size;
  }
  return at;
}

/// The end of the match at `at`, or `at` when there is none.
std::size_t match_end(const pcre2_code* code, pcre2_match_data* data, std::string_view text,
                      std::size_t at) {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  int result = pcre2_match(code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, data, nullptr);
  if (result < PCRE2_ERROR_NOMATCH) {
    // The compiled matcher ran out of its stack; the interpreter has the heap.
    result = pcre2_match(code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data,
                         nullptr);
  }
  return result > 0 ? pcre2_get_ovector_pointer(data)[1] : at;
}

}  // namespace

void PreTokenizer::FreeCode::operator()(pcre2_real_code_8* code) const noexcept {
  pcre2_code_free(code);
}

PreTokenizer::PreTokenizer(const char* pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED,
                            PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED, &error, &offset, nullptr));
  TICKERTAPE_ASSERT(code_ != nullptr);
  // Where the system allows no executable pages the interpreter serves; the result is the same.
  static_cast<void>(pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE));
}

std::unique_ptr<const PreTokenizer> PreTokenizer::find(std::string_view name) {
  const char* pattern = name == "gpt-2" ? kGpt2 : name == "smollm" ? kSmollm : nullptr;
  if (pattern == nullptr) return nullptr;
  return std::unique_ptr<const PreTokenizer>(new PreTokenizer(pattern));
}

void PreTokenizer::split(std::string_view text, std::vector<std::string_view>& words) const {
  const std::unique_ptr<pcre2_match_data, FreeMatchData> data(pcre2_match_data_create(1, nullptr));
  TICKERTAPE_ASSERT(data != nullptr);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t characters_end = run_end(text, at, true);
    const std::string_view run = text.substr(0, characters_end);
    while (at < characters_end) {
      std::size_t end = match_end(code_.get(), data.get(), run, at);
      // Every character is matched by one of the branches; should a limit be hit, nothing is lost.
      if (end <= at) end = at + next_unit(run.substr(at)).size;
      words.push_back(run.substr(at, end - at));
      at = end;
    }
    const std::size_t broken_end = run_end(text, at, false);
    if (broken_end > at) words.push_back(text.substr(at, broken_end - at));
    at = broken_end;
  }
}

}  // namespace tickertape::kernels::text
