// CallWriter and CallReader: the planner's calls as bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "actors/plan.hpp"
#include "actors/plan_digest.hpp"
#include "actors/record_bytes.hpp"
#include "actors/schedule_settings.hpp"

namespace tickertape::actors {

/// Why a recording ends where it does.
enum class RecordEnd : std::uint8_t {
  closed,  ///< The engine ended.
  limit    ///< It would have grown beyond its limit.
};

struct AddCall {
  NewRequest request;
  std::int64_t now_ns = 0;
};
struct PlanCall {
  std::int64_t now_ns = 0;
  PlanDigest digest;
};
using RecordedCall = std::variant<AddCall, Demand, ReaderEvent, PlanCall, RecordEnd>;

/// What both directions remember: times are told as differences, and the rows of a pass as
/// differences from what the last pass lets expect (a token of each sequence that goes on).
struct CallMemory {
  std::int64_t now_ns = 0;
  std::uint64_t tick = 0;
  std::vector<RowDone> expected;

  void remember(const std::vector<RowDone>& done);
};

class CallWriter {
 public:
  static constexpr std::uint8_t kVersion = 3;

  void settings(const ScheduleSettings& settings);
  void add(const NewRequest& request, std::int64_t now_ns);
  void commit(const Demand& demand);
  void apply(const ReaderEvent& event);
  void plan(std::int64_t now_ns, const Plan& plan);
  void end(RecordEnd end);

  [[nodiscard]] std::size_t size() const noexcept { return writer_.bytes().size(); }
  [[nodiscard]] std::string take() { return writer_.take(); }

 private:
  void time(std::int64_t now_ns);
  void rows(const std::vector<RowDone>& done);
  void lengths(const LengthCounts& counts);

  RecordWriter writer_;
  CallMemory memory_;
};

/// Reads block after block. Throws RecordDamage.
class CallReader {
 public:
  [[nodiscard]] static ScheduleSettings settings(std::span<const char> block);

  /// What is left of the block before is dropped.
  void open(std::span<const char> block) { reader_.emplace(block); }
  /// None at the end of the block.
  [[nodiscard]] std::optional<RecordedCall> next();

 private:
  [[nodiscard]] AddCall add();
  [[nodiscard]] Demand commit();
  [[nodiscard]] ReaderEvent apply();
  [[nodiscard]] PlanCall plan();
  [[nodiscard]] std::int64_t time();
  [[nodiscard]] std::vector<RowDone> rows();

  std::optional<RecordReader> reader_;
  CallMemory memory_;
};

}  // namespace tickertape::actors
