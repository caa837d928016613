// Intake: the door; checks a request and puts it into the waiting line.
#include "actors/intake.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "actors/request_check.hpp"

namespace tickertape::actors {
namespace {

ErrorInfo refused(Errc code, std::string message, std::string param) {
  return ErrorInfo{code, std::move(message), std::move(param), 0};
}

ErrorInfo too_long(std::size_t prompt_tokens, std::uint32_t max_model_len, std::string param) {
  return refused(Errc::prompt_too_long,
                 "the prompt has " + std::to_string(prompt_tokens) +
                     " tokens and leaves no room in a context of " + std::to_string(max_model_len),
                 std::move(param));
}

std::string source_name(const Request& request) {
  if (!request.messages.empty()) return "messages";
  return request.prompt_ids.empty() ? "prompt" : "prompt_ids";
}

std::size_t text_size(const Request& request) {
  std::size_t size = request.prompt.size();
  for (const ChatMessage& message : request.messages) size += message.content.size();
  return size;
}

void put_begin_token(std::vector<TokenId>& ids, TokenId begin) {
  if (begin >= 0 && (ids.empty() || ids.front() != begin)) ids.insert(ids.begin(), begin);
}

}  // namespace

Intake::Intake(std::shared_ptr<const Model> model, IntakeOptions options,
               std::shared_ptr<LanePort> port, Clock clock, SeedSource seeds)
    : model_(std::move(model)),
      tokenizer_(model_->tokenizer()),
      options_(options),
      port_(std::move(port)),
      clock_(std::move(clock)),
      seeds_(std::move(seeds)) {}

std::variant<Prepared, ErrorInfo> Intake::prepare(const Request& request) const {
  if (auto error = check_fields(request)) return std::move(*error);
  const std::string source = source_name(request);
  Prepared prepared;
  if (request.prompt_ids.empty()) {
    if (!tokenizer_) {
      return refused(Errc::not_supported, "the model has no tokenizer: give prompt_ids", source);
    }
    // A text that cannot fit whatever its tokens are is not read at all.
    if (text_size(request) / std::max<std::size_t>(tokenizer_->longest_token(), 1) >
        options_.max_model_len) {
      return refused(Errc::prompt_too_long,
                     "the prompt has " + std::to_string(text_size(request)) +
                         " bytes, more than a context of " +
                         std::to_string(options_.max_model_len) + " tokens can hold",
                     source);
    }
  }
  if (!request.messages.empty()) {
    const auto chat_template = model_->chat_template();
    if (!chat_template) {
      return refused(Errc::not_supported, "the model has no chat template", source);
    }
    try {
      prepared.ids =
          tokenizer_->encode_spans(chat_template->render(request.messages, request.chat));
    } catch (const Error& error) {
      return error.info();
    }
  } else {
    prepared.ids =
        request.prompt_ids.empty() ? tokenizer_->encode(request.prompt, true) : request.prompt_ids;
  }
  if (request.prompt_ids.empty()) put_begin_token(prepared.ids, tokenizer_->begin_token());
  for (const TokenId id : prepared.ids) {
    if (id < 0 || static_cast<std::uint32_t>(id) >= options_.vocab_size) {
      return refused(Errc::invalid_request,
                     source + " holds the id " + std::to_string(id) + "; the model's are 0 to " +
                         std::to_string(options_.vocab_size - 1),
                     source);
    }
  }
  const std::size_t needed = prepared.ids.size() + (request.max_tokens > 0 ? 1 : 0);
  if (needed > options_.max_model_len) {
    return too_long(prepared.ids.size(), options_.max_model_len, source);
  }
  prepared.max_tokens = std::min(
      request.max_tokens, options_.max_model_len - static_cast<std::uint32_t>(prepared.ids.size()));
  return prepared;
}

double Intake::retry_after() const {
  const Counters& counters = port_->counters();
  const double interval_s = static_cast<double>(counters.end_interval_ns.load()) / 1e9;
  return std::clamp(std::ceil(interval_s), 1.0, 60.0);
}

std::optional<ErrorInfo> Intake::check_queue(std::size_t num_tokens) const {
  if (draining()) return refused(Errc::shutting_down, "the engine takes no new requests", {});
  if (port_->closed()) return refused(Errc::shutting_down, "the engine has ended", {});
  const Counters& counters = port_->counters();
  const std::uint64_t requests = counters.queued_requests.load();
  if (requests >= options_.max_queued_requests) {
    return ErrorInfo{Errc::queue_full,
                     std::to_string(requests) + " requests wait already; try again later",
                     {},
                     retry_after()};
  }
  const std::uint64_t tokens = counters.queued_tokens.load();
  if (tokens > 0 && tokens + num_tokens > options_.max_queued_tokens) {
    return ErrorInfo{Errc::queue_full,
                     std::to_string(tokens) + " prompt tokens wait already; try again later",
                     {},
                     retry_after()};
  }
  return std::nullopt;
}

std::optional<ErrorInfo> Intake::enter_queue(std::size_t num_tokens) {
  if (auto error = check_queue(num_tokens)) return error;
  Counters& counters = port_->counters();
  // Checked again by the act of entering: several threads may have passed the check above.
  if (counters.queued_requests.fetch_add(1) >= options_.max_queued_requests) {
    counters.queued_requests.fetch_sub(1);
    return ErrorInfo{
        Errc::queue_full, "too many requests wait; try again later", {}, retry_after()};
  }
  counters.queued_tokens.fetch_add(num_tokens);
  return std::nullopt;
}

void Intake::leave_queue(std::size_t num_tokens) {
  port_->counters().queued_requests.fetch_sub(1);
  port_->counters().queued_tokens.fetch_sub(num_tokens);
}

std::shared_ptr<Stream> Intake::submit(Request&& request, std::shared_ptr<Outbox> outbox,
                                       Stream::ExecutorOf executor,
                                       std::optional<ErrorInfo> refusal) {
  Prepared prepared;
  if (!refusal) {
    auto outcome = prepare(request);
    if (auto* error = std::get_if<ErrorInfo>(&outcome)) {
      refusal = std::move(*error);
    } else {
      prepared = std::get<Prepared>(std::move(outcome));
      refusal = enter_queue(prepared.ids.size());
    }
  }
  if (!refusal) {
    return start(std::move(request), std::move(prepared), std::move(outbox), std::move(executor));
  }
  port_->counters().refused.fetch_add(1);
  StreamSetup setup;
  setup.accepted.prompt_tokens = static_cast<std::uint32_t>(prepared.ids.size());
  auto stream =
      std::make_shared<Stream>(std::move(setup), nullptr, std::move(outbox), std::move(executor));
  stream->refuse(std::move(*refusal));
  return stream;
}

std::shared_ptr<Stream> Intake::start(Request&& request, Prepared&& prepared,
                                      std::shared_ptr<Outbox> outbox, Stream::ExecutorOf executor) {
  const std::int64_t now_ns = clock_();
  const std::size_t num_prompt = prepared.ids.size();
  StreamSetup setup;
  Accepted& accepted = setup.accepted;
  accepted.request_id = next_id_.fetch_add(1);
  accepted.prompt_tokens = static_cast<std::uint32_t>(num_prompt);
  accepted.max_tokens = prepared.max_tokens;
  accepted.seed = request.sampling.seed.value_or(seeds_());
  accepted.queue_position = port_->counters().queued_requests.load() - 1;
  accepted.prompt_ids = prepared.ids;
  setup.window = request.window;
  setup.manual_credit = request.manual_credit;
  setup.on_notice = std::move(request.on_notice);
  setup.tokenizer = tokenizer_;
  setup.submitted_ns = now_ns;

  auto sequence = std::make_shared<Sequence>();
  sequence->id = accepted.request_id;
  sequence->tokens = std::move(prepared.ids);
  sequence->prompt_length = accepted.prompt_tokens;
  sequence->max_tokens = accepted.prompt_tokens + prepared.max_tokens;
  sequence->sampling = request.sampling;
  sequence->seed = accepted.seed;
  sequence->prompt_logprobs = request.prompt_logprobs;

  NewSequence planned;
  planned.id = sequence->id;
  planned.prompt_tokens = sequence->prompt_length;
  planned.max_tokens = sequence->max_tokens;
  planned.scores_prompt = request.prompt_logprobs >= 0;
  planned.priority = request.priority;
  planned.client = std::hash<std::string>()(request.client);
  planned.granted = request.window;
  if (request.deadline_ms) {
    planned.deadline_ns = now_ns + static_cast<std::int64_t>(*request.deadline_ms * 1e6);
  }
  if (options_.request_timeout_ns > 0) {
    planned.deadline_ns = std::min(planned.deadline_ns, now_ns + options_.request_timeout_ns);
  }

  auto stream = std::make_shared<Stream>(std::move(setup), port_, outbox, std::move(executor));
  outbox->attach(stream);
  sequence->stream = stream;
  port_->counters().submitted.fetch_add(1);
  if (port_->submit(Submission(planned, std::move(sequence))) != runtime::PushResult::ok) {
    leave_queue(num_prompt);
    stream->refuse(refused(Errc::shutting_down, "the engine has ended", {}));
  }
  return stream;
}

}  // namespace tickertape::actors
