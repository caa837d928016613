// Workload: the kinds that are drawn from a seed, and their names.
#include <tickertape/workload.hpp>

#include <algorithm>
#include <charconv>
#include <tickertape/assert.hpp>
#include <tickertape/errors.hpp>
#include <utility>

#include "kernels/fake/fixed_point.hpp"
#include "kernels/fake/length_law.hpp"
#include "kernels/fake/workload_source.hpp"

namespace tickertape {
namespace {

using namespace kernels::fake;

/// What a random number is for: numbers of different streams have nothing to do with each other.
enum Stream : std::uint64_t { kPromptLength, kOutputLength, kGap, kSharedIds, kOwnIds, kSeeds };

constexpr std::uint32_t kNumControlIds = 3;
constexpr std::uint32_t kMaxTokens = 1U << 24;  // Of one length; no model's context is near.

class Uniform final : public Workload::Source {
 public:
  Uniform(std::uint32_t prompt, std::uint32_t output) : prompt_(prompt), output_(output) {}
  [[nodiscard]] WorkloadRequest draw(std::uint64_t, std::uint64_t) const override {
    return WorkloadRequest{0, prompt_, 0, output_, 0, false};
  }

 private:
  std::uint32_t prompt_;
  std::uint32_t output_;
};

/// Outputs in turn; prompts between two lengths.
class Outputs final : public Workload::Source {
 public:
  Outputs(std::vector<std::uint32_t> outputs, std::uint32_t least, std::uint32_t most, bool ends)
      : outputs_(std::move(outputs)), least_(least), most_(most), ends_(ends) {}
  [[nodiscard]] std::size_t natural_size() const noexcept override {
    return ends_ ? outputs_.size() : 0;
  }
  [[nodiscard]] WorkloadRequest draw(std::uint64_t seed, std::uint64_t index) const override {
    const std::uint32_t prompt =
        least_ + below(random_at(seed, kPromptLength, index), most_ - least_ + 1);
    return WorkloadRequest{0, prompt, 0, outputs_[index % outputs_.size()], 0, false};
  }

 private:
  std::vector<std::uint32_t> outputs_;
  std::uint32_t least_;
  std::uint32_t most_;
  bool ends_;
};

class LogNormalLengths final : public Workload::Source {
 public:
  LogNormalLengths(LogNormal prompt, LogNormal output) : prompt_(prompt), output_(output) {}
  [[nodiscard]] WorkloadRequest draw(std::uint64_t seed, std::uint64_t index) const override {
    const std::uint32_t prompt =
        std::clamp(prompt_.at(seed, kPromptLength, index), kLeastLength, kMostPrompt);
    const std::uint32_t output =
        std::clamp(output_.at(seed, kOutputLength, index), kLeastLength, kMostTogether - prompt);
    return WorkloadRequest{0, prompt, 0, output, 0, false};
  }

 private:
  LogNormal prompt_;
  LogNormal output_;
};

class SharedPrefix final : public Workload::Source {
 public:
  SharedPrefix(std::uint32_t shared, std::uint32_t own, std::uint32_t output)
      : shared_(shared), own_(own), output_(output) {}
  [[nodiscard]] WorkloadRequest draw(std::uint64_t, std::uint64_t) const override {
    return WorkloadRequest{0, shared_ + own_, shared_, output_, 0, false};
  }

 private:
  std::uint32_t shared_;
  std::uint32_t own_;
  std::uint32_t output_;
};

class LongAndShort final : public Workload::Source {
 public:
  [[nodiscard]] WorkloadRequest draw(std::uint64_t, std::uint64_t index) const override {
    if (index % 8 == 4) return WorkloadRequest{0, 1500, 0, 16, 0, false};
    return WorkloadRequest{0, 20, 0, 96, 0, false};
  }
};

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorInfo{Errc::invalid_request, "workload: " + what, "workload", 0});
}

