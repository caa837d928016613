// Intake: the door; checks a request and puts it into the waiting line.
#include "actors/intake.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tickertape::actors {
namespace {

ErrorInfo refused(Errc code, std::string message) {
  return ErrorInfo{code, std::move(message), {}, 0};
}

StreamSetup setup_of(Request& request, const Accepted& accepted, const Preparer& preparer,
                     std::int64_t submitted_ns) {
  StreamSetup setup;
  setup.accepted = accepted;
  setup.window = request.window;
  setup.manual_credit = request.manual_credit;
  setup.on_notice = std::move(request.on_notice);
  setup.request.tokenizer = preparer.tokenizer();
  setup.request.prompt_tokens = accepted.prompt_tokens;
  setup.request.num_choices = request.n;
  setup.request.submitted_ns = submitted_ns;
  setup.request.text.include_stop = request.include_stop_str_in_output;
  setup.request.text.min_tokens = request.sampling.min_tokens;
  if (!request.stop.empty()) {
    setup.request.text.stops = std::make_shared<const StopStrings>(std::move(request.stop));
  }
  return setup;
}

/// The choices' sequences; the prompt counts in the queue once.
std::vector<std::shared_ptr<Sequence>> sequences_of(const Request& request,
                                                    const Accepted& accepted,
                                                    const std::shared_ptr<Stream>& stream) {
  std::vector<std::shared_ptr<Sequence>> choices;
  choices.reserve(request.n);
  for (std::uint32_t choice = 0; choice < request.n; ++choice) {
    auto sequence = std::make_shared<Sequence>();
    sequence->id = accepted.request_id + choice;
    sequence->tokens = accepted.prompt_ids;
    sequence->prompt_length = accepted.prompt_tokens;
    sequence->max_tokens = accepted.prompt_tokens + accepted.max_tokens;
    sequence->sampling = request.sampling;
    auto& stops = sequence->sampling.stop_token_ids;
    std::sort(stops.begin(), stops.end());
    sequence->logit_processor = request.logit_processor;
    sequence->seed = accepted.seed;
    sequence->choice = choice;
    if (choice == 0) {
      sequence->prompt_logprobs = request.prompt_logprobs;
      sequence->queued_tokens = accepted.prompt_tokens;
    }
    sequence->stream = stream;
    sequence->cache_salt = request.cache_salt;
    choices.push_back(std::move(sequence));
  }
  return choices;
}

}  // namespace

Intake::Intake(std::shared_ptr<const Model> model, IntakeOptions options,
               std::shared_ptr<LanePort> port, Clock clock, SeedSource seeds)
    : preparer_(std::move(model), options.limits),
      options_(options),
      port_(std::move(port)),
      clock_(std::move(clock)),
      seeds_(std::move(seeds)) {}

double Intake::retry_after() const {
  const Counters& counters = port_->counters();
  const double interval_s = static_cast<double>(counters.end_interval_ns.load()) / 1e9;
  return std::clamp(std::ceil(interval_s), 1.0, 60.0);
}

