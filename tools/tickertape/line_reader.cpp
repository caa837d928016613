// LineReader: lines from a terminal, with editing and history, or from a pipe.
#include "tools/tickertape/line_reader.hpp"

#include <cstdio>  // Before editline's header, which needs FILE.

#include <editline/readline.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

namespace tickertape::program {

LineReader::LineReader(std::string prompt)
    : prompt_(std::move(prompt)),
      interactive_(isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {
  if (interactive_) using_history();
}

std::optional<std::string> LineReader::read() {
  std::string line;
  if (!interactive_) {
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  const std::unique_ptr<char, decltype(&std::free)> typed(readline(prompt_.c_str()), &std::free);
  if (!typed) return std::nullopt;
  line = typed.get();
  if (!line.empty()) add_history(line.c_str());
  return line;
}

}  // namespace tickertape::program
