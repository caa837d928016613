// TokenSink: a reader that is handed each token when it comes.
#pragma once
#include <tickertape/finish.hpp>

namespace tickertape::actors {

/// The leanest way to read: without a handler, and without memory per token. Calls come on the
/// stream's executor, one at a time; they may cancel or drop the stream.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void on_token(Token&& token) noexcept = 0;
  virtual void on_end() noexcept = 0;  ///< Once, after the last token; finish() is complete.
};

}  // namespace tickertape::actors