std::optional<ErrorInfo> Intake::check_queue(std::size_t num_choices,
                                             std::size_t num_tokens) const {
  if (draining()) return refused(Errc::shutting_down, "the engine takes no new requests");
  if (port_->closed()) return refused(Errc::shutting_down, "the engine has ended");
  const Counters& counters = port_->counters();
  const std::uint64_t requests = counters.queued_requests.load() + counters.pending_texts.load();
  // An empty queue takes any single request.
  if (requests > 0 && requests + num_choices > options_.max_queued_requests) {
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

std::optional<ErrorInfo> Intake::check(const Request& request) const {
  auto outcome = preparer_.prepare(request);
  if (auto* error = std::get_if<ErrorInfo>(&outcome)) return std::move(*error);
  return check_queue(request.n, std::get<Prepared>(outcome).ids.size());
}

std::optional<ErrorInfo> Intake::enter_queue(std::size_t num_choices, std::size_t num_tokens) {
  if (auto error = check_queue(num_choices, num_tokens)) return error;
  Counters& counters = port_->counters();
  // Checked again by the act of entering: several threads may have passed the check above.
  const std::uint64_t before = counters.queued_requests.fetch_add(num_choices);
  if (before > 0 && before + num_choices > options_.max_queued_requests) {
    counters.queued_requests.fetch_sub(num_choices);
    return ErrorInfo{
        Errc::queue_full, "too many requests wait; try again later", {}, retry_after()};
  }
  counters.queued_tokens.fetch_add(num_tokens);
  return std::nullopt;
}

void Intake::leave_queue(std::size_t num_choices, std::size_t num_tokens) {
  port_->counters().queued_requests.fetch_sub(num_choices);
  port_->counters().queued_tokens.fetch_sub(num_tokens);
}

std::shared_ptr<Stream> Intake::submit(Request&& request, std::shared_ptr<Outbox> outbox,
                                       Stream::ExecutorOf executor,
                                       std::optional<ErrorInfo> refusal, Arrival arrival) {
  Prepared prepared;
  const auto leave_pending = [&] {
    if (std::exchange(arrival.is_pending, false)) {
      port_->counters().pending_texts.fetch_sub(request.n);
    }
  };
  if (!refusal) refusal = preparer_.check(request);
  // Before its text is read; one that is pending was let in already.
  if (!refusal && (!arrival.is_pending || draining())) refusal = check_queue(request.n, 0);
  if (!refusal) {
    auto outcome = preparer_.read(request);
    if (auto* error = std::get_if<ErrorInfo>(&outcome)) {
      refusal = std::move(*error);
    } else {
      prepared = std::get<Prepared>(std::move(outcome));
      leave_pending();
      refusal = enter_queue(request.n, prepared.ids.size());
    }
  }
  if (!refusal) {
    return start(std::move(request), std::move(prepared), std::move(outbox), std::move(executor),
                 arrival.at_ns);
  }
  leave_pending();
  port_->counters().refused.fetch_add(1);
  StreamSetup setup;
  setup.accepted.prompt_tokens = static_cast<std::uint32_t>(prepared.ids.size());
  auto stream =
      std::make_shared<Stream>(std::move(setup), nullptr, std::move(outbox), std::move(executor));
  stream->refuse(std::move(*refusal));
  return stream;
}

Accepted Intake::accept(const Request& request, const Prepared& prepared) {
  Accepted accepted;
  // Each choice has an id of its own: its sequence's.
  accepted.request_id = next_id_.fetch_add(request.n);
  accepted.prompt_tokens = static_cast<std::uint32_t>(prepared.ids.size());
  accepted.max_tokens = prepared.max_tokens;
  accepted.seed = request.sampling.seed.value_or(seeds_());
  accepted.queue_position = port_->counters().queued_requests.load() - request.n;
  accepted.prompt_ids = prepared.ids;
  return accepted;
}

NewRequest Intake::plan_of(const Request& request, const Accepted& accepted,
                           std::int64_t submitted_ns) const {
  NewRequest planned;
  planned.id = accepted.request_id;
  planned.num_choices = request.n;
  planned.prompt_tokens = accepted.prompt_tokens;
  planned.max_tokens = accepted.prompt_tokens + accepted.max_tokens;
  planned.scores_prompt = request.prompt_logprobs >= 0;
  planned.is_chat = !request.messages.empty();
  planned.needs_host = request.logit_processor != nullptr;
  planned.priority = request.priority;
  planned.client = std::hash<std::string>()(request.client);
  planned.granted = request.window;
  if (request.deadline_ms) {
    planned.deadline_ns = submitted_ns + static_cast<std::int64_t>(*request.deadline_ms * 1e6);
  }
  if (options_.request_timeout_ns > 0) {
    planned.deadline_ns = std::min(planned.deadline_ns, submitted_ns + options_.request_timeout_ns);
  }
  return planned;
}

std::shared_ptr<Stream> Intake::start(Request&& request, Prepared&& prepared,
                                      std::shared_ptr<Outbox> outbox, Stream::ExecutorOf executor,
                                      std::int64_t submitted_ns) {
  const Accepted accepted = accept(request, prepared);
  auto stream = std::make_shared<Stream>(setup_of(request, accepted, preparer_, submitted_ns),
                                         port_, outbox, std::move(executor));
  stream->attach();
  port_->counters().submitted.fetch_add(request.n);
  Submission submission(plan_of(request, accepted, submitted_ns),
                        sequences_of(request, accepted, stream));
  if (port_->submit(std::move(submission)) != runtime::PushResult::ok) {
    leave_queue(request.n, accepted.prompt_tokens);
    port_->counters().submitted.fetch_sub(request.n);
    stream->refuse(refused(Errc::shutting_down, "the engine has ended"));
  }
  return stream;
}

}  // namespace tickertape::actors
