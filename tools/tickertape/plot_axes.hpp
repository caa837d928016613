// Scale: numbers of an axis as places on the picture, and the numbers worth a line.
#pragma once
#include <string>
#include <vector>

#include "tools/tickertape/plot.hpp"

namespace tickertape::program {

class Scale {
 public:
  /// Covers [low, high], and 0 where the axis says so. `from` and `to` are pixels.
  Scale(const Axis& axis, double low, double high, double from, double to, bool round);

  [[nodiscard]] double at(double value) const;
  [[nodiscard]] const std::vector<double>& ticks() const noexcept { return ticks_; }
  /// Whether `value` can be shown: finite, and above 0 on a logarithmic axis.
  [[nodiscard]] bool shows(double value) const;

 private:
  bool log_;
  double low_;
  double high_;
  double from_;
  double to_;
  std::vector<double> ticks_;
};

/// A short form: 1.5k, 20M, 0.25.
[[nodiscard]] std::string short_number(double value);

/// Room for titles and numbers around a plot, and the frame drawn with both axes.
struct Frame {
  Box plot;
  static Frame inside(const Box& box, bool has_legend);
};
void draw_title(Svg& svg, const Box& box, const std::string& title);
void draw_y_axis(Svg& svg, const Frame& frame, const Scale& scale, const std::string& title);
void draw_x_axis(Svg& svg, const Frame& frame, const Scale& scale, const std::string& title,
                 bool grid);
/// Names with their colours and shapes, in one line under the panel's title.
void draw_legend(Svg& svg, const Box& box, const std::vector<std::string>& names, bool shapes);
/// The shape that series `index` has at its points.
void draw_shape(Svg& svg, std::size_t index, double x, double y, double size);

}  // namespace tickertape::program
