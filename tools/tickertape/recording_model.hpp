// RecordingModel: a model whose backends note every pass.
#pragma once
#include <cstdint>
#include <memory>
#include <tickertape/model.hpp>
#include <tickertape/pass_recorder.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tickertape::program {

/// What the backends of a RecordingModel saw. Written on the lane, read once the engine is gone.
struct Recording {
  std::unordered_map<std::uint64_t, std::uint64_t> request_of_seed;  ///< Filled before.
  std::int64_t zero_ns = 0;  ///< Of BackendHost's clock, which is the steady one.
  std::vector<TickRecord> ticks;
  std::vector<TickRow> rows;
  /// By request: when each of its tokens was computed.
  std::unordered_map<std::uint64_t, std::vector<std::int64_t>> sampled_ns;

  void add(const TickRecord& record, const std::vector<TickRow>& of_tick);
};

/// `model` with backends that write to `recording`; sequences are known by their seeds.
[[nodiscard]] std::shared_ptr<const Model> make_recording_model(
    std::shared_ptr<const Model> model, std::shared_ptr<Recording> recording);

}  // namespace tickertape::program
