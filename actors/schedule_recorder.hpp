// ScheduleRecorder: writes the planner's calls to a file.
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "actors/planner_log.hpp"
#include "actors/record_calls.hpp"
#include "runtime/worker_thread.hpp"

namespace tickertape::actors {

/// The file: a mark with the version, then blocks of (length, CRC-32C of length and content,
/// content). The first holds the settings, the others calls, the last one the end. A block is
/// complete in itself, so what stands before a cut is good.
///
/// Blocks are written by a thread of their own, one for each 64 KiB or second of calls and when the
/// planner has nothing to do. When the disk is full, or slower than the engine by kMostPending
/// bytes, the recording ends without its end mark, and the engine goes on.
///
/// Thread rules: the log's functions on the lane; the rest on any thread.
class ScheduleRecorder final : public PlannerLog {
 public:
  static constexpr char kMagic[] = "TICKREC";  ///< The version follows as one byte.
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 16;
  static constexpr std::int64_t kBlockNs = 1'000'000'000;
  static constexpr std::uint64_t kMostPending = std::uint64_t{64} << 20;

  /// `limit`: most bytes of the file. Throws Error when the file cannot be opened.
  ScheduleRecorder(const std::filesystem::path& file, const ScheduleSettings& settings,
                   std::uint64_t limit);
  ~ScheduleRecorder() override;

  void added(const NewRequest& request, std::int64_t now_ns) override;
  void committed(const Demand& demand) override;
  void applied(const ReaderEvent& event) override;
  void planned(std::int64_t now_ns, const Plan& plan) override;
  void finish() override;

  [[nodiscard]] bool failed() const noexcept override { return failed_.load(); }
  [[nodiscard]] std::uint64_t num_bytes() const noexcept override { return num_bytes_.load(); }

 private:
  [[nodiscard]] bool is_open() const noexcept { return open_ && !failed_.load(); }
  void seal();
  void write_end(RecordEnd end);
  void post(const std::string& content);

  std::ofstream file_;  ///< Of the thread, once it has begun.
  const std::uint64_t limit_;
  CallWriter calls_;
  bool open_ = true;
  std::int64_t sealed_ns_ = 0;
  std::uint64_t posted_ = 0;
  std::atomic<std::uint64_t> num_bytes_{0};  ///< Written.
  std::atomic<bool> failed_{false};
  std::optional<runtime::WorkerThread> thread_;
};

/// One block of a recording: its frame and content.
[[nodiscard]] std::string framed(const std::string& content);

}  // namespace tickertape::actors
