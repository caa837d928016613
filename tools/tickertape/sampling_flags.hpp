// Sampling flags: the fields of a request that shape its answer, as flags.
#pragma once
#include <CLI/CLI.hpp>
#include <tickertape/request.hpp>

namespace tickertape::program {

/// Adds a flag for every field of SamplingParams, and for max_tokens, n and the stop strings.
void add_sampling_flags(CLI::App& command, Request& request);

}  // namespace tickertape::program
