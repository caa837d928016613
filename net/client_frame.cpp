// ClientFrame: type and id first, then what the type asks for.
#include "net/client_frame.hpp"

#include <algorithm>
#include <utility>

#include "net/bad_number.hpp"
#include "net/list_fields.hpp"

namespace tickertape::net {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::element;
using simdjson::dom::object;
using Result = std::variant<ClientFrame, BadFrame>;

constexpr std::size_t kMaxIdCharacters = 64;
constexpr std::int64_t kMaxCredit = 65536;

std::size_t num_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// The id, or an empty one where the field is missing or not an id.
std::string read_id(object fields) {
  std::string_view id;
  if (fields["id"].get(id) != SUCCESS || num_characters(id) > kMaxIdCharacters) return {};
  return std::string(id);
}

Result refuse(std::string id, std::string_view param, std::string message) {
  return BadFrame(std::move(id), FieldError(param, std::move(message)));
}

Result read_submit(ClientFrame frame, object fields, const ServedModel& served) {
  if (auto refusal = read_submit_fields(fields, served, frame.submit)) {
    return BadFrame(std::move(frame.id), std::move(*refusal));
  }
  return frame;
}

Result read_credit(ClientFrame frame, object fields) {
  element value;
  std::optional<std::int64_t> tokens;
  if (fields["tokens"].get(value) == SUCCESS) tokens = read_integer(value, 1, kMaxCredit);
  if (!tokens) {
    return refuse(std::move(frame.id), "tokens", "tokens must be an integer from 1 to 65536");
  }
  frame.tokens = static_cast<std::uint32_t>(*tokens);
  return frame;
}

}  // namespace

/// A number that nothing can hold spoils the whole document; the frame's other members still tell
/// whose it is and which member is at fault.
BadFrame FrameReader::explain(std::string_view text, std::string why) {
  FieldError error({}, std::move(why));
  std::string id;
  if (const auto found = find_bad_number(text)) {
    error.param = found->member;
    std::string ignored;
    object fields;
    const auto document = parser_.parse(found->without, ignored);
    if (document && document->get(fields) == SUCCESS) id = read_id(fields);
  }
  return {std::move(id), std::move(error)};
}

Result FrameReader::read(std::string_view text) {
  std::string why;
  const std::optional<element> document = parser_.parse(text, why);
  if (!document) return explain(text, std::move(why));
  object fields;
  if (document->get(fields) != SUCCESS) return refuse({}, {}, "a frame must be a JSON object");

  ClientFrame frame;
  frame.id = read_id(fields);
  std::string_view type;
  if (fields["type"].get(type) != SUCCESS) {
    return refuse(std::move(frame.id), "type", "type must be a string");
  }
  if (type == "ping") return frame;
  if (type == "watch") {
    return refuse(std::move(frame.id), "type", "watch is not supported by this version");
  }
  if (type != "submit" && type != "credit" && type != "cancel") {
    return refuse(std::move(frame.id), "type", "type must be submit, credit, cancel or ping");
  }
  if (frame.id.empty()) return refuse({}, "id", "id must be a string of 1 to 64 characters");
  if (type == "submit") {
    frame.type = ClientFrame::Type::submit;
    return read_submit(std::move(frame), fields, served_);
  }
  if (type == "credit") {
    frame.type = ClientFrame::Type::credit;
    return read_credit(std::move(frame), fields);
  }
  frame.type = ClientFrame::Type::cancel;
  return frame;
}

}  // namespace tickertape::net
