// The pass of the paged fake: read back, write, read back again, give outputs.
#include "kernels/fake/paged_fake_backend.hpp"

#include <algorithm>
#include <utility>

#include "kernels/fake/fake_info.hpp"
#include "kernels/sampling/logit_steps.hpp"
#include "kernels/sampling/slot_sampling.hpp"

namespace tickertape::kernels::fake {
namespace {

[[nodiscard]] std::string name_of(const Row& row) {
  return "slot " + std::to_string(row.slot);
}

[[nodiscard]] std::string at(std::uint32_t position, std::size_t group = 0) {
  const std::string where = " at position " + std::to_string(position);
  return group == 0 ? where : where + " in layer group " + std::to_string(group);
}

/// The first position that a token at `position` sees.
[[nodiscard]] std::uint32_t first_visible(std::uint32_t window, std::uint32_t position) {
  return window == 0 || position < window ? 0 : position + 1 - window;
}

[[nodiscard]] BatchResult make_failure(std::string fault) {
  BatchResult result;
  result.status = PassStatus::failed;
  result.fault = std::move(fault);
  return result;
}

}  // namespace

PagedFakeBackend::PagedFakeBackend(const PagedFakeOptions& options,
                                   const BackendOptions& backend_options, BackendHost& host)
    : options_(options),
      host_(host),
      info_(make_fake_info("paged_fake", backend_options, options.vocab_size)),
      probe_(options.probe ? options.probe : std::make_shared<PagedFakeProbe>()),
      law_(options),
      completions_(host),
      slots_(backend_options.max_num_seqs) {
  info_.asynchronous = options_.pass_ns > 0 || options_.token_ns > 0;
  info_.embedding_size = options_.embedding_size;
  info_.groups.insert(info_.groups.end(), options_.windows.begin(), options_.windows.end());
  for (const LayerGroup& group : info_.groups) {
    const std::uint32_t num_pages = group.num_pages > 0 ? group.num_pages : info_.num_pages;
    groups_.push_back(Group{group.window, PagedMemory(num_pages, info_.page_size),
                            PagedMemory(info_.num_host_pages, info_.page_size)});
  }
}

void PagedFakeBackend::forward(Ticket ticket, const Batch& batch) {
  const std::uint64_t index = num_forwards_++;
  probe_->forwards.fetch_add(1);
  probe_->keep(batch);
  host_.beat();
  const std::int64_t duration_ns = options_.pass_ns + options_.token_ns * batch.num_tokens();
  close_and_open(batch);
  if (host_.stop_requested()) {
    BatchResult result;
    result.status = PassStatus::abandoned;
    complete(ticket, std::move(result), 0);
  } else if (std::count(options_.fail_at.begin(), options_.fail_at.end(), index) > 0) {
    for (const Row& row : batch.rows) slots_.at(row.slot).spoiled = true;
    complete(ticket, make_failure("pass " + std::to_string(index) + " was told to fail"),
             duration_ns);
  } else {
    complete(ticket, run_pass(batch), duration_ns);
  }
}

void PagedFakeBackend::close_and_open(const Batch& batch) {
  for (const SlotId slot : batch.closed) {
    if (slot >= slots_.size()) {
      violation("closed slot " + std::to_string(slot) + " does not exist");
      continue;
    }
    slots_[slot] = Slot{};
  }
  for (const OpenedSlot& opened : batch.opened) open_slot(opened, batch);
}

void PagedFakeBackend::open_slot(const OpenedSlot& opened, const Batch& batch) {
  const std::string name = "opened slot " + std::to_string(opened.slot);
  if (opened.slot >= slots_.size()) return violation(name + " does not exist");
  if (opened.first_token > batch.opened_ids.size() ||
      opened.num_tokens > batch.opened_ids.size() - opened.first_token) {
    return violation(name + " has tokens outside of opened_ids");
  }
  if (opened.prompt_length == 0 || opened.prompt_length > opened.num_tokens) {
    violation(name + " has a prompt_length outside of its tokens");
  }
  Slot& slot = slots_[opened.slot];
  slot = Slot{};
  slot.open = true;
  slot.opened = opened;
  const auto first = batch.opened_ids.begin() + opened.first_token;
  slot.tokens.assign(first, first + opened.num_tokens);
}

BatchResult PagedFakeBackend::run_pass(const Batch& batch) {
  if (batch.page_tables.size() != info_.groups.size()) {
    violation("the batch has " + std::to_string(batch.page_tables.size()) + " page tables");
    return make_failure("malformed batch");
  }
  std::vector<RowView> views;
  std::vector<HistoryHash> histories;
  for (std::size_t index = 0; index < batch.rows.size(); ++index) {
    views.push_back(view_row(batch, index));
    check_row(views.back());
    HistoryHash& history = histories.emplace_back();
    read_back(views.back(), views.back().row->first_position,
              [&](std::uint32_t, HistoryHash now, bool) { history = now; });
  }
  for (std::size_t index = 0; index < views.size(); ++index) {
    write_row(views[index], histories[index]);
  }
  BatchResult result;
  for (const RowView& view : views) give_output(view, result);
  return result;
}

PagedFakeBackend::RowView PagedFakeBackend::view_row(const Batch& batch, std::size_t index) {
  RowView view;
  view.row = &batch.rows[index];
  if (view.row->slot < slots_.size()) {
    view.slot = &slots_[view.row->slot];
  } else {
    violation(name_of(*view.row) + " does not exist");
    spare_slot_ = Slot{};
    view.slot = &spare_slot_;
  }
  for (const PageTables& tables : batch.page_tables) {
    view.tables.push_back(view_table(batch, tables, index));
  }
  view_ids(batch, view);
  if (view.row->mask >= 0) {
    if (static_cast<std::size_t>(view.row->mask) < batch.masks.size()) {
      view.mask = batch.masks[static_cast<std::size_t>(view.row->mask)];
    } else {
      violation(name_of(*view.row) + " has a mask that does not exist");
    }
  }
  return view;
}

std::span<const PageId> PagedFakeBackend::view_table(const Batch& batch, const PageTables& tables,
                                                     std::size_t index) {
  if (tables.offsets.size() == batch.rows.size() + 1) {
    const std::uint32_t first = tables.offsets[index];
    const std::uint32_t last = tables.offsets[index + 1];
    if (first <= last && last <= tables.pages.size()) {
      return std::span(tables.pages).subspan(first, last - first);
    }
  }
  violation(name_of(batch.rows[index]) + " has a malformed page table");
  return {};
}

void PagedFakeBackend::view_ids(const Batch& batch, RowView& view) {
  const Row& row = *view.row;
  const std::uint32_t count = row.num_tokens + (row.output == RowOutput::all_logprobs ? 1 : 0);
  if (row.source == RowSource::ids) {
    if (row.first_id <= batch.ids.size() && count <= batch.ids.size() - row.first_id) {
      const auto first = batch.ids.begin() + row.first_id;
      view.ids.assign(first, first + count);
    } else {
      violation(name_of(row) + " has ids outside of Batch::ids");
    }
  } else {
    const Slot* source = row.source_slot < slots_.size() ? &slots_[row.source_slot] : nullptr;
    // After a row that came to nothing nobody looks at the next one, which may be planned already.
    const bool is_wrong =
        source == nullptr || (!source->spoiled && (!source->has_sample || row.num_tokens != 1 ||
                                                   source->sample_position != row.first_position));
    if (is_wrong) {
      violation(name_of(row) + " wants the last token of slot " + std::to_string(row.source_slot) +
                at(row.first_position) + ", which did not sample one for it");
    }
    if (source != nullptr) view.ids.push_back(source->last_sample);
  }
  view.ids.resize(count, -1);
}

void PagedFakeBackend::check_row(const RowView& view) {
  const Row& row = *view.row;
  Slot& slot = *view.slot;
  if (!slot.open) violation(name_of(row) + " was never opened");
  if (slot.row_generation == num_forwards_) violation(name_of(row) + " has two rows");
  slot.row_generation = num_forwards_;
  if (row.num_tokens == 0) violation(name_of(row) + " has a row without tokens");
  if (row.num_outputs > row.num_tokens) violation(name_of(row) + " has more outputs than tokens");
  if (row.output != RowOutput::none && row.num_outputs == 0) {
    violation(name_of(row) + " wants an output of no position");
  }
  if (row.num_tokens > options_.max_model_len ||
      row.first_position > options_.max_model_len - row.num_tokens) {
    violation(name_of(row) + " goes beyond max_model_len" + at(row.first_position));
  }
  if (slot.has_row && !slot.spoiled && row.first_position > slot.next_position) {
    violation(name_of(row) + " leaves a hole before position " +
              std::to_string(row.first_position));
  }
  for (std::uint32_t i = 0; i < row.num_tokens; ++i) {
    if (view.ids[i] < 0 || static_cast<std::uint32_t>(view.ids[i]) >= options_.vocab_size) {
      violation(name_of(row) + " has an id outside of the vocabulary" + at(row.first_position + i));
    }
  }
}

template <class Visit>
void PagedFakeBackend::read_back(const RowView& view, std::uint32_t end, Visit visit) {
  HistoryHash history;
  bool told = false;    // One wrong place makes all later ones wrong too.
  bool is_same = true;  // In all groups, so far.
  const auto look = [&](std::size_t group, std::uint32_t position) {
    if (told) return;
    const std::string wrong = check_place(view, group, position, history);
    told = !wrong.empty();
    if (told) violation(name_of(*view.row) + " reads " + wrong + at(position, group));
  };
  for (std::uint32_t position = 0; position < end; ++position) {
    const TokenPlace* place = groups_[0].device.find(view.tables[0], position);
    const TokenId id = place == nullptr ? -1 : place->id;
    history.push(id);
    look(0, position);
    for (std::size_t group = 1; group < groups_.size(); ++group) {
      if (position < first_visible(groups_[group].window, view.row->first_position)) continue;
      look(group, position);
      const TokenPlace* other = groups_[group].device.find(view.tables[group], position);
      is_same = is_same && other != nullptr && other->id == id;
    }
    visit(position, history, is_same);
  }
}

std::string PagedFakeBackend::check_place(const RowView& view, std::size_t group,
                                          std::uint32_t position, HistoryHash history) const {
  const std::span<const PageId> table = view.tables[group];
  const TokenPlace* place = groups_[group].device.find(table, position);
  if (place == nullptr) {
    const std::uint32_t index = position / info_.page_size;
    const bool released = index < table.size() && table[index] == kNoPage;
    return released ? "a released page" : "outside of the pages";
  }
  if (view.slot->spoiled || place->spoiled) return {};
  if (place->generation == 0) return "a place never written";
  if (place->position != position) return "a place written for another position";
  const std::vector<TokenId>& tokens = view.slot->tokens;
  if (position < tokens.size() && tokens[position] != place->id) return "another sequence's token";
  if (place->history != history) return "a place written after another history";
  if (position < view.row->first_position && place->generation == num_forwards_) {
    return "a place that another row of the pass writes";
  }
  return {};
}

void PagedFakeBackend::write_row(RowView& view, HistoryHash history) {
  const Row& row = *view.row;
  probe_->tokens.fetch_add(row.num_tokens);
  for (std::uint32_t i = 0; i < row.num_tokens; ++i) {
    const std::uint32_t position = row.first_position + i;
    history.push(view.ids[i]);
    note_token(*view.slot, row, position, view.ids[i]);
    const TokenPlace token{view.ids[i], position, history, num_forwards_, false};
    for (std::size_t group = 0; group < groups_.size(); ++group) write_place(view, group, token);
  }
  view.slot->next_position = row.first_position + row.num_tokens;
  view.slot->has_row = true;
}

void PagedFakeBackend::write_place(const RowView& view, std::size_t group,
                                   const TokenPlace& token) {
  TokenPlace* place = groups_[group].device.find_for_write(view.tables[group], token.position);
  if (place == nullptr) {
    return violation(name_of(*view.row) + " writes outside of the pages" +
                     at(token.position, group));
  }
  if (place->generation == num_forwards_) {
    violation(name_of(*view.row) + " writes a place that another row of the pass writes" +
              at(token.position, group));
  }
  *place = token;
}

void PagedFakeBackend::note_token(Slot& slot, const Row& row, std::uint32_t position, TokenId id) {
  if (position < slot.opened.num_tokens && position < slot.tokens.size()) {
    if (slot.tokens[position] != id) {
      violation(name_of(row) + " has another id than it was opened with" + at(position));
    }
    return;
  }
  // Rows without output may be padding, which is written over later.
  if (slot.has_sample && slot.one_sample && position == slot.sample_position &&
      id != slot.last_sample && row.output != RowOutput::none) {
    violation(name_of(row) + " has another id than was sampled" + at(position));
  }
  // Drafts that were not accepted are written over.
  if (position < slot.tokens.size()) slot.tokens.resize(position);
  if (position == slot.tokens.size()) slot.tokens.push_back(id);
}

void PagedFakeBackend::give_output(const RowView& view, BatchResult& result) {
  const Row& row = *view.row;
  RowResult out;
  out.first_token = static_cast<std::uint32_t>(result.tokens.size());
  out.first_logprob = static_cast<std::uint32_t>(result.logprobs.size());
  out.first_hidden = static_cast<std::uint32_t>(result.hidden.size());
  result.rows.push_back(out);
  if (row.output == RowOutput::none) return;
  const std::uint32_t end = row.first_position + row.num_tokens;
  const std::uint32_t first = end - std::min(row.num_outputs, row.num_tokens);
  read_back(view, end, [&](std::uint32_t position, HistoryHash history, bool is_same) {
    if (!is_same) history.push(-1);
    if (position >= first) give_position(view, position, history, result);
  });
  RowResult& given = result.rows.back();
  if (given.bad_numbers || !given.fault.empty()) {
    view.slot->spoiled = true;
    result.tokens.resize(out.first_token);
    result.logprobs.resize(out.first_logprob);
  }
  given.num_tokens = static_cast<std::uint32_t>(result.tokens.size()) - out.first_token;
  given.num_logprobs = static_cast<std::uint32_t>(result.logprobs.size()) - out.first_logprob;
}

void PagedFakeBackend::give_position(const RowView& view, std::uint32_t position,
                                     HistoryHash history, BatchResult& result) {
  const Row& row = *view.row;
  if (row.output == RowOutput::hidden) return give_hidden(history, result);
  if (row.output == RowOutput::all_logprobs) {
    const TokenId next = view.ids[position - row.first_position + 1];
    if (next >= 0) return give_logprobs(view, history, next, result);
  }
  const OpenedSlot& opened = view.slot->opened;
  const FakeDraw draw{opened.sampling.temperature, opened.seed, opened.choice, position};
  const FakeSample sample = law_.sample(history, draw, bounds_at(view, position));
  RowResult& given = result.rows.back();
  if (sample.bad_numbers) {
    given.bad_numbers = true;
    return;
  }
  TokenId token = sample.token;
  if (token < 0) given.fault = "no token is possible: min_tokens and the mask leave none";
  if (token >= 0 && opened.processor) token = process(view, position, token, given);
  if (!given.fault.empty()) return;
  give_sample(view, position, token, result);
  if (row.num_logprobs >= 0 || row.output == RowOutput::all_logprobs) {
    give_logprobs(view, history, token, result);
  }
}

FakeBounds PagedFakeBackend::bounds_at(const RowView& view, std::uint32_t position) const {
  const OpenedSlot& opened = view.slot->opened;
  FakeBounds bounds{view.mask, {}};
  const std::uint64_t end = std::uint64_t{opened.prompt_length} + opened.sampling.min_tokens;
  if (position + 1 < end) bounds.suppressed = opened.suppressed;
  return bounds;
}

TokenId PagedFakeBackend::process(const RowView& view, std::uint32_t position, TokenId token,
                                  RowResult& row) const {
  const Slot& slot = *view.slot;
  const std::size_t num_known =
      std::min<std::size_t>(slot.tokens.size(), position + std::size_t{1});
  const auto tokens = std::span(slot.tokens).first(num_known);
  std::vector<float> logits = law_.logits(token, bounds_at(view, position));
  sampling::TokenHistory scratch;
  row.fault = sampling::run_processor(sampling::SlotSampling(slot.opened, tokens),
                                      static_cast<std::uint32_t>(num_known), logits, scratch);
  const auto best = std::max_element(logits.begin(), logits.end());
  return static_cast<TokenId>(best - logits.begin());
}

void PagedFakeBackend::give_sample(const RowView& view, std::uint32_t position, TokenId token,
                                   BatchResult& result) {
  probe_->samples.fetch_add(1);
  result.tokens.push_back(token);
  Slot& slot = *view.slot;
  slot.has_sample = true;
  slot.one_sample = view.row->num_outputs == 1;
  slot.last_sample = token;
  slot.sample_position = position + 1;
}

void PagedFakeBackend::give_logprobs(const RowView& view, HistoryHash history, TokenId token,
                                     BatchResult& result) {
  PositionLogprobs& out = result.logprobs.emplace_back();
  out.chosen = {token, law_.logprob(history, token)};
  out.first_top = static_cast<std::uint32_t>(result.top.size());
  out.num_top = std::min(static_cast<std::uint32_t>(std::max(view.row->num_logprobs, 0)),
                         options_.vocab_size);
  const auto best = static_cast<std::uint32_t>(law_.best(history));
  for (std::uint32_t rank = 0; rank < out.num_top; ++rank) {
    const auto id = static_cast<TokenId>((best + rank) % options_.vocab_size);
    result.top.push_back({id, law_.logprob(history, id)});
  }
}

void PagedFakeBackend::give_hidden(HistoryHash history, BatchResult& result) {
  for (std::uint32_t i = 0; i < options_.embedding_size; ++i) {
    const std::uint64_t word = HistoryHash::mix(history.value() + i + 2);
    result.hidden.push_back(static_cast<float>(word >> 40) * 0x1p-23F - 1.0F);
  }
}

void PagedFakeBackend::copy_pages(Ticket ticket, std::span<const PageMove> moves) {
  move_pages(ticket, moves, &Group::device, &Group::device, probe_->copied_pages, 0);
}

void PagedFakeBackend::swap_out(Ticket ticket, std::span<const PageMove> moves) {
  swap_pages(ticket, moves, &Group::device, &Group::host, probe_->swapped_out_pages);
}

void PagedFakeBackend::swap_in(Ticket ticket, std::span<const PageMove> moves) {
  swap_pages(ticket, moves, &Group::host, &Group::device, probe_->swapped_in_pages);
}

void PagedFakeBackend::swap_pages(Ticket ticket, std::span<const PageMove> moves,
                                  PagedMemory Group::* from, PagedMemory Group::* to,
                                  std::atomic<std::uint64_t>& counter) {
  const auto& failing = options_.fail_swap_at;
  if (std::find(failing.begin(), failing.end(), num_swaps_++) != failing.end()) {
    for (const PageMove& move : moves) {
      if (move.group < groups_.size()) (groups_[move.group].*to).spoil_page(move.to);
    }
    complete(ticket, make_failure("the swap was told to fail"), 0);
    return;
  }
  const auto count = static_cast<std::int64_t>(moves.size());
  move_pages(ticket, moves, from, to, counter, count * options_.swap_page_ns);
}

void PagedFakeBackend::move_pages(Ticket ticket, std::span<const PageMove> moves,
                                  PagedMemory Group::* from, PagedMemory Group::* to,
                                  std::atomic<std::uint64_t>& counter, std::int64_t duration_ns) {
  BatchResult result;
  for (const PageMove& move : moves) {
    Group* const group = move.group < groups_.size() ? &groups_[move.group] : nullptr;
    if (group == nullptr || !(group->*from).copy_page(move.from, group->*to, move.to)) {
      violation("a move from page " + std::to_string(move.from) + " to page " +
                std::to_string(move.to) + " names a page that does not exist");
      result = make_failure("no such page");
      continue;
    }
    counter.fetch_add(1);
  }
  complete(ticket, std::move(result), duration_ns);
}

void PagedFakeBackend::complete(Ticket ticket, BatchResult result, std::int64_t duration_ns) {
  if (info_.asynchronous) {
    completions_.post_after(ticket, std::move(result), duration_ns);
  } else {
    completions_.post(ticket, std::move(result));
  }
}

BatchResult PagedFakeBackend::take(Ticket ticket) {
  BatchResult result;
  if (completions_.take(ticket, result)) return result;
  violation("ticket " + std::to_string(ticket) + " has no outcome to take");
  return make_failure("no such ticket");
}

}  // namespace tickertape::kernels::fake
