// Plots: charts as values, and figures that put several of them together.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/tickertape/svg.hpp"

namespace tickertape::program {

/// Colours that people with any kind of colour blindness tell apart (Okabe and Ito 2008), the most
/// different ones first.
[[nodiscard]] std::string_view series_color(std::size_t index) noexcept;

struct Axis {
  std::string title;  ///< With its unit.
  bool log = false;
  bool from_zero = true;  ///< Unless log.
};

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< Those that are not finite are left out.
  bool line = true;
  bool marks = true;   ///< A shape of its own at each point.
  bool steps = false;  ///< A value holds until the next point.
};

/// A place on the x axis with a name.
struct PlotMark {
  double x = 0;
  std::string name;
};

struct LineChart {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<PlotMark> marks;
};

/// One bar of each series per group.
struct BarChart {
  std::string title;
  std::string y_title;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<double>>> series;
};

/// One stretch of a slot's work.
struct SlotSpan {
  enum class Kind { prefill, decode, finished };  ///< `finished`: computed for nobody any more.
  std::uint32_t slot = 0;
  double from = 0;
  double to = 0;
  std::uint64_t request = 0;
  Kind kind = Kind::decode;
};

/// Which slot worked for whom, when: the staircase.
struct SlotChart {
  std::string title;
  std::string x_title;
  std::uint32_t num_slots = 0;
  double end = 0;
  std::vector<SlotSpan> spans;
};

/// Which page belongs to whom.
struct PageMap {
  struct Page {
    enum class State { free, cached, held };
    State state = State::free;
    std::uint64_t request = 0;
    double filled = 1;  ///< Share of its token places that hold a token.
  };
  std::string title;
  std::vector<Page> pages;
};

/// Draws itself into a box.
using Panel = std::function<void(Svg&, const Box&)>;

[[nodiscard]] Panel panel(LineChart chart);
[[nodiscard]] Panel panel(BarChart chart);
[[nodiscard]] Panel panel(SlotChart chart);
[[nodiscard]] Panel panel(PageMap map);

/// Panels in rows under one title; rows share the height by their weights.
struct Figure {
  struct Line {
    std::vector<Panel> panels;
    double height = 300;
  };
  std::string title;
  std::string subtitle;
  double width = 860;
  std::vector<Line> lines;

  [[nodiscard]] std::string draw() const;
};

/// Writes a file. Throws Error naming it and the reason.
void write_file(const std::string& path, std::string_view text);
/// Throws as write_file() would; changes nothing of a file that is there.
void check_writable(const std::string& path);

}  // namespace tickertape::program
