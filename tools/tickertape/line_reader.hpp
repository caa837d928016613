// LineReader: lines from a terminal, with editing and history, or from a pipe.
#pragma once
#include <optional>
#include <string>

namespace tickertape::program {

class LineReader {
 public:
  /// `prompt` is shown in a terminal only.
  explicit LineReader(std::string prompt);

  /// Both ends are a terminal.
  [[nodiscard]] bool interactive() const noexcept { return interactive_; }

  /// The next line without its end; nothing at the end of the input.
  [[nodiscard]] std::optional<std::string> read();

 private:
  std::string prompt_;
  bool interactive_;
};

}  // namespace tickertape::program
