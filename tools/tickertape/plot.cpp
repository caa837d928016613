// Plots: lines and bars, and figures made of panels.
#include "tools/tickertape/plot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <tickertape/errors.hpp>

#include "tools/tickertape/plot_axes.hpp"

namespace tickertape::program {
namespace {

/// The least and the greatest of what can be shown.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value, bool log) {
    if (!std::isfinite(value) || (log && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void settle() {
    if (low > high) low = high = 0;
  }
};

void draw_series(Svg& svg, const Series& series, std::size_t index, const Scale& x,
                 const Scale& y) {
  std::vector<std::pair<double, double>> places;
  for (const auto& [at, value] : series.points) {
    if (!x.shows(at) || !y.shows(value)) continue;
    const std::pair<double, double> place(x.at(at), y.at(value));
    if (series.steps && !places.empty()) places.emplace_back(place.first, places.back().second);
    places.push_back(place);
  }
  constexpr double kWidth = 2;
  constexpr double kSize = 3.6;
  if (series.line && places.size() > 1) svg.polyline(places, series_color(index), kWidth);
  if (!series.marks && places.size() > 1) return;
  for (const auto& [at, value] : places) draw_shape(svg, index, at, value, kSize);
}

void draw_lines(Svg& svg, const Box& box, const LineChart& chart) {
  std::vector<std::string> names;
  Range xs;
  Range ys;
  for (const Series& series : chart.series) {
    names.push_back(series.name);
    for (const auto& [at, value] : series.points) {
      xs.take(at, chart.x.log);
      ys.take(value, chart.y.log);
    }
  }
  xs.settle();
  ys.settle();
  const bool has_legend = names.size() > 1 || (names.size() == 1 && !names.front().empty());
  const Frame frame = Frame::inside(box, has_legend);
  const Scale x(chart.x, xs.low, xs.high, frame.plot.x, frame.plot.right(), false);
  const Scale y(chart.y, ys.low, ys.high, frame.plot.bottom(), frame.plot.y, true);
  draw_title(svg, box, chart.title);
  if (has_legend) draw_legend(svg, box, names, true);
  draw_y_axis(svg, frame, y, chart.y.title);
  draw_x_axis(svg, frame, x, chart.x.title, true);
  for (const PlotMark& mark : chart.marks) {
    if (!x.shows(mark.x) || mark.x < xs.low || mark.x > xs.high) continue;
    const double at = x.at(mark.x);
    svg.line(at, frame.plot.y, at, frame.plot.bottom(), "#666666", 1.2, "4 3");
    const bool left = at > frame.plot.x + frame.plot.width * 0.7;
    svg.text(left ? at - 5 : at + 5, frame.plot.y + 12, mark.name,
             {11, left ? Anchor::end : Anchor::start, "#555555"});
  }
  for (std::size_t i = 0; i < chart.series.size(); ++i) draw_series(svg, chart.series[i], i, x, y);
}

void draw_bars(Svg& svg, const Box& box, const BarChart& chart) {
  std::vector<std::string> names;
  Range ys;
  for (const auto& [name, values] : chart.series) {
    names.push_back(name);
    for (const double value : values) ys.take(value, false);
  }
  ys.settle();
  const bool has_legend = names.size() > 1;
  const Frame frame = Frame::inside(box, has_legend);
  const Box& plot = frame.plot;
  constexpr double kRoomForLabels = 1.08;
  const Scale y(Axis{}, ys.low, ys.high * kRoomForLabels, plot.bottom(), plot.y, true);
  draw_title(svg, box, chart.title);
  if (has_legend) draw_legend(svg, box, names, false);
  draw_y_axis(svg, frame, y, chart.y_title);
  svg.line(plot.x, plot.bottom(), plot.right(), plot.bottom(), "#888888");
  const double pitch =
      plot.width / static_cast<double>(std::max<std::size_t>(1, chart.groups.size()));
  const double width =
      std::min(56.0, pitch * 0.78 / static_cast<double>(std::max<std::size_t>(1, names.size())));
  for (std::size_t group = 0; group < chart.groups.size(); ++group) {
    const double middle = plot.x + pitch * (static_cast<double>(group) + 0.5);
    svg.text(middle, plot.bottom() + 18, chart.groups[group], {12, Anchor::middle, "#222222"});
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      const double value = chart.series[i].second.at(group);
      if (!std::isfinite(value)) continue;
      const double left =
          middle + width * (static_cast<double>(i) - static_cast<double>(names.size()) / 2);
      const double top = y.at(value);
      // Of a single series each bar is a thing of its own, as the lines of other panels are.
      svg.rect(Box{left + 1, top, width - 2, plot.bottom() - top},
               series_color(names.size() == 1 ? group : i));
      svg.text(left + width / 2, top - 4, short_number(std::stod(fmt::format("{:.3g}", value))),
               {11, Anchor::middle, "#333333"});
    }
  }
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void fail_to_write(const std::string& path) {
  throw Error(Errc::invalid_request,
              fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
}

File open_file(const std::string& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode), &std::fclose);
  if (!file) fail_to_write(path);
  return file;
}

}  // namespace

std::string_view series_color(std::size_t index) noexcept {
  constexpr std::array<std::string_view, 8> kColors{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                    "#e69f00", "#56b4e9", "#000000", "#f0e442"};
  return kColors[index % kColors.size()];
}

Panel panel(LineChart chart) {
  return [chart = std::move(chart)](Svg& svg, const Box& box) { draw_lines(svg, box, chart); };
}

Panel panel(BarChart chart) {
  return [chart = std::move(chart)](Svg& svg, const Box& box) { draw_bars(svg, box, chart); };
}

std::string Figure::draw() const {
  constexpr double kHead = 52;
  constexpr double kGap = 14;
  double height = kHead;
  for (const Line& one : lines) height += one.height + kGap;
  Svg svg(width, height);
  svg.text(12, 24, title, {16, Anchor::start, "#111111", true});
  svg.text(12, 43, subtitle, {12, Anchor::start, "#555555"});
  double y = kHead;
  for (const Line& one : lines) {
    const double each = width / static_cast<double>(one.panels.size());
    for (std::size_t i = 0; i < one.panels.size(); ++i) {
      one.panels[i](svg, Box{each * static_cast<double>(i), y, each, one.height});
    }
    y += one.height + kGap;
  }
  return svg.finish();
}

void write_file(const std::string& path, std::string_view text) {
  const File file = open_file(path, "wb");
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    fail_to_write(path);
  }
}

void check_writable(const std::string& path) {
  static_cast<void>(open_file(path, "ab"));
}

}  // namespace tickertape::program
