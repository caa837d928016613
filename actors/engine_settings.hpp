// Engine settings: what an Engine makes of its options, and which it refuses.
#pragma once
#include <tickertape/backend.hpp>
#include <tickertape/model.hpp>
#include <tickertape/options.hpp>

#include "actors/intake.hpp"
#include "actors/lane.hpp"

namespace tickertape::actors {

/// Fills in the defaults that depend on other options. Throws Error(Errc::invalid_request) naming
/// the option at fault.
[[nodiscard]] EngineOptions resolve(EngineOptions options);

[[nodiscard]] BackendOptions backend_options(const EngineOptions& options);

/// The context in force. Throws Error when an explicit one exceeds the model's or the pool.
[[nodiscard]] std::uint32_t resolve_max_model_len(const EngineOptions& options,
                                                  const ModelInfo& model,
                                                  const BackendInfo& backend);

[[nodiscard]] LaneOptions lane_options(const EngineOptions& options, const BackendInfo& backend,
                                       const Tokenizer* tokenizer);

[[nodiscard]] IntakeOptions intake_options(const EngineOptions& options, const BackendInfo& backend,
                                           std::uint32_t max_model_len, const Tokenizer* tokenizer);

}  // namespace tickertape::actors
