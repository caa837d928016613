// Engine: continuous batching inside your Asio program.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <memory>
#include <optional>
#include <utility>

#include <tickertape/detail/call_op.hpp>
#include <tickertape/detail/handler_executor.hpp>
#include <tickertape/errors.hpp>
#include <tickertape/model.hpp>
#include <tickertape/options.hpp>
#include <tickertape/request.hpp>
#include <tickertape/stats.hpp>
#include <tickertape/token_stream.hpp>

namespace tickertape {

namespace detail {
class EngineCore;
}  // namespace detail

/// Runs a model for many requests at once. Adds to the process one lane thread and the compute
/// threads; installs no signal handler, prints nothing.
///
/// Thread rules: every member may be called from any thread. The destructor ends all streams with
/// FinishReason::shutdown, joins the lane and never waits for an executor; streams may outlive it.
class Engine {
 public:
  /// Makes the backend, so this reads the weights. Throws Error with what is wrong.
  explicit Engine(std::shared_ptr<const Model> model, EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Submits a request. Completes with `void(error_code, TokenStream)`. On refusal the error is one
  /// of Errc and the stream is finished: finish().error says which field and why.
  ///
  /// The stream's executor is the handler's associated executor, else EngineOptions::executor; with
  /// neither the request is refused (Errc::no_executor). Never waits for the lane. Text beyond
  /// 4 KiB is read on the engine's text thread; cancelling the call meanwhile (any type) drops the
  /// request and completes with operation_aborted.
  template <class CompletionToken>
  auto async_submit(Request request, CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, void(error_code, TokenStream)>(
        [core = core_.get()](auto&& handler, Request&& wanted) {
          Engine::start_submit(*core, std::move(wanted), std::forward<decltype(handler)>(handler));
        },
        token, std::move(request));
  }

  /// The same at once, on the calling thread, which also reads the text, however long: a refused
  /// request gives a finished stream.
  [[nodiscard]] TokenStream submit(const boost::asio::any_io_executor& executor, Request request);

  /// What submit() would refuse this request for; nothing if it would be taken now.
  [[nodiscard]] std::optional<ErrorInfo> check(const Request& request) const;

  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] const Model& model() const noexcept;
  [[nodiscard]] const EngineOptions& options() const noexcept;
  [[nodiscard]] const BackendInfo& backend_info() const noexcept;

  /// From now on new requests are refused with Errc::shutting_down; running ones go on.
  void drain();

  /// Ends every request that still runs with FinishReason::shutdown, and refuses new ones.
  void stop();

 private:
  template <class Handler>
  static void start_submit(detail::EngineCore& core, Request&& request, Handler&& handler);
  static std::shared_ptr<detail::AsyncCall> prepare_long_submit(
      detail::EngineCore& core, const boost::asio::any_io_executor& executor, Request& request);
  static TokenStream submit_to(detail::EngineCore& core,
                               const boost::asio::any_io_executor& executor, Request&& request);
  static boost::asio::any_io_executor default_executor(const detail::EngineCore& core);

  std::unique_ptr<detail::EngineCore> core_;
};

template <class Handler>
void Engine::start_submit(detail::EngineCore& core, Request&& request, Handler&& handler) {
  boost::asio::any_io_executor executor = detail::handler_executor(handler);
  if (!executor) executor = default_executor(core);
  if (auto call = prepare_long_submit(core, executor, request)) {
    return detail::start_call<detail::SubmitShape>(call, std::forward<Handler>(handler));
  }
  TokenStream stream = submit_to(core, executor, std::move(request));
  const Errc code = stream.finish().error.code;
  auto complete = [handler = std::decay_t<Handler>(std::forward<Handler>(handler)),
                   error = code == Errc::ok ? error_code() : make_error_code(code),
                   stream = std::move(stream)]() mutable {
    std::move(handler)(error, std::move(stream));
  };
  if (executor) {
    boost::asio::post(executor, std::move(complete));
  } else {
    boost::asio::post(boost::asio::system_executor(), std::move(complete));
  }
}

}  // namespace tickertape
