// Scale: numbers of an axis as places on the picture, and the numbers worth a line.
#include "tools/tickertape/plot_axes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace tickertape::program {
namespace {

constexpr std::string_view kGrid = "#e4e4e4";
constexpr std::string_view kAxis = "#888888";
constexpr double kTextSize = 12;
constexpr double kTitleSize = 13;

/// 1, 2 or 5 times a power of ten: the smallest step that cuts `span` into at most `most` parts.
double nice_step(double span, double most) {
  const double rough = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> log_ticks(double low, double high) {
  const double decades = std::log10(high / low);
  std::vector<double> factors{1, 2, 5};
  if (decades > 3.5) factors = {1};
  if (decades < 1) factors = {1, 1.5, 2, 3, 4, 5, 7};
  std::vector<double> ticks;
  for (double power = std::pow(10.0, std::floor(std::log10(low))); power <= high * 1.001;
       power *= 10) {
    for (const double factor : factors) {
      const double tick = factor * power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
}

double text_width(const std::string& text) {
  constexpr double kPerCharacter = 0.56;
  return kPerCharacter * kTextSize * static_cast<double>(text.size());
}

}  // namespace

Scale::Scale(const Axis& axis, double low, double high, double from, double to, bool round)
    : log_(axis.log), low_(low), high_(high), from_(from), to_(to) {
  if (log_) {
    if (!(low_ > 0)) low_ = high_ > 0 ? high_ / 1000 : 1;
    if (!(high_ > low_)) high_ = low_ * 10;
    if (round) {
      high_ *= 1.15;
      low_ /= 1.15;
    }
    ticks_ = log_ticks(low_, high_);
    constexpr std::size_t kFew = 3;  // On a short stretch a logarithm says no more than a line.
    if (ticks_.size() >= kFew) return;
    log_ = false;
    ticks_.clear();
  }
  if (axis.from_zero) low_ = std::min(low_, 0.0);
  if (!(high_ > low_)) high_ = low_ + 1;
  const double per_tick = to < from ? 34 : 64;  // Pixels: numbers beside a y axis are less high.
  const double step =
      nice_step(high_ - low_, std::max(2.0, std::floor(std::abs(to - from) / per_tick)));
  if (round) {
    low_ = std::floor(low_ / step + 1e-9) * step;
    high_ = std::ceil(high_ / step - 1e-9) * step;
  }
  const auto last = std::floor(high_ / step + 1e-6);
  for (double i = std::ceil(low_ / step - 1e-6); i <= last; ++i) ticks_.push_back(i * step);
}

double Scale::at(double value) const {
  const double share =
      log_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
  return from_ + share * (to_ - from_);
}

bool Scale::shows(double value) const {
  return std::isfinite(value) && (!log_ || value > 0);
}

std::string short_number(double value) {
  const double size = std::abs(value);
  for (const auto& [unit, name] : {std::pair(1e9, "G"), std::pair(1e6, "M"), std::pair(1e3, "k")}) {
    // Not for round thousands of counts below ten thousand, which are read more easily in full.
    if (size >= unit && (unit > 1e3 || size >= 1e4))
      return fmt::format("{:.4g}{}", value / unit, name);
  }
  return size < 1e-12 ? "0" : fmt::format("{:.4g}", value);
}

Frame Frame::inside(const Box& box, bool has_legend) {
  constexpr double kLeft = 62;
  constexpr double kRight = 14;
  constexpr double kBottom = 44;
  const double top = has_legend ? 48 : 28;
  return {Box{box.x + kLeft, box.y + top, box.width - kLeft - kRight, box.height - top - kBottom}};
}

void draw_title(Svg& svg, const Box& box, const std::string& title) {
  svg.text(box.x + 8, box.y + 16, title, {kTitleSize, Anchor::start, "#222222", true, false});
}

void draw_y_axis(Svg& svg, const Frame& frame, const Scale& scale, const std::string& title) {
  const Box& plot = frame.plot;
  for (const double tick : scale.ticks()) {
    const double y = scale.at(tick);
    svg.line(plot.x, y, plot.right(), y, kGrid);
    svg.text(plot.x - 6, y + 4, short_number(tick), {kTextSize, Anchor::end, "#444444"});
  }
  svg.line(plot.x, plot.y, plot.x, plot.bottom(), kAxis);
  svg.text(plot.x - 46, plot.y + plot.height / 2, title,
           {kTextSize, Anchor::middle, "#222222", false, true});
}

void draw_x_axis(Svg& svg, const Frame& frame, const Scale& scale, const std::string& title,
                 bool grid) {
  const Box& plot = frame.plot;
  double free_from = -1e9;
  for (const double tick : scale.ticks()) {
    const double x = scale.at(tick);
    if (grid) svg.line(x, plot.y, x, plot.bottom(), kGrid);
    svg.line(x, plot.bottom(), x, plot.bottom() + 4, kAxis);
    const std::string number = short_number(tick);
    if (x - text_width(number) / 2 < free_from) continue;
    free_from = x + text_width(number) / 2 + 6;
    svg.text(x, plot.bottom() + 18, number, {kTextSize, Anchor::middle, "#444444"});
  }
  svg.line(plot.x, plot.bottom(), plot.right(), plot.bottom(), kAxis);
  svg.text(plot.x + plot.width / 2, plot.bottom() + 36, title,
           {kTextSize, Anchor::middle, "#222222"});
}

void draw_legend(Svg& svg, const Box& box, const std::vector<std::string>& names, bool shapes) {
  double x = box.x + 62;
  const double y = box.y + 36;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (shapes) {
      svg.line(x, y - 4, x + 20, y - 4, series_color(i), 2);
      draw_shape(svg, i, x + 10, y - 4, 4);
    } else {
      svg.rect(Box{x + 6, y - 10, 12, 12}, series_color(i));
    }
    svg.text(x + 25, y, names[i], {kTextSize, Anchor::start, "#222222"});
    x += 25 + text_width(names[i]) + 16;
  }
}

void draw_shape(Svg& svg, std::size_t index, double x, double y, double size) {
  const std::string_view color = series_color(index);
  switch (index % 4) {
    case 0:
      svg.circle(x, y, size, color);
      break;
    case 1:
      svg.rect(Box{x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8}, color);
      break;
    case 2:
      svg.polygon(
          {{x, y - size * 1.2}, {x + size * 1.1, y + size * 0.9}, {x - size * 1.1, y + size * 0.9}},
          color);
      break;
    default:
      svg.polygon(
          {{x, y - size * 1.3}, {x + size * 1.3, y}, {x, y + size * 1.3}, {x - size * 1.3, y}},
          color);
  }
}

}  // namespace tickertape::program
