// Svg: shapes and texts of a picture, as they are written.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tickertape::program {

/// Where something is drawn, in pixels, from the top left.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  [[nodiscard]] double right() const noexcept { return x + width; }
  [[nodiscard]] double bottom() const noexcept { return y + height; }
};

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = 12;
  Anchor anchor = Anchor::start;
  std::string_view color = "#333333";
  bool bold = false;
  bool upwards = false;  ///< Turned by a quarter, for the titles of y axes.
};

/// A white picture in which later shapes cover earlier ones.
class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) {}

  void rect(const Box& box, std::string_view fill, std::string_view stroke = {},
            double opacity = 1);
  void line(double x1, double y1, double x2, double y2, std::string_view color, double width = 1,
            std::string_view dashes = {});
  void polyline(const std::vector<std::pair<double, double>>& points, std::string_view color,
                double width);
  void polygon(const std::vector<std::pair<double, double>>& points, std::string_view fill);
  void circle(double x, double y, double radius, std::string_view fill);
  void text(double x, double y, std::string_view text, const TextStyle& style);

  /// The whole file.
  [[nodiscard]] std::string finish() const;

 private:
  double width_;
  double height_;
  std::string body_;
};

}  // namespace tickertape::program
