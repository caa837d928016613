// kPageHtml: the page at "/", made from page.html.
#pragma once
#include <string_view>

namespace tickertape::net {

extern const std::string_view kPageHtml;

}  // namespace tickertape::net
