// LengthProfileFile: what a profile has learned about no client, between two lives of an engine.
#pragma once
#include <string>

#include "actors/length_profile.hpp"

namespace tickertape::actors {

/// A text with a line for all answers, and one for each kind: `completion` or `chat` and the number
/// of bits of the prompt's length. Then come the ends that were seen, and per bucket of lengths how
/// many answers came into it, ended in it, and came beyond it, as 12/3/9.
///
/// Nothing when there is no such file. Throws Error when it cannot be read or is no profile.
[[nodiscard]] SharedLengths read_length_profile(const std::string& path);

/// In place of what is there, all or nothing. Throws Error when it cannot be written.
void write_length_profile(const std::string& path, const SharedLengths& lengths);

}  // namespace tickertape::actors
