// ScheduleRecorder: writes the planner's calls to a file.
#include "actors/schedule_recorder.hpp"

#include <tickertape/errors.hpp>

namespace tickertape::actors {
namespace {

/// For the end mark: its frame and two bytes.
constexpr std::uint64_t kEndBytes = 10;

void append_fixed32(std::string& bytes, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<char>(value >> shift));
  }
}

}  // namespace

std::string framed(const std::string& content) {
  std::string summed;
  append_fixed32(summed, static_cast<std::uint32_t>(content.size()));
  summed += content;
  std::string block = summed.substr(0, 4);
  append_fixed32(block, crc32c(summed));
  return block + content;
}

ScheduleRecorder::ScheduleRecorder(const std::filesystem::path& file,
                                   const ScheduleSettings& settings, std::uint64_t limit)
    : file_(file, std::ios::binary | std::ios::trunc), limit_(limit) {
  CallWriter head;
  head.settings(settings);
  std::string bytes = kMagic;
  bytes.push_back(static_cast<char>(CallWriter::kVersion));
  bytes += framed(head.take());
  if (!file_) {
    throw Error(
        ErrorInfo{Errc::invalid_request, "record: cannot write to " + file.string(), "record", 0});
  }
  constexpr int kNice = 0;  // Its work is short, and blocks that wait take memory.
  thread_.emplace(kNice);
  post(bytes);
}

ScheduleRecorder::~ScheduleRecorder() {
  finish();
}

void ScheduleRecorder::added(const NewRequest& request, std::int64_t now_ns) {
  if (is_open()) calls_.add(request, now_ns);
}

void ScheduleRecorder::committed(const Demand& demand) {
  if (is_open()) calls_.commit(demand);
}

void ScheduleRecorder::applied(const ReaderEvent& event) {
  if (is_open()) calls_.apply(event);
}

void ScheduleRecorder::planned(std::int64_t now_ns, const Plan& plan) {
  if (!is_open()) return;
  calls_.plan(now_ns, plan);
  const bool is_due = now_ns - sealed_ns_ >= kBlockNs || plan.empty();
  if (calls_.size() < kBlockBytes && !is_due) return;
  sealed_ns_ = now_ns;
  seal();
}

void ScheduleRecorder::finish() {
  if (is_open()) seal();
  if (is_open()) write_end(RecordEnd::closed);
  open_ = false;
  thread_.reset();  // Writes what was posted.
}

void ScheduleRecorder::seal() {
  if (calls_.size() == 0) return;
  const std::string block = framed(calls_.take());
  if (posted_ + block.size() + kEndBytes > limit_) {
    write_end(RecordEnd::limit);
  } else if (posted_ - num_bytes_.load() > kMostPending) {
    failed_.store(true);
  } else {
    post(block);
  }
}

void ScheduleRecorder::write_end(RecordEnd end) {
  CallWriter last;
  last.end(end);
  post(framed(last.take()));
  open_ = false;
}

void ScheduleRecorder::post(const std::string& content) {
  posted_ += content.size();
  thread_->post([this, content] {
    if (failed_.load()) return;
    file_.write(content.data(), static_cast<std::streamsize>(content.size()));
    file_.flush();
    if (!file_) {
      failed_.store(true);
      return;
    }
    num_bytes_.fetch_add(content.size());
  });
}

}  // namespace tickertape::actors
