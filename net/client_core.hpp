// ClientCore: what a Client's calls and its connection share.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tickertape/client.hpp>

#include "net/client_call.hpp"
#include "net/client_session.hpp"
#include "net/client_url.hpp"
#include "net/remote_frame.hpp"
#include "net/remote_stream.hpp"
#include "net/remote_target.hpp"
#include "runtime/asio_poster.hpp"

namespace tickertape::net {

/// Runs on a strand of the client's executor. Calls put their wishes into an inbox, which the next
/// run takes.
///
/// Thread rules: prepare_...(), connect(), submit(), changed(), close() and the getters on any
/// thread; everything else on the strand.
class ClientCore final : public RemoteTarget, public RemoteOwner, private SessionListener {
 public:
  /// REQUIRES: the executor's context is alive.
  [[nodiscard]] static std::shared_ptr<ClientCore> make(
      const boost::asio::any_io_executor& executor, ClientOptions options);
  ClientCore(const boost::asio::any_io_executor& executor, ClientOptions options, ClientUrl url);

  /// Null when neither `executor` nor the client's own is there.
  [[nodiscard]] std::shared_ptr<detail::AsyncCall> prepare_connect(
      boost::asio::any_io_executor executor);
  [[nodiscard]] std::shared_ptr<detail::AsyncCall> prepare_submit(
      boost::asio::any_io_executor executor, const Request& request);

  void connect(const std::shared_ptr<ClientCall>& call);
  void submit(const std::shared_ptr<RemoteStream>& stream) override;
  void changed(const std::shared_ptr<RemoteStream>& stream) override;
  void close();

  [[nodiscard]] std::optional<ServerHello> hello() const;
  [[nodiscard]] ErrorInfo last_error() const;
  [[nodiscard]] const ClientOptions& options() const noexcept { return options_; }
  [[nodiscard]] boost::asio::any_io_executor home() const { return home_->executor(); }

 private:
  using StreamPtr = std::shared_ptr<RemoteStream>;
  enum class State : std::uint8_t { idle, connecting, open, closed };
  struct Inbox {
    std::vector<std::shared_ptr<ClientCall>> connects;
    std::vector<StreamPtr> submits;
    std::vector<StreamPtr> changed;
    bool close = false;
  };

  void run() override;
  void abandoned() noexcept override;
  void session_text(std::string_view text) override;
  void session_written() override;
  void session_ended(error_code error, std::string why) override;

  void want_connection();
  void take_connect(std::shared_ptr<ClientCall> call);
  void take_submit(const StreamPtr& stream);
  void send_submit(const StreamPtr& stream);
  void send_changes();
  [[nodiscard]] bool send_change(RemoteStream& stream);
  void take_close();

  void on_frame(RemoteFrame& frame);
  void on_hello(RemoteFrame& frame);
  void on_stream_frame(RemoteFrame& frame);
  void on_done(const StreamPtr& stream, RemoteFrame& frame);
  void lost(error_code error, const std::string& why);
  void break_off(const std::string& why);
  void end_all(FinishReason reason, const ErrorInfo& info, error_code error);
  [[nodiscard]] boost::asio::any_io_executor or_home(boost::asio::any_io_executor executor) const;

  const ClientOptions options_;
  const ClientUrl url_;
  const std::shared_ptr<runtime::AsioPoster> home_;

  mutable std::mutex mutex_;
  Inbox inbox_;
  std::uint64_t next_id_ = 0;
  std::optional<ServerHello> hello_;
  ErrorInfo last_error_;

  // The strand's.
  State state_ = State::idle;
  std::shared_ptr<ClientSession> session_;
  RemoteFrameReader reader_;
  std::vector<std::shared_ptr<ClientCall>> waiting_connects_;
  std::vector<StreamPtr> waiting_submits_;
  std::unordered_map<std::string, StreamPtr> streams_;  ///< Submitted and not ended.
  std::vector<StreamPtr> changed_;
};

}  // namespace tickertape::net
