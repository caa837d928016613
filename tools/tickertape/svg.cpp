// Svg: shapes and texts of a picture, as they are written.
#include "tools/tickertape/svg.hpp"

#include <fmt/core.h>

namespace tickertape::program {
namespace {

/// At most two decimals, without trailing zeros: files stay small.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string list(const std::vector<std::pair<double, double>>& points) {
  std::string text;
  for (const auto& [x, y] : points) text += number(x) + "," + number(y) + " ";
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace

void Svg::rect(const Box& box, std::string_view fill, std::string_view stroke, double opacity) {
  body_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}")", number(box.x),
                       number(box.y), number(box.width), number(box.height), fill);
  if (!stroke.empty()) body_ += fmt::format(R"( stroke="{}")", stroke);
  if (opacity < 1) body_ += fmt::format(R"( fill-opacity="{}")", number(opacity));
  body_ += "/>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view color, double width,
               std::string_view dashes) {
  body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="{}")",
                       number(x1), number(y1), number(x2), number(y2), color, number(width));
  if (!dashes.empty()) body_ += fmt::format(R"( stroke-dasharray="{}")", dashes);
  body_ += "/>\n";
}

void Svg::polyline(const std::vector<std::pair<double, double>>& points, std::string_view color,
                   double width) {
  body_ += fmt::format(
      R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="{}" stroke-linejoin="round"/>)"
      "\n",
      list(points), color, number(width));
}

void Svg::polygon(const std::vector<std::pair<double, double>>& points, std::string_view fill) {
  body_ += fmt::format(R"(<polygon points="{}" fill="{}"/>)"
                       "\n",
                       list(points), fill);
}

void Svg::circle(double x, double y, double radius, std::string_view fill) {
  body_ += fmt::format(R"(<circle cx="{}" cy="{}" r="{}" fill="{}"/>)"
                       "\n",
                       number(x), number(y), number(radius), fill);
}

void Svg::text(double x, double y, std::string_view text, const TextStyle& style) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  body_ += fmt::format(R"(<text x="{}" y="{}" font-size="{}" fill="{}" text-anchor="{}")",
                       number(x), number(y), number(style.size), style.color,
                       kAnchors[static_cast<std::size_t>(style.anchor)]);
  if (style.bold) body_ += R"( font-weight="bold")";
  if (style.upwards) {
    body_ += fmt::format(" transform=\"rotate(-90 {} {})\"", number(x), number(y));
  }
  body_ += ">" + escape(text) + "</text>\n";
}

std::string Svg::finish() const {
  // A background of its own: pages that show it may be dark.
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif">
<rect width="{0}" height="{1}" fill="#ffffff"/>
{2}</svg>
)",
      number(width_), number(height_), body_);
}

}  // namespace tickertape::program
