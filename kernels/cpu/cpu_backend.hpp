// CpuBackend: passes over a paged KV pool on the processor.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include <tickertape/backend.hpp>
#include <tickertape/options.hpp>
#include <tickertape/parallel.hpp>

#include "kernels/cpu/decoder_pass.hpp"
#include "kernels/cpu/kv_pages.hpp"
#include "kernels/cpu/output_head.hpp"
#include "kernels/cpu/slots.hpp"
#include "kernels/cpu/weights.hpp"
#include "kernels/models/decoder_spec.hpp"

namespace tickertape::kernels::cpu {

/// Synchronous: forward() computes on the calling thread as member 0 of `parallel`, and posts its
/// ticket before it returns.
class CpuBackend final : public Backend {
 public:
  /// REQUIRES: check_options(*spec, options) did not throw.
  CpuBackend(std::shared_ptr<const models::DecoderSpec> spec,
             std::shared_ptr<const CpuWeights> weights, const BackendOptions& options,
             BackendHost& host, Parallel& parallel);

  const BackendInfo& info() const noexcept override { return info_; }
  void forward(Ticket ticket, const Batch& batch) override;
  void copy_pages(Ticket ticket, std::span<const PageMove> moves) override;
  void swap_out(Ticket ticket, std::span<const PageMove> moves) override;
  void swap_in(Ticket ticket, std::span<const PageMove> moves) override;
  BatchResult take(Ticket ticket) override;

 private:
  void check(const Batch& batch) const;
  [[nodiscard]] BatchResult compute(const Batch& batch);
  void complete(Ticket ticket, BatchResult result);

  std::shared_ptr<const models::DecoderSpec> spec_;
  std::shared_ptr<const CpuWeights> weights_;
  const KernelTable& kernels_;
  BackendHost& host_;
  Parallel& parallel_;
  std::uint32_t max_slice_tokens_;
  KvPages pages_;
  Slots slots_;
  DecoderPass pass_;
  OutputHead head_;
  PassSlice slice_;
  BackendInfo info_;
  std::vector<std::pair<Ticket, BatchResult>> results_;
};

/// Throws Error(Errc::invalid_request) that names the option and its bounds.
void check_options(const models::DecoderSpec& spec, const BackendOptions& options);

/// REQUIRES: check_options(*spec, options) did not throw.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(
    std::shared_ptr<const models::DecoderSpec> spec, std::shared_ptr<const CpuWeights> weights,
    const BackendOptions& options, BackendHost& host, Parallel& parallel);

}  // namespace tickertape::kernels::cpu
