// Backend: whatever runs a forward pass, and the little it sees of its host.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tickertape/batch.hpp>

namespace tickertape {

using Ticket = std::uint64_t;  ///< Names one submitted operation; the host chooses it.

/// What a backend sees of the engine. Implemented over the lane's scheduler, so that a fake runs in
/// virtual time and a device's completions may come from foreign threads.
class BackendHost {
 public:
  virtual ~BackendHost() = default;
  /// Monotonic time in nanoseconds. Any thread.
  [[nodiscard]] virtual std::int64_t now() const = 0;
  /// Tells the lane that operation `ticket` is complete. Any thread, also inside forward().
  virtual void post(Ticket ticket) = 0;
  /// post() at time `when_ns`. Lane only.
  virtual void post_at(Ticket ticket, std::int64_t when_ns) = 0;
  /// A sign of life, at least once per layer: /ready is judged by it. Any thread; cheap.
  virtual void beat() noexcept = 0;
  /// True once the engine wants to end: a pass may then be abandoned. Any thread; cheap.
  [[nodiscard]] virtual bool stop_requested() const noexcept = 0;
};

/// Layers that keep the same range of tokens. A sequence has one page table per group.
struct LayerGroup {
  std::uint32_t num_layers = 0;
  std::uint32_t window = 0;        ///< Tokens that a token sees, itself included; 0 = all.
  std::size_t bytes_per_page = 0;  ///< K and V of page_size tokens, all layers of the group.
  std::uint32_t num_pages = 0;     ///< On the device; 0 = BackendInfo::num_pages.
};

struct BackendInfo {
  std::string name;    ///< "cpu", "cuda", "scripted", ...
  std::string device;  ///< For people: "AMD EPYC, avx2, 2 threads".
  /// forward() returns before the pass is done. The passes of a second plan may be submitted while
  /// those of the first are under way, their rows' tokens told by RowSource::last_token_of.
  bool asynchronous = false;
  std::uint32_t page_size = 16;      ///< Tokens per page; a power of two.
  std::uint32_t num_pages = 0;       ///< Pages per layer group on the device.
  std::uint32_t num_host_pages = 0;  ///< The same of the swap pool; 0 = no swap.
  std::uint32_t vocab_size = 0;      ///< Width of the logits.
  std::uint32_t embedding_size = 0;  ///< Width of `hidden` outputs.
  std::vector<LayerGroup> groups;    ///< The first one sees all tokens; further ones have windows.
};

/// `from` and `to` are pages of one layer group. For swaps one of the two is a host page.
struct PageMove {
  std::uint32_t group = 0;
  PageId from = 0;
  PageId to = 0;
};

/// A device that runs passes over a paged KV pool. All members are called on the engine's lane.
///
/// Operations take effect in the order they are submitted: pages that an operation reads may be
/// given away, and written, by a later one. Each operation posts its ticket to the host exactly
/// once, also when it fails; take() then gives the outcome. Nothing here throws.
///
/// A batch's row gives the same result whatever else is in the batch (design: "Same tokens").
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual const BackendInfo& info() const noexcept = 0;

  /// Runs one pass. `batch` is only valid during the call: a backend copies what it needs later.
  virtual void forward(Ticket ticket, const Batch& batch) = 0;

  /// Copies pages on the device (copy-on-write), in any order: no move reads what another writes.
  virtual void copy_pages(Ticket ticket, std::span<const PageMove> moves) = 0;

  /// Moves pages' bytes to the host pool, or back. The layout of a page is private to the backend.
  virtual void swap_out(Ticket ticket, std::span<const PageMove> moves) = 0;
  virtual void swap_in(Ticket ticket, std::span<const PageMove> moves) = 0;

  /// The outcome of a completed operation, once. REQUIRES: its ticket was posted.
  [[nodiscard]] virtual BatchResult take(Ticket ticket) = 0;
};

}  // namespace tickertape
