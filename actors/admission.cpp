// Admission: whether a waiting sequence may start now.
#include "actors/admission.hpp"

#include <algorithm>

namespace tickertape::actors {
namespace {

class PromptOnly final : public AdmissionPolicy {
 public:
  bool admit(const AdmissionInput& input) const override {
    const bool resumes = input.candidate.preemptions > 0 && !input.running.empty();
    return fits_now(input, resumes ? 1 : 0);
  }
};

class Reserve final : public AdmissionPolicy {
 public:
  bool admit(const AdmissionInput& input) const override {
    const auto reserved = [&](const SequenceView& view) -> std::uint64_t {
      return pages_for(std::max(view.max_tokens, view.num_tokens), input.pool.page_size) -
             view.shareable;
    };
    std::uint64_t sum = input.pool.num_shared + reserved(input.candidate);
    for (const SequenceView& view : input.running) sum += reserved(view);
    return sum <= input.pool.num_pages && fits_now(input);
  }
};

class MaxLen final : public AdmissionPolicy {
 public:
  bool admit(const AdmissionInput& input) const override {
    return pages_for(tokens_at_start(input.candidate, input.pool), input.pool.page_size) <=
           input.pool.num_free;
  }
  std::uint32_t tokens_at_start(const SequenceView& candidate,
                                const PoolView& pool) const override {
    return std::max(candidate.num_tokens, pool.max_model_len);
  }
};

}  // namespace

bool fits_now(const AdmissionInput& input, std::uint32_t spare) {
  const std::uint64_t pages = pages_for(input.candidate.num_tokens, input.pool.page_size);
  return pages + spare <= std::uint64_t{input.pool.num_free} + input.candidate.shareable;
}

std::shared_ptr<const AdmissionPolicy> prompt_only_admission() {
  return std::make_shared<PromptOnly>();
}

std::shared_ptr<const AdmissionPolicy> reserve_admission() {
  return std::make_shared<Reserve>();
}

std::shared_ptr<const AdmissionPolicy> max_len_admission() {
  return std::make_shared<MaxLen>();
}

}  // namespace tickertape::actors
