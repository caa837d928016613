// Plots of slots over time, and of pages.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "tools/tickertape/plot.hpp"
#include "tools/tickertape/plot_axes.hpp"

namespace tickertape::program {
namespace {

constexpr std::string_view kIdle = "#f4f4f4";
constexpr std::string_view kFinished = "#bdbdbd";

/// Neighbours in number differ; light enough for a number on top.
std::string_view request_color(std::uint64_t request) {
  constexpr std::array<std::string_view, 7> kColors{"#56b4e9", "#e69f00", "#66c2a5", "#e6a3c8",
                                                    "#f0e442", "#8da0cb", "#e78a63"};
  return kColors[request % kColors.size()];
}

void draw_key(Svg& svg, double& x, double y, std::string_view fill, std::string_view border,
              const std::string& name, bool dark_top) {
  svg.rect(Box{x, y - 10, 12, 12}, fill, border);
  if (dark_top) svg.rect(Box{x, y - 10, 12, 4}, "#444444");
  svg.text(x + 17, y, name, {12, Anchor::start, "#222222"});
  x += 17 + 6.8 * static_cast<double>(name.size()) + 14;
}

void draw_span(Svg& svg, const Box& box, const SlotSpan& span, bool thin) {
  const bool finished = span.kind == SlotSpan::Kind::finished;
  svg.rect(box, finished ? kFinished : request_color(span.request), thin ? "" : "#ffffff");
  if (span.kind == SlotSpan::Kind::prefill) {
    svg.rect(Box{box.x, box.y, box.width, std::max(1.5, box.height * 0.3)}, "#444444");
  }
}

void draw_slots(Svg& svg, const Box& box, const SlotChart& chart) {
  const Frame frame = Frame::inside(box, true);
  const Box& plot = frame.plot;
  draw_title(svg, box, chart.title);
  double x_key = box.x + 62;
  const double y_key = box.y + 36;
  draw_key(svg, x_key, y_key, request_color(0), {}, "decode, colour and number = request", false);
  draw_key(svg, x_key, y_key, request_color(0), {}, "prefill", true);
  const auto is_finished = [](const SlotSpan& span) {
    return span.kind == SlotSpan::Kind::finished;
  };
  if (std::any_of(chart.spans.begin(), chart.spans.end(), is_finished)) {
    draw_key(svg, x_key, y_key, kFinished, {}, "ended, slot still held", false);
  }
  draw_key(svg, x_key, y_key, kIdle, "#dddddd", "idle", false);
  svg.rect(plot, kIdle);
  const Scale x(Axis{}, 0, chart.end, plot.x, plot.right(), false);
  const double pitch = plot.height / std::max(1U, chart.num_slots);
  constexpr double kThin = 5;  // Borders would cover what they surround.
  const bool thin = pitch < kThin;
  const double gap = thin ? 0 : 1;
  std::set<std::pair<std::uint32_t, std::uint64_t>> numbered;
  for (const SlotSpan& span : chart.spans) {
    const Box place{x.at(span.from), plot.y + pitch * span.slot + gap / 2,
                    x.at(span.to) - x.at(span.from), pitch - gap};
    draw_span(svg, place, span, thin);
    const std::string number = std::to_string(span.request);
    const bool fits = pitch >= 10 && place.width >= 7.5 * static_cast<double>(number.size()) + 2;
    if (fits && span.kind == SlotSpan::Kind::decode &&
        numbered.emplace(span.slot, span.request).second) {
      const double size = std::min(12.0, pitch * 0.72);
      svg.text(place.x + place.width / 2, place.y + pitch / 2 + size * 0.36, number,
               {size, Anchor::middle, "#222222"});
    }
  }
  const std::uint32_t every = pitch >= 14 ? 1 : static_cast<std::uint32_t>(std::ceil(14 / pitch));
  for (std::uint32_t slot = 0; slot < chart.num_slots; slot += every) {
    svg.text(plot.x - 6, plot.y + pitch * (slot + 0.5) + 4, std::to_string(slot),
             {11, Anchor::end, "#444444"});
  }
  svg.text(plot.x - 46, plot.y + plot.height / 2, "slot",
           {12, Anchor::middle, "#222222", false, true});
  draw_x_axis(svg, frame, x, chart.x_title, false);
}

void draw_pages(Svg& svg, const Box& box, const PageMap& map) {
  draw_title(svg, box, map.title);
  double x_key = box.x + 14;
  const double y_key = box.y + 36;
  draw_key(svg, x_key, y_key, request_color(0), {}, "held, colour = request, height = filled",
           false);
  draw_key(svg, x_key, y_key, "#d9d9d9", {}, "cached", false);
  draw_key(svg, x_key, y_key, kIdle, "#dddddd", "free", false);
  const Box plot{box.x + 14, box.y + 46, box.width - 28, box.height - 54};
  const auto count = static_cast<double>(std::max<std::size_t>(1, map.pages.size()));
  // As near to squares as the box allows.
  const double columns = std::max(1.0, std::ceil(std::sqrt(count * plot.width / plot.height)));
  const double rows = std::ceil(count / columns);
  const double size = std::min(plot.width / columns, plot.height / rows);
  for (std::size_t i = 0; i < map.pages.size(); ++i) {
    const PageMap::Page& page = map.pages[i];
    const auto place = static_cast<double>(i);
    const Box cell{plot.x + size * std::fmod(place, columns),
                   plot.y + size * std::floor(place / columns), size - 1, size - 1};
    svg.rect(cell, page.state == PageMap::Page::State::cached ? "#d9d9d9" : kIdle);
    if (page.state != PageMap::Page::State::held) continue;
    const double height = cell.height * std::clamp(page.filled, 0.0, 1.0);
    svg.rect(Box{cell.x, cell.bottom() - height, cell.width, height}, request_color(page.request));
  }
}

}  // namespace

Panel panel(SlotChart chart) {
  return [chart = std::move(chart)](Svg& svg, const Box& box) { draw_slots(svg, box, chart); };
}

Panel panel(PageMap map) {
  return [map = std::move(map)](Svg& svg, const Box& box) { draw_pages(svg, box, map); };
}

}  // namespace tickertape::program
