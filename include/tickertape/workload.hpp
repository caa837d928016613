// Workload: many requests under one name, drawn from a seed, for benchmarks and simulations.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tickertape/request.hpp>

namespace tickertape {

/// One request of a workload, in numbers.
struct WorkloadRequest {
  std::uint64_t index = 0;          ///< Its place in the workload, from 0.
  std::uint32_t prompt_tokens = 0;  ///< 0: a text, whose tokens only a tokenizer can count.
  std::uint32_t shared_tokens = 0;  ///< So many of them, the first ones, are those of all others.
  std::uint32_t output_tokens = 0;  ///< What it will generate, its end token included.
  std::int64_t arrival_ns = 0;      ///< From the beginning of the run.
  bool given = false;               ///< It stands in a file, with a prompt and settings of its own.
};

struct WorkloadOptions {
  std::uint64_t seed = 1;  ///< Of lengths, arrivals and ids.
  /// Arrivals per second of a Poisson process; 0 = all at once, or as the file says.
  double rate_per_s = 0;
};

/// Requests by number. The same text, seed and number give the same request on every machine and
/// with every compiler: all arithmetic is in integers.
///
/// Thread rules: const members on any thread.
class Workload {
 public:
  /// What a kind of workload is; implementations are private to the library.
  class Source;
  Workload(std::shared_ptr<const Source> source, std::string name, WorkloadOptions options);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const WorkloadOptions& options() const noexcept { return options_; }

  /// How many requests it has by itself: the lines of a file, the length of a list of outputs; 0 =
  /// as many as are asked for. More may be drawn all the same: it begins again from the first.
  [[nodiscard]] std::size_t natural_size() const noexcept;

  /// The first `num_requests`, in order of arrival.
  [[nodiscard]] std::vector<WorkloadRequest> draw(std::size_t num_requests) const;

  /// The request to submit. Ids are below `vocab_size` and never 0, 1 or 2, which are control
  /// tokens in most vocabularies; max_tokens is output_tokens, and end tokens are ignored. A file's
  /// request has its own prompt and settings. REQUIRES: vocab_size > 3.
  [[nodiscard]] Request make_request(const WorkloadRequest& drawn, std::uint32_t vocab_size) const;

 private:
  std::shared_ptr<const Source> source_;
  std::string name_;
  WorkloadOptions options_;
};

/// The workload that `text` names:
///
///     uniform:IN,OUT          prompts of IN tokens, OUT tokens out
///     outputs:A,B,...         prompts of 32 tokens; A, B, ... tokens out in turn; 31x20 repeats 20
///     mixed                   prompts of 16 to 256 tokens; 6, 50 and 300 tokens out in turn
///     sharegpt-like           log-normal lengths, mean 161 in and 338 out
///     alpaca-like             log-normal lengths, mean 19 in and 58 out
///     prefix:SHARED,OWN,OUT   a common opening of SHARED tokens, then OWN of each
///     long-and-short          20 tokens in, 96 out; every eighth 1500 in, 16 out
///     FILE.jsonl              one OpenAI body a line: prompt or messages, max_tokens, temperature,
///                             top_p, top_k, seed, stop, ignore_eos, n, priority, user,
///                             deadline_ms; and arrival_ms, output_tokens (default max_tokens)
///
/// The means are those of the two data sets in Kwon et al., Efficient Memory Management for Large
/// Language Model Serving with PagedAttention (2023), section 6.1, where they cannot be rebuilt
/// exactly; lengths are cut at 1,024 in and 2,048 in and out together, as is usual for them.
///
/// Throws Error(Errc::invalid_request) naming the part at fault.
[[nodiscard]] Workload parse_workload(std::string_view text, const WorkloadOptions& options = {});

}  // namespace tickertape
