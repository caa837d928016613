// run_request: submits, reads all tokens, and gives the end.
#include "tools/tickertape/run_request.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace tickertape::program {
namespace {

boost::asio::awaitable<void> read_all(TokenStream& stream, Answer& answer,
                                      const std::function<void(const Token&)>& on_token) {
  while (auto token = co_await stream.async_next(boost::asio::use_awaitable)) {
    if (on_token) on_token(*token);
    answer.tokens.push_back(std::move(*token));
  }
}

}  // namespace

Answer run_request(Engine& engine, Request request,
                   const std::function<void(const Token&)>& on_token) {
  boost::asio::io_context io(1);
  TokenStream stream = engine.submit(io.get_executor(), std::move(request));
  Answer answer;
  boost::asio::co_spawn(io, read_all(stream, answer, on_token), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  io.run();
  answer.accepted = stream.accepted();
  answer.finish = stream.finish();
  if (answer.finish.error) throw Error(answer.finish.error);
  return answer;
}

}  // namespace tickertape::program
