// serve: the server, from its flags to its last connection.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <tickertape/server.hpp>

#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/policy_flags.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

struct ServeFlags {
  EngineFlags engine;
  ServerOptions server;
  std::uint64_t max_body = ServerOptions().max_body;
};

/// Every connection is a file descriptor; the limit that a shell gives is often below 4,096.
void raise_descriptor_limit(std::size_t connections) {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min<rlim_t>(connections + 256, limit.rlim_max);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// A registration that is never given up: a signal that comes while the server is being taken down
/// must not kill it.
void keep_signals_to_the_end() {
  static auto* const io = new boost::asio::io_context(1);
  static auto* const signals = new boost::asio::signal_set(*io, SIGINT, SIGTERM);
  static_cast<void>(signals);
}

/// The first signal drains, the second stops at once.
class Shutdown {
 public:
  Shutdown(boost::asio::io_context& io, Server& server)
      : io_(io), server_(server), signals_(io, SIGINT, SIGTERM) {
    wait();
  }

 private:
  void wait() {
    signals_.async_wait([this](error_code error, int) {
      if (error) return;
      if (draining_) return stop();
      draining_ = true;
      server_.drain([this] { stop(); });
      wait();
    });
  }

  void stop() {
    server_.stop();
    io_.stop();
  }

  boost::asio::io_context& io_;
  Server& server_;
  boost::asio::signal_set signals_;
  bool draining_ = false;
};

/// What one connection does must not end the others: an exception that leaves a handler is told,
/// and the loop goes on.
void run_to_the_end(boost::asio::io_context& io) {
  for (;;) {
    try {
      io.run();
      return;
    } catch (const std::exception& error) {
      fmt::print(stderr, "tickertape: an exception left a handler: {}\n", error.what());
    }
  }
}

int serve(const ServeFlags& flags) {
  ServerOptions options = flags.server;
  options.max_body = flags.max_body;
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit(options.max_connections);
  boost::asio::io_context io(1);
  Engine engine(open_model(flags.engine), flags.engine.options);
  Server server(io.get_executor(), engine, options);
  Shutdown shutdown(io, server);
  keep_signals_to_the_end();
  server.start();
  fmt::print("listening on {}\n", server.url());
  std::fflush(stdout);
  run_to_the_end(io);
  return 0;
}

void add_door_flags(CLI::App& command, ServeFlags& flags) {
  ServerOptions& options = flags.server;
  add_option(command, "--host", options.host, "Address to listen on; IPv6 too");
  add_option(command, "--port", options.port, "Port to listen on; 0 picks a free one");
  add_switch(command, "--allow-anonymous", options.allow_anonymous,
             "Listen beyond loopback although everybody may ask");
  command
      .add_option("--allow-origin", options.allow_origins,
                  "An origin of web pages that may use the server; repeatable")
      ->allow_extra_args(false)
      ->envname(environment_name("--allow-origin"));
  command
      .add_option("--served-model-name", options.served_model_name, "The model's name for clients")
      ->envname(environment_name("--served-model-name"))
      ->default_str("the file's name");
  add_option(command, "--max-connections", options.max_connections, "Connections at the same time")
      ->check(in_range(1, 1e6));
  add_option(command, "--max-streams", options.max_streams, "Generations per connection")
      ->check(in_range(1, 1e6));
  add_size(command, "--max-body", flags.max_body, "Longest body or WebSocket message");
  add_option(command, "--idle-timeout", options.idle_timeout_s,
             "A connection without traffic is closed after so many seconds")
      ->check(in_range(0, 1e9));
  add_option(command, "--drain-timeout", options.drain_timeout_s,
             "Seconds that running requests get to finish at shutdown")
      ->check(in_range(0, 1e9));
}

}  // namespace

void add_serve(CLI::App& program, Action& action) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App& command = *program.add_subcommand(
      "serve",
      "The server: WebSocket, HTTP and a page. SIGTERM and SIGINT drain; a second one stops");
  add_engine_flags(command, flags->engine);
  add_queue_flags(command, flags->engine);
  add_record_flags(command, flags->engine.options);
  add_door_flags(command, *flags);
  command.callback([flags, &action] {
    check_engine_flags(flags->engine);
    action = [flags] { return serve(*flags); };
  });
}

}  // namespace tickertape::program
