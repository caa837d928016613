// Detokenizer: whole characters out of the bytes of tokens.
#include <string>
#include <string_view>

#include <tickertape/tokenizer.hpp>

#include "kernels/text/utf8.hpp"

namespace tickertape {

std::string Detokenizer::push(TokenId id) {
  using kernels::text::Utf8Unit;
  if (tokenizer_->is_control(id)) return {};
  held_ += tokenizer_->bytes(id);
  std::string text;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const Utf8Unit unit = kernels::text::next_unit(rest);
    if (unit.kind == Utf8Unit::Kind::unfinished) break;
    text += unit.kind == Utf8Unit::Kind::character ? rest.substr(0, unit.size) : "\xef\xbf\xbd";
    rest.remove_prefix(unit.size);
  }
  held_.erase(0, held_.size() - rest.size());
  return text;
}

}  // namespace tickertape
