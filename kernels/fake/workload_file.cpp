// A workload that stands in a file: one OpenAI body a line.
#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <tickertape/errors.hpp>
#include <utility>

#include "kernels/fake/workload_source.hpp"

namespace tickertape::kernels::fake {
namespace {

using simdjson::dom::element;

struct FileRequest {
  Request request;
  WorkloadRequest numbers;
};

class WorkloadFile final : public Workload::Source {
 public:
  explicit WorkloadFile(std::vector<FileRequest> requests) : requests_(std::move(requests)) {
    for (const FileRequest& one : requests_) {
      period_ns_ = std::max(period_ns_, one.numbers.arrival_ns);
    }
  }
  [[nodiscard]] std::size_t natural_size() const noexcept override { return requests_.size(); }
  [[nodiscard]] WorkloadRequest draw(std::uint64_t, std::uint64_t index) const override {
    WorkloadRequest numbers = requests_[index % requests_.size()].numbers;
    numbers.arrival_ns += static_cast<std::int64_t>(index / requests_.size()) * period_ns_;
    return numbers;
  }
  [[nodiscard]] std::optional<Request> given(std::uint64_t index) const override {
    return requests_[index % requests_.size()].request;
  }

 private:
  std::vector<FileRequest> requests_;
  std::int64_t period_ns_ = 0;
};

/// One line; every failure names file, line and field.
class LineReader {
 public:
  LineReader(std::string where, element root) : where_(std::move(where)), root_(root) {}

  [[nodiscard]] FileRequest read() {
    if (!root_.is_object()) fail("", "must be an object");
    FileRequest one;
    read_prompt(one);
    Request& request = one.request;
    number("max_tokens", 1, kMostTokens, request.max_tokens);
    number("max_completion_tokens", 1, kMostTokens, request.max_tokens);
    number("n", 1, 65536, request.n);
    SamplingParams& sampling = request.sampling;
    real("temperature", 0, 2, sampling.temperature);
    real("top_p", 0, 1, sampling.top_p);
    real("min_p", 0, 1, sampling.min_p);
    number("top_k", -1, std::numeric_limits<std::int32_t>::max(), sampling.top_k);
    number("min_tokens", 0, kMostTokens, sampling.min_tokens);
    number("priority", std::numeric_limits<std::int32_t>::min(),
           std::numeric_limits<std::int32_t>::max(), request.priority);
    if (find("seed")) {
      sampling.seed.emplace();
      number("seed", 0, std::numeric_limits<std::int64_t>::max(), *sampling.seed);
    }
    if (find("deadline_ms")) real("deadline_ms", 0, 1e12, request.deadline_ms.emplace());
    if (const auto value = find("ignore_eos"))
      sampling.ignore_eos = get<bool>("ignore_eos", *value);
    if (const auto value = find("user")) request.client = text("user", *value);
    read_stop(request);
    double arrival_ms = 0;
    real("arrival_ms", 0, 1e12, arrival_ms);
    one.numbers.arrival_ns = static_cast<std::int64_t>(arrival_ms * 1e6);
    one.numbers.given = true;
    one.numbers.output_tokens = request.max_tokens;
    number("output_tokens", 1, kMostTokens, one.numbers.output_tokens);
    one.numbers.prompt_tokens = static_cast<std::uint32_t>(request.prompt_ids.size());
    return one;
  }

 private:
  static constexpr std::int64_t kMostTokens = 1 << 24;

  [[noreturn]] void fail(std::string_view field, const std::string& what) const {
    const std::string named = field.empty() ? "" : " " + std::string(field);
    throw Error(ErrorInfo{Errc::invalid_request, where_ + ":" + named + " " + what, "workload", 0});
  }
  [[nodiscard]] std::optional<element> find(std::string_view field) const {
    element value;
    if (root_[field].get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
    return value;
  }
  template <class Value>
  [[nodiscard]] Value get(std::string_view field, element value) const {
    Value got;
    if (value.get(got) != simdjson::SUCCESS) fail(field, "has the wrong type");
    return got;
  }
  [[nodiscard]] std::string text(std::string_view field, element value) const {
    return std::string(get<std::string_view>(field, value));
  }
  template <class Number>
  void number(std::string_view field, std::int64_t least, std::int64_t most, Number& target) const {
    const auto value = find(field);
    if (!value) return;
    const auto got = get<std::int64_t>(field, *value);
    if (got < least || got > most) {
      fail(field,
           "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    target = static_cast<Number>(got);
  }
  void real(std::string_view field, double least, double most, double& target) const {
    const auto value = find(field);
    if (!value) return;
    const auto got = get<double>(field, *value);
    if (!(got >= least && got <= most)) fail(field, "is out of range");
    target = got;
  }
  void read_prompt(FileRequest& one) const {
    const auto prompt = find("prompt");
    const auto messages = find("messages");
    if (prompt.has_value() == messages.has_value()) {
      fail("", "must have either prompt or messages");
    }
    if (messages) {
      for (const element message : get<simdjson::dom::array>("messages", *messages)) {
        read_message(message, one.request);
      }
    } else if (prompt->is_string()) {
      one.request.prompt = text("prompt", *prompt);
    } else {
      for (const element id : get<simdjson::dom::array>("prompt", *prompt)) {
        const auto value = get<std::int64_t>("prompt", id);
        if (value < 0 || value > std::numeric_limits<TokenId>::max()) {
          fail("prompt", "holds " + std::to_string(value) + ", which is no token id");
        }
        one.request.prompt_ids.push_back(static_cast<TokenId>(value));
      }
    }
  }
  void read_message(element message, Request& request) const {
    ChatMessage& added = request.messages.emplace_back();
    for (const auto [key, value] : get<simdjson::dom::object>("messages", message)) {
      if (key == "role") added.role = text("messages.role", value);
      if (key == "content") added.content = text("messages.content", value);
    }
  }
  void read_stop(Request& request) const {
    const auto stop = find("stop");
    if (!stop) return;
    if (stop->is_string()) {
      request.stop.push_back(text("stop", *stop));
      return;
    }
    for (const element one : get<simdjson::dom::array>("stop", *stop)) {
      request.stop.push_back(text("stop", one));
    }
  }

  std::string where_;
  element root_;
};

[[noreturn]] void fail_file(const std::string& what) {
  throw Error(ErrorInfo{Errc::invalid_request, "workload: " + what, "workload", 0});
}

}  // namespace

std::shared_ptr<const Workload::Source> open_workload_file(const std::string& path) {
  simdjson::padded_string all;
  if (const auto error = simdjson::padded_string::load(path).get(all); error != simdjson::SUCCESS) {
    fail_file(path + " cannot be read");
  }
  std::vector<FileRequest> requests;
  simdjson::dom::parser parser;
  std::string_view rest(all.data(), all.size());
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string where = path + ", line " + std::to_string(number);
    element root;
    if (const auto error = parser.parse(simdjson::padded_string(line)).get(root);
        error != simdjson::SUCCESS) {
      fail_file(where + ": is not JSON: " + simdjson::error_message(error));
    }
    requests.push_back(LineReader(where, root).read());
  }
  if (requests.empty()) fail_file(path + " holds no request");
  return std::make_shared<WorkloadFile>(std::move(requests));
}

}  // namespace tickertape::kernels::fake
