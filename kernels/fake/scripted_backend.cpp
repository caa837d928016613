// Passes whose tokens stand in a script.
#include "kernels/fake/scripted_backend.hpp"

#include <algorithm>
#include <utility>

#include <tickertape/assert.hpp>

#include "kernels/fake/fake_info.hpp"
#include "kernels/fake/fake_logprobs.hpp"

namespace tickertape::kernels::fake {

float ScriptedAnswer::logprob_at(std::uint32_t place) const noexcept {
  return place < rule.logprobs.size() ? rule.logprobs[place] : kLogOfNineTenths;
}

const ScriptedAnswer& ScriptedAnswers::find(const std::string& prompt, std::uint32_t choice) const {
  const auto matches = [&](const ScriptedAnswer& answer) {
    return answer.rule.choice.value_or(choice) == choice &&
           prompt.find(answer.rule.match) != std::string::npos;
  };
  const auto found = std::find_if(answers.begin(), answers.end() - 1, matches);
  return *found;
}

TokenId ScriptedAnswers::token_at(const ScriptedAnswer& answer,
                                  std::uint32_t place) const noexcept {
  const std::size_t size = answer.tokens.size();
  if (answer.rule.repeat && size > 0) return answer.tokens[place % size];
  if (place < size) return answer.tokens[place];
  return answer.rule.end && !answer.rule.repeat && place == size ? end_token : filler;
}

ScriptedBackend::ScriptedBackend(std::shared_ptr<const ScriptedAnswers> answers,
                                 const BackendOptions& options, BackendHost& host)
    : answers_(std::move(answers)),
      host_(host),
      info_(make_fake_info("scripted", options, answers_->vocab_size)),
      completions_(host),
      slots_(options.max_num_seqs) {
  constexpr std::uint32_t kEmbeddingSize = 4;
  info_.asynchronous = true;
  info_.embedding_size = kEmbeddingSize;
}

ScriptedBackend::~ScriptedBackend() {
  ending_ = true;
  if (watcher_.joinable()) watcher_.join();
}

void ScriptedBackend::forward(Ticket ticket, const Batch& batch) {
  answers_->probe->forwards.fetch_add(1);
  host_.beat();
  for (const OpenedSlot& opened : batch.opened) open_slot(opened, batch);
  Pass pass;
  pass.duration_ns = static_cast<double>(answers_->tick_ns);
  for (const Row& row : batch.rows) run_row(row, batch, pass);
  if (pass.result.status == PassStatus::failed) {
    pass.result = BatchResult{PassStatus::failed, std::move(pass.result.fault), {}, {}, {}, {}, {}};
  }
  if (pass.blocked) {
    block(ticket, std::move(pass.result));
  } else {
    complete(ticket, std::move(pass.result), static_cast<std::int64_t>(pass.duration_ns));
  }
}

void ScriptedBackend::open_slot(const OpenedSlot& opened, const Batch& batch) {
  TICKERTAPE_ASSERT(opened.slot < slots_.size());
  TICKERTAPE_ASSERT(opened.prompt_length <= opened.num_tokens);
  TICKERTAPE_ASSERT(opened.first_token + opened.num_tokens <= batch.opened_ids.size());
  const std::string prompt = answers_->tokenizer->decode(
      std::span(batch.opened_ids).subspan(opened.first_token, opened.prompt_length));
  slots_[opened.slot] = {&answers_->find(prompt, opened.choice), opened.prompt_length};
}

void ScriptedBackend::run_row(const Row& row, const Batch& batch, Pass& pass) {
  TICKERTAPE_ASSERT(row.slot < slots_.size() && slots_[row.slot].answer != nullptr);
  TICKERTAPE_ASSERT(row.num_outputs <= row.num_tokens);
  const Slot& slot = slots_[row.slot];
  if (row.first_position < slot.prompt_length) {
    const std::uint32_t prompt_tokens =
        std::min(row.num_tokens, slot.prompt_length - row.first_position);
    pass.duration_ns += answers_->prefill_ns_per_token * prompt_tokens;
  }
  BatchResult& result = pass.result;
  RowResult out;
  out.first_token = static_cast<std::uint32_t>(result.tokens.size());
  out.first_logprob = static_cast<std::uint32_t>(result.logprobs.size());
  out.first_hidden = static_cast<std::uint32_t>(result.hidden.size());
  result.rows.push_back(out);
  for (std::uint32_t i = row.num_tokens - row.num_outputs; i < row.num_tokens; ++i) {
    const TokenId next =
        row.output == RowOutput::all_logprobs ? batch.ids[row.first_id + i + 1] : -1;
    if (row.output == RowOutput::hidden) {
      give_hidden(result);
    } else if (next >= 0) {
      give_logprobs(row, next, slot.answer->logprob_at(0), result);
    } else if (row.output != RowOutput::none) {
      give_token(row, slot, row.first_position + i, pass);
    }
  }
  RowResult& given = result.rows.back();
  if (given.bad_numbers) {
    result.tokens.resize(out.first_token);
    result.logprobs.resize(out.first_logprob);
  }
  given.num_tokens = static_cast<std::uint32_t>(result.tokens.size()) - out.first_token;
  given.num_logprobs = static_cast<std::uint32_t>(result.logprobs.size()) - out.first_logprob;
}

void ScriptedBackend::give_token(const Row& row, const Slot& slot, std::uint32_t position,
                                 Pass& pass) {
  const std::uint32_t place = std::max(position + 1, slot.prompt_length) - slot.prompt_length;
  const ScriptRule& rule = slot.answer->rule;
  if (rule.fault_at == place) {
    pass.result.status = PassStatus::failed;
    pass.result.fault = "the script says so";
  }
  pass.blocked |= rule.block_at == place;
  if (rule.nan_at == place) {
    pass.result.rows.back().bad_numbers = true;
    return;
  }
  answers_->probe->samples.fetch_add(1);
  const TokenId token = answers_->token_at(*slot.answer, place);
  pass.result.tokens.push_back(token);
  if (row.num_logprobs >= 0 || row.output == RowOutput::all_logprobs) {
    give_logprobs(row, token, slot.answer->logprob_at(place), pass.result);
  }
}

void ScriptedBackend::give_logprobs(const Row& row, TokenId token, float logprob,
                                    BatchResult& result) {
  push_logprobs(row, token, logprob, answers_->vocab_size, result);
}

void ScriptedBackend::give_hidden(BatchResult& result) {
  result.hidden.push_back(1);
  result.hidden.resize(result.hidden.size() + info_.embedding_size - 1, 0);
}

void ScriptedBackend::copy_pages(Ticket ticket, std::span<const PageMove>) {
  complete(ticket, {}, 0);
}

void ScriptedBackend::swap_out(Ticket ticket, std::span<const PageMove>) {
  complete(ticket, {}, 0);
}

void ScriptedBackend::swap_in(Ticket ticket, std::span<const PageMove>) {
  complete(ticket, {}, 0);
}

void ScriptedBackend::complete(Ticket ticket, BatchResult result, std::int64_t duration_ns) {
  {
    const std::lock_guard lock(mutex_);
    if (!held_.empty()) {
      held_.push_back(ticket);
      completions_.keep(ticket, std::move(result));
      return;
    }
  }
  completions_.post_after(ticket, std::move(result), duration_ns);
}

void ScriptedBackend::block(Ticket ticket, BatchResult result) {
  completions_.keep(ticket, std::move(result));
  const std::lock_guard lock(mutex_);
  held_.push_back(ticket);
  if (held_.size() > 1) return;  // It waits behind another blocked pass.
  if (watcher_.joinable()) watcher_.join();
  watcher_ = std::thread([this, number = answers_->probe->block()] { watch(number); });
}

void ScriptedBackend::watch(std::uint64_t number) {
  constexpr std::int64_t kLookForStopNs = 5'000'000;
  while (!answers_->probe->wait_released(number, kLookForStopNs)) {
    if (ending_) return;
    if (!host_.stop_requested()) continue;
    const std::lock_guard lock(mutex_);
    abandoned_ = held_.front();
    break;
  }
  const std::lock_guard lock(mutex_);
  for (const Ticket ticket : held_) host_.post(ticket);
  held_.clear();
}

BatchResult ScriptedBackend::take(Ticket ticket) {
  BatchResult result;
  const bool found = completions_.take(ticket, result);
  TICKERTAPE_ASSERT(found);
  const std::lock_guard lock(mutex_);
  if (abandoned_ == ticket) {
    result = {};
    result.status = PassStatus::abandoned;
  }
  return result;
}

}  // namespace tickertape::kernels::fake
