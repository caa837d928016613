// read_file: a text given by its file's name.
#pragma once
#include <string>

namespace tickertape::program {

/// All bytes of a file, or of standard input for "-". Throws Error naming the file and the reason.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace tickertape::program
