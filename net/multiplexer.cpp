// Multiplexer: submit -> accepted -> token ... -> done, for each generation on its own.
#include "net/multiplexer.hpp"

#include <boost/asio/bind_executor.hpp>
#include <utility>

#include "net/json_text.hpp"

namespace tickertape::net {
namespace {

/// Undelivered tokens of a client that manages no window.
constexpr std::uint32_t kAutoWindow = 64;

ChoiceDone choice_done(std::uint32_t index, const ChoiceFinish& finish, bool ended_by_us) {
  ChoiceDone done;
  done.index = index;
  done.reason = finish.reason;
  if (ended_by_us && done.reason == FinishReason::cancelled) done.reason = FinishReason::shutdown;
  done.stop = finish.stop;
  done.stop_token = finish.stop_token;
  done.error = {finish.error.status(), finish.error.message, finish.error.param, 0};
  return done;
}

}  // namespace

Multiplexer::Multiplexer(std::shared_ptr<ServerState> state, Transport& transport,
                         std::string client)
    : state_(std::move(state)), transport_(&transport), client_(std::move(client)) {}

/// No exception of one connection may reach the executor that everybody shares.
template <class Function>
void Multiplexer::guard(Function&& function) {
  try {
    function();
  } catch (...) {
    Transport* transport = transport_;
    abandon();
    if (transport != nullptr) transport->close(1011, "internal error", false);
  }
}

void Multiplexer::open() {
  if (state_->engine == nullptr) return;
  Hello hello;
  hello.model = state_->model_name;
  hello.max_model_len = state_->engine->stats().max_model_len;
  hello.max_streams = state_->options.max_streams;
  hello.max_body = state_->options.max_body;
  answer(hello_frame(hello));
}

void Multiplexer::on_text(std::string_view text) {
  auto result = state_->frames.read(text);
  if (const auto* bad = std::get_if<BadFrame>(&result)) {
    refuse(bad->id, bad->error.status, bad->error.message, bad->error.param);
    return;
  }
  auto& frame = std::get<ClientFrame>(result);
  switch (frame.type) {
    case ClientFrame::Type::submit:
      submit(std::move(frame));
      break;
    case ClientFrame::Type::credit:
      credit(frame);
      break;
    case ClientFrame::Type::cancel:
      cancel(frame.id);
      break;
    case ClientFrame::Type::ping:
      answer(pong_frame());
      break;
  }
}

void Multiplexer::submit(ClientFrame&& frame) {
  if (generations_.contains(frame.id)) {
    return refuse(frame.id, 400, "a generation with this id is alive", "id");
  }
  if (draining_ || state_->draining || state_->engine == nullptr) {
    return refuse(frame.id, 503, "the server is shutting down", {});
  }
  if (generations_.size() >= state_->options.max_streams) {
    return refuse(frame.id, 429, "this connection has max_streams generations already", {});
  }
  const auto& window = frame.submit.window;
  auto generation = std::make_shared<Generation>(frame.id, json_string(frame.id),
                                                 !window.has_value(), frame.submit.request.n);
  Request request = std::move(frame.submit.request);
  request.manual_credit = true;
  request.window = window.value_or(kAutoWindow);
  request.client = client_;
  if (frame.submit.notices) {
    request.on_notice = [weak = weak_from_this(),
                         alive = std::weak_ptr<Generation>(generation)](const Notice& notice) {
      const auto self = weak.lock();
      const auto whose = alive.lock();
      if (self && whose) self->noticed(whose, notice);
    };
  }
  start(std::move(generation), std::move(request));
}

void Multiplexer::start(GenerationPtr generation, Request&& request) {
  generations_.emplace(generation->id, generation);
  state_->engine->async_submit(
      std::move(request),
      boost::asio::bind_executor(
          state_->executor, [self = shared_from_this(), generation = std::move(generation)](
                                error_code error, TokenStream stream) {
            self->guard([&] { self->submitted(generation, error, std::move(stream)); });
          }));
}

void Multiplexer::submitted(const GenerationPtr& generation, error_code error, TokenStream stream) {
  if (generation->dropped) return;  // The stream dies here, and with it the generation.
  if (error) return refused(generation, error, stream.finish().error);
  generation->stream = std::move(stream);
  generation->accepted = true;
  generation->has_ended.resize(generation->left);
  answer(accepted_frame(generation->quoted_id, generation->stream.accepted()));
  if (generation->dropped) return;
  if (generation->cancel_wanted) generation->stream.cancel();
  read(generation);
}

void Multiplexer::refused(const GenerationPtr& generation, error_code error,
                          const ErrorInfo& info) {
  const std::string message = info.message.empty() ? error.message() : info.message;
  const int status = info ? info.status() : 500;
  answer(error_frame(generation->quoted_id, {status, message, info.param, info.retry_after}));
  forget(generation);
}

void Multiplexer::noticed(const GenerationPtr& generation, const Notice& notice) {
  if (!generation->accepted || generation->dropped) return;
  guard([&] { answer(notice_frame(generation->quoted_id, notice)); });
}

void Multiplexer::read(const GenerationPtr& generation) {
  generation->stream.async_next_batch(boost::asio::bind_executor(
      state_->executor,
      [self = shared_from_this(), generation](error_code error, std::vector<Token> tokens) {
        self->guard([&] { self->tokens_read(generation, error, std::move(tokens)); });
      }));
}

void Multiplexer::tokens_read(const GenerationPtr& generation, error_code error,
                              std::vector<Token>&& tokens) {
  if (generation->dropped) return;
  if (error || tokens.empty()) {
    generation->told_end = true;
    return feed_end(generation);
  }
  generation->ready = std::move(tokens);
  generation->next = 0;
  feed(generation);
}

bool Multiplexer::has_room(const GenerationPtr& generation) {
  if (outbox_.bytes() < state_->options.max_write_buffer) return true;
  waiting_for_room_.push_back(generation);
  return false;
}

void Multiplexer::feed(const GenerationPtr& generation) {
  while (generation->next < generation->ready.size()) {
    if (!has_room(generation)) return;
    const Token& token = generation->ready[generation->next++];
    push({token_frame(generation->quoted_id, token, state_->tokenizer.get()), generation});
    if (generation->dropped) return;  // The connection failed in between.
    end_choice(generation, token);
    if (generation->dropped) return;
  }
  generation->ready.clear();
  generation->next = 0;
  read(generation);
}

/// A choice's done frame follows its last token; the last choice waits for the whole end.
void Multiplexer::end_choice(const GenerationPtr& generation, const Token& last) {
  const bool ends = last.finish_reason != FinishReason::none && generation->left > 1;
  if (!ends || last.index >= generation->has_ended.size()) return;
  ChoiceDone done;
  done.index = last.index;
  done.reason = last.finish_reason;
  const Finish finish = generation->stream.finish();
  if (last.index < finish.choices.size()) {
    done.stop = finish.choices[last.index].stop;
    done.stop_token = finish.choices[last.index].stop_token;
  }
  generation->has_ended[last.index] = true;
  --generation->left;
  push({done_frame(generation->quoted_id, done, nullptr, nullptr), nullptr});
}

void Multiplexer::written(const OutgoingFrame& frame) {
  outbox_.written(frame);
  if (frame.token_of && frame.token_of->auto_credit && !frame.token_of->dropped) {
    frame.token_of->stream.add_credit(1);
  }
  while (!waiting_for_room_.empty() && outbox_.bytes() < state_->options.max_write_buffer) {
    const GenerationPtr generation = std::move(waiting_for_room_.front());
    waiting_for_room_.pop_front();
    if (generation->dropped) continue;
    if (generation->told_end) {
      feed_end(generation);
    } else {
      feed(generation);
    }
  }
}

/// The done frames of the choices that had none yet, the last one with the whole end.
void Multiplexer::feed_end(const GenerationPtr& generation) {
  if (!has_room(generation)) return;
  const Finish finish = generation->stream.finish();
  const bool by_us = generation->ended_by_us;
  for (std::uint32_t index = 0; index < generation->has_ended.size(); ++index) {
    if (generation->has_ended[index]) continue;
    ChoiceFinish choice;
    choice.reason = finish.reason;
    choice.error = finish.error;
    if (index < finish.choices.size()) choice = finish.choices[index];
    const ChoiceDone done = choice_done(index, choice, by_us);
    const bool last = --generation->left == 0;
    push(
        {done_frame(generation->quoted_id, done, last ? &finish : nullptr, state_->tokenizer.get()),
         nullptr});
    if (generation->dropped) return;
  }
  forget(generation);
}

/// Breaks the cycle stream -> pending read -> generation -> stream as well.
void Multiplexer::forget(const GenerationPtr& generation) {
  if (generation->dropped) return;
  generation->dropped = true;
  generation->stream = TokenStream();
  generations_.erase(generation->id);
  close_if_drained();
}

void Multiplexer::credit(const ClientFrame& frame) {
  const auto found = generations_.find(frame.id);
  if (found == generations_.end()) return;  // It ended while the credit was under way.
  if (found->second->auto_credit) {
    return refuse(frame.id, 400, "credit needs a submit with a window", "tokens");
  }
  found->second->stream.add_credit(frame.tokens);
}

void Multiplexer::cancel(const std::string& id) {
  const auto found = generations_.find(id);
  if (found == generations_.end()) return;  // It ended by itself.
  found->second->cancel_wanted = true;
  found->second->stream.cancel();
}

void Multiplexer::refuse(std::string_view id, int status, std::string_view message,
                         std::string_view param) {
  const std::string quoted_id = id.empty() ? std::string() : json_string(id);
  answer(error_frame(quoted_id, {status, message, param, 0}));
}

void Multiplexer::push(OutgoingFrame frame) {
  if (transport_ == nullptr) return;
  outbox_.push(std::move(frame));
  transport_->frames_ready();
}

/// A client that sends without reading gets at most one buffer of answers.
void Multiplexer::answer(std::string text) {
  if (transport_ == nullptr) return;
  if (outbox_.answer_bytes() > state_->options.max_write_buffer) {
    transport_->close(1013, "answers are not read", false);
    return;
  }
  push({std::move(text), nullptr, true});
}

void Multiplexer::drain() {
  draining_ = true;
  close_if_drained();
}

void Multiplexer::close_if_drained() {
  if (draining_ && generations_.empty() && transport_ != nullptr) {
    transport_->close(1001, "the server is shutting down", true);
  }
}

void Multiplexer::end_generations() {
  for (const auto& [id, generation] : generations_) {
    generation->ended_by_us = true;
    generation->cancel_wanted = true;
    generation->stream.cancel();
  }
}

void Multiplexer::abandon() {
  transport_ = nullptr;
  waiting_for_room_.clear();
  const auto generations = std::exchange(generations_, {});
  for (const auto& [id, generation] : generations) {
    generation->dropped = true;
    generation->stream = TokenStream();
  }
  while (!outbox_.empty()) outbox_.written(outbox_.pop());
}

}  // namespace tickertape::net
