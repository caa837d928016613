// draw_figure: a figure of several panels, described in JSON, as a picture in the program's style.
//
// usage: draw_figure FILE.svg < figure.json
//
// {"title": "", "subtitle": "", "rows": [{"height": 300, "panels": [PANEL, ...]}, ...]}
// PANEL: {"lines": [SERIES, ...], "title": "", "x": AXIS, "y": AXIS, "marks": {"name": x, ...}}
//        {"bars": {"name": [value per group], ...}, "groups": ["", ...], "title": "", "y": AXIS}
//        {"pages": [[state, request, filled], ...], "title": ""}; state: free, cached, held
// SERIES: {"name": "", "points": [[x, y], ...], "line": true, "marks": true, "steps": false}
// AXIS: {"title": "", "log": false, "from_zero": true}
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "tools/tickertape/plot.hpp"

namespace tickertape::bench {
namespace {

using Json = nlohmann::ordered_json;
using namespace tickertape::program;

std::string text_of(const Json& json, const char* name) {
  return json.value(name, std::string());
}

Axis axis_of(const Json& panel, const char* name) {
  const Json json = panel.value(name, Json::object());
  return {text_of(json, "title"), json.value("log", false), json.value("from_zero", true)};
}

Series series_of(const Json& json) {
  Series series;
  series.name = text_of(json, "name");
  series.line = json.value("line", true);
  series.marks = json.value("marks", true);
  series.steps = json.value("steps", false);
  for (const Json& point : json.at("points")) {
    series.points.emplace_back(point.at(0).get<double>(), point.at(1).get<double>());
  }
  return series;
}

Panel line_panel(const Json& json) {
  LineChart chart;
  chart.title = text_of(json, "title");
  chart.x = axis_of(json, "x");
  chart.y = axis_of(json, "y");
  for (const Json& series : json.at("lines")) chart.series.push_back(series_of(series));
  const Json marks = json.value("marks", Json::object());
  for (const auto& [name, x] : marks.items()) chart.marks.push_back({x.get<double>(), name});
  return panel(std::move(chart));
}

Panel bar_panel(const Json& json) {
  BarChart chart;
  chart.title = text_of(json, "title");
  chart.y_title = axis_of(json, "y").title;
  chart.groups = json.at("groups").get<std::vector<std::string>>();
  for (const auto& [name, values] : json.at("bars").items()) {
    chart.series.emplace_back(name, values.get<std::vector<double>>());
  }
  return panel(std::move(chart));
}

PageMap::Page page_of(const Json& json) {
  using State = PageMap::Page::State;
  const auto state = json.at(0).get<std::string>();
  if (state != "free" && state != "cached" && state != "held") {
    throw std::runtime_error("a page is neither free, cached nor held but " + state);
  }
  return {state == "free"     ? State::free
          : state == "cached" ? State::cached
                              : State::held,
          json.at(1).get<std::uint64_t>(), json.at(2).get<double>()};
}

Panel page_panel(const Json& json) {
  PageMap map;
  map.title = text_of(json, "title");
  for (const Json& page : json.at("pages")) map.pages.push_back(page_of(page));
  return panel(std::move(map));
}

Panel panel_of(const Json& json) {
  if (json.contains("lines")) return line_panel(json);
  if (json.contains("bars")) return bar_panel(json);
  return page_panel(json);
}

void draw(const std::string& path, const Json& json) {
  Figure figure;
  figure.title = text_of(json, "title");
  figure.subtitle = text_of(json, "subtitle");
  for (const Json& row : json.at("rows")) {
    Figure::Line line;
    line.height = row.value("height", line.height);
    for (const Json& panel : row.at("panels")) line.panels.push_back(panel_of(panel));
    figure.lines.push_back(std::move(line));
  }
  write_file(path, figure.draw());
}

}  // namespace
}  // namespace tickertape::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: draw_figure FILE.svg < figure.json\n", stderr);
    return 2;
  }
  try {
    tickertape::bench::draw(argv[1], nlohmann::ordered_json::parse(std::cin));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "draw_figure: %s\n", error.what());
    return 1;
  }
  return 0;
}
