// PagedFakeBackend: passes over pages of token ids, with a suspicious eye on the host.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/fake.hpp>
#include <tickertape/options.hpp>

#include "kernels/fake/completions.hpp"
#include "kernels/fake/fake_law.hpp"
#include "kernels/fake/paged_memory.hpp"

namespace tickertape::kernels::fake {

/// See make_paged_fake_model. A broken contract is counted and told to the probe; the pass goes on
/// with what there is, as a device would.
class PagedFakeBackend final : public Backend {
 public:
  PagedFakeBackend(const PagedFakeOptions& options, const BackendOptions& backend_options,
                   BackendHost& host);

  [[nodiscard]] const BackendInfo& info() const noexcept override { return info_; }
  void forward(Ticket ticket, const Batch& batch) override;
  void copy_pages(Ticket ticket, std::span<const PageMove> moves) override;
  void swap_out(Ticket ticket, std::span<const PageMove> moves) override;
  void swap_in(Ticket ticket, std::span<const PageMove> moves) override;
  [[nodiscard]] BatchResult take(Ticket ticket) override;

 private:
  /// What is known of the sequence in a slot.
  struct Slot {
    bool open = false;
    bool spoiled = false;  ///< A pass with a row of it failed: its places hold anything.
    OpenedSlot opened;
    std::vector<TokenId> tokens;      ///< As opened, then as the rows said.
    std::uint32_t next_position = 0;  ///< One past the last row.
    bool has_row = false;             ///< Since it was opened.
    bool has_sample = false;
    bool one_sample = false;  ///< The last sampling row gave one token, no drafts.
    TokenId last_sample = 0;
    std::uint32_t sample_position = 0;  ///< Where the sampled token belongs.
    std::uint64_t row_generation = 0;   ///< The pass of its last row.
  };

  /// A row with its index resolved. `ids` has one more entry than tokens for all_logprobs.
  struct RowView {
    const Row* row = nullptr;
    Slot* slot = nullptr;  ///< Never null: a slot that is out of range gets a spare one.
    std::vector<std::span<const PageId>> tables;  ///< By layer group.
    std::vector<TokenId> ids;
    std::span<const std::uint64_t> mask;
  };

  /// The pages of a layer group.
  struct Group {
    std::uint32_t window = 0;
    PagedMemory device;
    PagedMemory host;
  };

  void close_and_open(const Batch& batch);
  void open_slot(const OpenedSlot& opened, const Batch& batch);
  [[nodiscard]] BatchResult run_pass(const Batch& batch);

  [[nodiscard]] RowView view_row(const Batch& batch, std::size_t index);
  [[nodiscard]] std::span<const PageId> view_table(const Batch& batch, const PageTables& tables,
                                                   std::size_t index);
  void view_ids(const Batch& batch, RowView& view);
  void check_row(const RowView& view);

  /// Reads [0, end) through the tables and calls visit(position, history, is_same) after each:
  /// whether what the windows show so far agrees.
  template <class Visit>
  void read_back(const RowView& view, std::uint32_t end, Visit visit);
  [[nodiscard]] std::string check_place(const RowView& view, std::size_t group,
                                        std::uint32_t position, HistoryHash history) const;
  void write_row(RowView& view, HistoryHash history);
  void write_place(const RowView& view, std::size_t group, const TokenPlace& token);
  void note_token(Slot& slot, const Row& row, std::uint32_t position, TokenId id);

  void give_output(const RowView& view, BatchResult& result);
  void give_position(const RowView& view, std::uint32_t position, HistoryHash history,
                     BatchResult& result);
  [[nodiscard]] FakeBounds bounds_at(const RowView& view, std::uint32_t position) const;
  /// The token that the slot's LogitProcessor makes of the law's; sets the row's fault if it fails.
  [[nodiscard]] TokenId process(const RowView& view, std::uint32_t position, TokenId token,
                                RowResult& row) const;
  void give_sample(const RowView& view, std::uint32_t position, TokenId token, BatchResult& result);
  void give_logprobs(const RowView& view, HistoryHash history, TokenId token, BatchResult& result);
  void give_hidden(HistoryHash history, BatchResult& result);

  void move_pages(Ticket ticket, std::span<const PageMove> moves, PagedMemory Group::* from,
                  PagedMemory Group::* to, std::atomic<std::uint64_t>& counter,
                  std::int64_t duration_ns);
  void swap_pages(Ticket ticket, std::span<const PageMove> moves, PagedMemory Group::* from,
                  PagedMemory Group::* to, std::atomic<std::uint64_t>& counter);
  void complete(Ticket ticket, BatchResult result, std::int64_t duration_ns);
  void violation(const std::string& message) { probe_->report(message); }

  PagedFakeOptions options_;
  BackendHost& host_;
  BackendInfo info_;
  std::shared_ptr<PagedFakeProbe> probe_;
  FakeLaw law_;
  std::vector<Group> groups_;
  Completions completions_;
  std::vector<Slot> slots_;
  Slot spare_slot_;
  std::uint64_t num_forwards_ = 0;
  std::uint64_t num_swaps_ = 0;
};

}  // namespace tickertape::kernels::fake