std::uint32_t parse_count(std::string_view text, std::string_view where, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most) {
    fail("'" + std::string(text) + "' in '" + std::string(where) +
         "' is not a whole number from 1 to " + std::to_string(most));
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

/// `form` has as many numbers as `text` must have.
std::vector<std::uint32_t> parse_counts(std::string_view numbers, std::string_view text,
                                        std::string_view form) {
  const auto parts = split(numbers);
  if (parts.size() != split(form).size()) {
    fail("'" + std::string(text) + "' does not have the form " + std::string(form));
  }
  std::vector<std::uint32_t> counts;
  for (const std::string_view part : parts) counts.push_back(parse_count(part, text, kMaxTokens));
  return counts;
}

std::vector<std::uint32_t> parse_outputs(std::string_view list, std::string_view text) {
  constexpr std::uint32_t kMostRepeats = 1'000'000;
  std::vector<std::uint32_t> outputs;
  for (const std::string_view part : split(list)) {
    const std::size_t times = part.find('x');
    const bool repeats = times != std::string_view::npos;
    const std::uint32_t count =
        repeats ? parse_count(part.substr(0, times), text, kMostRepeats) : 1;
    if (outputs.size() + count > kMostRepeats) fail("'" + std::string(text) + "' is too long");
    const auto output = parse_count(repeats ? part.substr(times + 1) : part, text, kMaxTokens);
    outputs.insert(outputs.end(), count, output);
  }
  return outputs;
}

std::shared_ptr<const Workload::Source> parse_source(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (text.ends_with(".jsonl")) return open_workload_file(std::string(text));
  if (kind == "uniform") {
    const auto counts = parse_counts(rest, text, "uniform:IN,OUT");
    return std::make_shared<Uniform>(counts[0], counts[1]);
  }
  if (kind == "outputs") {
    return std::make_shared<Outputs>(parse_outputs(rest, text), 32, 32, true);
  }
  if (kind == "prefix") {
    const auto counts = parse_counts(rest, text, "prefix:SHARED,OWN,OUT");
    return std::make_shared<SharedPrefix>(counts[0], counts[1], counts[2]);
  }
  if (text == "mixed") {
    return std::make_shared<Outputs>(std::vector<std::uint32_t>{6, 50, 300}, 16, 256, false);
  }
  if (text == "sharegpt-like") {
    return std::make_shared<LogNormalLengths>(kShareGptIn, kShareGptOut);
  }
  if (text == "alpaca-like") return std::make_shared<LogNormalLengths>(kAlpacaIn, kAlpacaOut);
  if (text == "long-and-short") return std::make_shared<LongAndShort>();
  fail("'" + std::string(text) +
       "' is none of uniform:IN,OUT, outputs:A,B,..., mixed, sharegpt-like, alpaca-like, "
       "prefix:SHARED,OWN,OUT, long-and-short, FILE.jsonl");
}

TokenId id_at(std::uint64_t seed, Stream stream, std::uint64_t index, std::uint32_t vocab_size) {
  const std::uint64_t random = random_at(seed, stream, index);
  return static_cast<TokenId>(kNumControlIds + below(random, vocab_size - kNumControlIds));
}

}  // namespace

Workload::Workload(std::shared_ptr<const Source> source, std::string name, WorkloadOptions options)
    : source_(std::move(source)), name_(std::move(name)), options_(options) {}

std::size_t Workload::natural_size() const noexcept {
  return source_->natural_size();
}

std::vector<WorkloadRequest> Workload::draw(std::size_t num_requests) const {
  constexpr double kNsPerSecond = 1e9;
  const auto mean_gap_ns =
      options_.rate_per_s > 0
          ? std::max<std::int64_t>(1, static_cast<std::int64_t>(kNsPerSecond / options_.rate_per_s))
          : 0;
  std::vector<WorkloadRequest> drawn;
  drawn.reserve(num_requests);
  std::int64_t arrival_ns = 0;
  for (std::size_t i = 0; i < num_requests; ++i) {
    WorkloadRequest& request = drawn.emplace_back(source_->draw(options_.seed, i));
    request.index = i;
    if (mean_gap_ns == 0) continue;
    const std::uint64_t random = random_at(options_.seed, kGap, i);
    arrival_ns += multiply(minus_ln(static_cast<Fixed>((random >> 32) + 1)), mean_gap_ns);
    request.arrival_ns = arrival_ns;
  }
  std::sort(drawn.begin(), drawn.end(), [](const auto& a, const auto& b) {
    return a.arrival_ns != b.arrival_ns ? a.arrival_ns < b.arrival_ns : a.index < b.index;
  });
  return drawn;
}

Request Workload::make_request(const WorkloadRequest& drawn, std::uint32_t vocab_size) const {
  TICKERTAPE_ASSERT(vocab_size > kNumControlIds);
  if (auto given = source_->given(drawn.index)) return std::move(*given);
  Request request;
  request.prompt_ids.reserve(drawn.prompt_tokens);
  for (std::uint32_t i = 0; i < drawn.prompt_tokens; ++i) {
    const bool shared = i < drawn.shared_tokens;
    request.prompt_ids.push_back(id_at(options_.seed, shared ? kSharedIds : kOwnIds,
                                       shared ? i : (drawn.index << 24) + i, vocab_size));
  }
  request.max_tokens = drawn.output_tokens;
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  request.sampling.seed = random_at(options_.seed, kSeeds, drawn.index) >> 1;
  return request;
}

Workload parse_workload(std::string_view text, const WorkloadOptions& options) {
  constexpr double kMostPerSecond = 1e9;
  if (!(options.rate_per_s >= 0 && options.rate_per_s <= kMostPerSecond)) {
    fail("the rate must be from 0 to 1e9 requests per second");
  }
  return Workload(parse_source(text), std::string(text), options);
}

}  // namespace tickertape
