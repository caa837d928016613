// chat: a conversation in the terminal, with a model here or with a server.
#include <fmt/core.h>
#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <csignal>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tickertape/client.hpp>
#include <utility>

#include "tools/tickertape/answer_json.hpp"
#include "tools/tickertape/command.hpp"
#include "tools/tickertape/engine_flags.hpp"
#include "tools/tickertape/line_reader.hpp"
#include "tools/tickertape/sampling_flags.hpp"
#include "tools/tickertape/values.hpp"

namespace tickertape::program {
namespace {

namespace asio = boost::asio;

struct ChatFlags {
  EngineFlags engine;
  std::string url;
  std::string api_key;
  std::string system;
  bool json = false;
  Request request;
};

/// Whom one talks with: an engine in this process, or one behind a connection.
class Partner {
 public:
  Partner(asio::io_context& io, const ChatFlags& flags) {
    if (flags.url.empty()) {
      engine_.emplace(open_model(flags.engine), flags.engine.options);
    } else {
      ClientOptions options;
      options.url = flags.url;
      options.api_key = flags.api_key;
      client_.emplace(io.get_executor(), options);
    }
  }

  /// Throws Error when the request is refused.
  asio::awaitable<TokenStream> ask(Request request) {
    error_code error;
    TokenStream stream;
    if (engine_) {
      stream = co_await engine_->async_submit(std::move(request),
                                              asio::redirect_error(asio::use_awaitable, error));
    } else {
      stream = co_await client_->async_submit(std::move(request),
                                              asio::redirect_error(asio::use_awaitable, error));
    }
    if (error) {
      ErrorInfo info = stream.finish().error;
      if (!info && client_) info = client_->last_error();
      if (!info) info = ErrorInfo{Errc::internal, error.message(), {}, 0};
      throw Error(std::move(info));
    }
    co_return stream;
  }

  void close() {
    if (client_) client_->close();
  }

 private:
  std::optional<Engine> engine_;
  std::optional<Client> client_;
};

/// Answers on a thread of its own, so that a connection lives while the terminal waits for a line,
/// and Ctrl-C ends the answer under way.
class Conversation {
 public:
  explicit Conversation(ChatFlags& flags)
      : flags_(flags), partner_(io_, flags), work_(io_.get_executor()), signals_(io_, SIGINT) {
    if (!flags.system.empty()) system_.emplace("system", flags.system);
    forget();
    wait_for_interrupt();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Conversation() {
    asio::post(io_, [this] {
      signals_.cancel();
      partner_.close();
      work_.reset();
    });
    thread_.join();
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  void forget() {
    flags_.request.messages.clear();
    if (system_) {
      flags_.request.messages.push_back(ChatMessage{system_->first, system_->second});
    }
  }

  /// Prints the answer as it comes. Throws Error; the line is then no part of the conversation.
  void say(std::string line) {
    flags_.request.messages.push_back(ChatMessage{"user", std::move(line)});
    try {
      std::future<Answer> answered = asio::co_spawn(io_, answer(), asio::use_future);
      const Answer answer = answered.get();
      if (flags_.json) {
        fmt::print("{}\n", one_line(answer_json(answer, false, false)));
      } else {
        fmt::print("\n");
      }
      std::fflush(stdout);
      flags_.request.messages.push_back(ChatMessage{"assistant", text_of(answer, 0)});
    } catch (...) {
      flags_.request.messages.pop_back();
      throw;
    }
  }

 private:
  asio::awaitable<Answer> answer() {
    Request request = flags_.request;
    TokenStream stream = co_await partner_.ask(std::move(request));
    Answer answer;
    current_ = &stream;
    for (;;) {
      std::optional<Token> token = co_await stream.async_next(asio::use_awaitable);
      if (!token) break;
      if (!flags_.json) {
        std::fwrite(token->text.data(), 1, token->text.size(), stdout);
        std::fflush(stdout);
      }
      answer.tokens.push_back(std::move(*token));
    }
    current_ = nullptr;
    answer.accepted = stream.accepted();
    answer.finish = stream.finish();
    if (answer.finish.error) throw Error(answer.finish.error);
    co_return answer;
  }

  void wait_for_interrupt() {
    signals_.async_wait([this](error_code error, int) {
      if (error) return;
      if (current_ != nullptr) current_->cancel();
      wait_for_interrupt();
    });
  }

  ChatFlags& flags_;
  std::optional<std::pair<std::string, std::string>> system_;
  asio::io_context io_{1};
  Partner partner_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::signal_set signals_;
  TokenStream* current_ = nullptr;  ///< Of the answer under way; the io thread's.
  std::thread thread_;
};

constexpr const char* kHelp =
    "/new begins a new conversation, /quit or Ctrl-D ends. Ctrl-C stops an answer.";

int chat(ChatFlags& flags) {
  Conversation conversation(flags);
  LineReader reader("> ");
  if (reader.interactive()) fmt::print(stderr, "{}\n", kHelp);
  while (std::optional<std::string> line = reader.read()) {
    if (line->empty()) continue;
    if (*line == "/quit") break;
    if (*line == "/new") {
      conversation.forget();
      continue;
    }
    if (*line == "/help") {
      fmt::print(stderr, "{}\n", kHelp);
      continue;
    }
    try {
      conversation.say(std::move(*line));
    } catch (const Error& error) {
      // In a terminal one may go on; a script should hear of it.
      if (!reader.interactive()) throw;
      fmt::print(stderr, "tickertape: {}\n", error.what());
    }
  }
  return 0;
}

}  // namespace

void add_chat(CLI::App& program, Action& action) {
  auto flags = std::make_shared<ChatFlags>();
  // As far as the context reaches.
  flags->request.max_tokens = std::numeric_limits<std::int32_t>::max();
  CLI::App& command = *program.add_subcommand("chat", "A conversation in the terminal");
  add_engine_flags(command, flags->engine);
  add_option(command, "--url", flags->url, "Talk with a server: ws://host:port instead of MODEL");
  add_option(command, "--api-key", flags->api_key, "The server's key");
  add_option(command, "--system", flags->system, "The system message");
  add_switch(command, "--json", flags->json, "Print one object per answer");
  add_sampling_flags(command, flags->request);
  command.callback([flags, &action] {
    if (flags->url.empty()) {
      check_engine_flags(flags->engine);
    } else if (!flags->engine.model.empty()) {
      throw CLI::ValidationError("--url", "goes without MODEL: the server has one");
    }
    action = [flags] { return chat(*flags); };
  });
}

}  // namespace tickertape::program
