// A program of somebody else: an engine over the paged fake, from the installed package.
#include <boost/asio/io_context.hpp>
#include <iostream>
#include <tickertape/engine.hpp>
#include <tickertape/fake.hpp>
#include <tickertape/server.hpp>

int main() {
  tickertape::EngineOptions options;
  options.num_kv_pages = 16;
  tickertape::Engine engine(tickertape::make_paged_fake_model(), options);
  boost::asio::io_context io;
  tickertape::ServerOptions server_options;
  server_options.port = 0;
  tickertape::Server server(io.get_executor(), engine, server_options);
  tickertape::Request request;
  request.prompt_ids = {1, 2, 3};
  request.max_tokens = 5;
  request.sampling.ignore_eos = true;
  tickertape::TokenStream stream = engine.submit(io.get_executor(), request);
  std::size_t count = 0;
  std::function<void(tickertape::error_code, std::optional<tickertape::Token>)> on_token;
  on_token = [&](tickertape::error_code, std::optional<tickertape::Token> token) {
    if (!token) return;
    ++count;
    stream.async_next(on_token);
  };
  stream.async_next(on_token);
  io.run();
  std::cout << count << " tokens\n";
  return count == 5 && server.port() != 0 ? 0 : 1;
}
