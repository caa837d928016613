// SimulatedBackend: passes that take time and compute nothing.
#pragma once
#include <cstdint>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/options.hpp>
#include <tickertape/simulated.hpp>

#include "kernels/fake/completions.hpp"

namespace tickertape::kernels::fake {

/// See make_simulated_model. The device works through passes and copies one after the other; the
/// link does so with swaps. A swap begins when the passes before it are done, since they may use
/// its pages; a later pass waits only for the swaps of pages that it uses.
class SimulatedBackend final : public Backend {
 public:
  SimulatedBackend(const SimulatedOptions& options, const BackendOptions& backend_options,
                   BackendHost& host);

  [[nodiscard]] const BackendInfo& info() const noexcept override { return info_; }
  void forward(Ticket ticket, const Batch& batch) override;
  void copy_pages(Ticket ticket, std::span<const PageMove> moves) override;
  void swap_out(Ticket ticket, std::span<const PageMove> moves) override;
  void swap_in(Ticket ticket, std::span<const PageMove> moves) override;
  [[nodiscard]] BatchResult take(Ticket ticket) override;

 private:
  struct Slot {
    std::uint64_t seed = 0;
    std::uint32_t prompt_length = 0;
    std::uint32_t output_tokens = 0;
    std::uint32_t min_tokens = 0;
  };

  [[nodiscard]] TokenId token_after(const Slot& slot, std::uint32_t position) const noexcept;
  void run_row(const Row& row, const Batch& batch, BatchResult& result) const;
  /// When the device is free and the pages of `batch` are in place.
  [[nodiscard]] std::int64_t start_of(const Batch& batch) const;
  void use_link(Ticket ticket, std::span<const PageMove> moves, PageId PageMove::* device_page);

  BackendHost& host_;
  BackendInfo info_;
  PassTimer timer_;
  Completions completions_;
  std::vector<Slot> slots_;
  std::vector<std::int64_t> page_ready_ns_;  ///< When the last swap of a page is done.
  std::int64_t device_busy_until_ns_ = 0;
  std::int64_t link_busy_until_ns_ = 0;
};

}  // namespace tickertape::kernels::fake
