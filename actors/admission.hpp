// Admission: whether a waiting sequence may start now.
#pragma once
#include <cstdint>
#include <memory>

#include <tickertape/policy.hpp>

namespace tickertape::actors {

/// All known tokens of the candidate get pages now, and `spare` pages stay free.
[[nodiscard]] bool fits_now(const AdmissionInput& input, std::uint32_t spare = 0);

/// Admits when all known tokens fit now. A sequence that was preempted must also find a free page
/// to go on with, unless it is alone: so that a resumption is worth its recomputation.
[[nodiscard]] std::shared_ptr<const AdmissionPolicy> prompt_only_admission();

/// Admits when the pool could give everybody, the candidate included, the pages for their
/// max_tokens, those that several hold counted once: so nobody is ever preempted for pages.
[[nodiscard]] std::shared_ptr<const AdmissionPolicy> reserve_admission();

/// Gives each sequence the pages of max_model_len from the start: the contiguous buffers of servers
/// before paging, as a baseline. Sharing saves it nothing.
[[nodiscard]] std::shared_ptr<const AdmissionPolicy> max_len_admission();

/// Admits when the demand of the running set and the candidate stays within the pool at each of
/// some 16 distances ahead, from one token to the longest that is left: a sequence that still runs
/// then has the pages of its tokens, with the probability that the forecast gives it; demands are
/// taken as independent and their sum as normal, and its `quantile` (0 to 1) must be at most
/// num_pages * (1 - buffer). What fits even when everybody goes on to max_tokens is always
/// admitted, and an idle engine admits whatever fits now. Pages in SequenceView::shareable are
/// counted once. Throws Error unless 0 <= quantile <= 1 and 0 <= buffer < 1.
[[nodiscard]] std::shared_ptr<const AdmissionPolicy> predicted_admission(double quantile,
                                                                         double buffer);

}  // namespace tickertape::actors
