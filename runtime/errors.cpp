// The error category of tickertape::Errc, and the HTTP status of each reason.
#include <tickertape/errors.hpp>

namespace tickertape {
namespace {

const char* describe(Errc code) noexcept {
  switch (code) {
    case Errc::ok:
      return "ok";
    case Errc::invalid_request:
      return "invalid request";
    case Errc::prompt_empty:
      return "the prompt is empty";
    case Errc::prompt_too_long:
      return "the prompt is too long";
    case Errc::not_supported:
      return "not supported";
    case Errc::queue_full:
      return "the queue is full";
    case Errc::shutting_down:
      return "shutting down";
    case Errc::deadline_exceeded:
      return "the deadline has passed";
    case Errc::no_executor:
      return "no executor to complete on";
    case Errc::read_pending:
      return "a read is pending already";
    case Errc::backend_failed:
      return "the backend failed";
    case Errc::invalid_model:
      return "the model cannot be used";
    case Errc::connection_lost:
      return "no connection to the server";
    case Errc::internal:
      return "internal error";
  }
  return "unknown";
}

class Category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "tickertape"; }
  std::string message(int value) const override { return describe(static_cast<Errc>(value)); }
};

}  // namespace

const boost::system::error_category& error_category() noexcept {
  static const Category category;
  return category;
}

int http_status(Errc code) noexcept {
  switch (code) {
    case Errc::ok:
      return 200;
    case Errc::invalid_request:
    case Errc::prompt_empty:
    case Errc::prompt_too_long:
    case Errc::not_supported:
      return 400;
    case Errc::queue_full:
      return 429;
    case Errc::shutting_down:
    case Errc::connection_lost:
      return 503;
    case Errc::deadline_exceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace tickertape
