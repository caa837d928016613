// replay: the recorded calls made again.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include <tickertape/errors.hpp>
#include <tickertape/recording.hpp>

#include "actors/planner.hpp"
#include "actors/record_calls.hpp"
#include "actors/schedule_recorder.hpp"

namespace tickertape {
namespace actors {
namespace {

constexpr std::size_t kFrameBytes = 8;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw Error(Errc::invalid_request, file.string() + " " + why);
}

/// The blocks of a recording, one after the other.
class BlockReader {
 public:
  explicit BlockReader(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) refuse(file, "cannot be read");
    bytes_.assign(std::istreambuf_iterator<char>(stream), {});
    const std::string magic = ScheduleRecorder::kMagic;
    if (bytes_.compare(0, magic.size(), magic) != 0 || bytes_.size() <= magic.size()) {
      refuse(file, "is no recording of a schedule");
    }
    const int version = static_cast<unsigned char>(bytes_[magic.size()]);
    if (version != CallWriter::kVersion) {
      refuse(file, "is a recording of version " + std::to_string(version) + ", not " +
                       std::to_string(CallWriter::kVersion));
    }
    at_ = magic.size() + 1;
  }

  /// None at the end of what is good; why() then tells.
  [[nodiscard]] std::optional<std::span<const char>> next() {
    const std::size_t left = bytes_.size() - at_;
    if (left < kFrameBytes) return std::nullopt;
    const std::uint32_t length = number(at_);
    if (length > left - kFrameBytes) return std::nullopt;
    std::string summed = bytes_.substr(at_, 4);
    summed.append(bytes_, at_ + kFrameBytes, length);
    if (crc32c(summed) != number(at_ + 4)) {
      why_ = RecordingEnd::damaged;
      return std::nullopt;
    }
    const std::span<const char> block(bytes_.data() + at_ + kFrameBytes, length);
    at_ += kFrameBytes + length;
    return block;
  }
  [[nodiscard]] RecordingEnd why() const noexcept { return why_; }
  [[nodiscard]] std::uint64_t num_read() const noexcept { return at_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return bytes_.size(); }

 private:
  [[nodiscard]] std::uint32_t number(std::size_t at) const {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) {
      value |= std::uint32_t{static_cast<unsigned char>(bytes_[at + i])} << (8 * i);
    }
    return value;
  }

  std::string bytes_;
  std::size_t at_ = 0;
  RecordingEnd why_ = RecordingEnd::cut;
};

template <class T>
void replace(T& value, const std::optional<T>& with) {
  if (with) value = *with;
}

void replace_ms(std::int64_t& value_ns, const std::optional<double>& milliseconds) {
  constexpr double kNsPerMs = 1e6;
  if (milliseconds) value_ns = static_cast<std::int64_t>(*milliseconds * kNsPerMs);
}

ScheduleSettings changed(ScheduleSettings settings, const ReplayOptions& options) {
  replace(settings.planner.batching, options.batching);
  replace(settings.planner.static_batch_size, options.static_batch_size);
  replace_ms(settings.planner.static_batch_wait_ns, options.static_batch_wait_ms);
  replace(settings.planner.prefill_chunk, options.prefill_chunk);
  replace_ms(settings.planner.itl_target_ns, options.itl_target_ms);
  replace(settings.planner.preemption_method, options.preemption);
  replace(settings.planner.prefix_caching, options.prefix_caching);
  replace(settings.admission, options.admission);
  replace(settings.admission_quantile, options.admission_quantile);
  replace(settings.admission_buffer, options.admission_buffer);
  replace(settings.scheduling, options.scheduling);
  return settings;
}

/// Makes the calls, until a plan differs.
class Replayer {
 public:
  explicit Replayer(PlannerOptions options) : planner_(std::move(options)) {}

  /// False when nothing more is to be compared.
  [[nodiscard]] bool make(const RecordedCall& call, ReplayReport& report) {
    if (const auto* end = std::get_if<RecordEnd>(&call)) {
      report.end = *end == RecordEnd::closed ? RecordingEnd::closed : RecordingEnd::limit;
      return false;
    }
    ++report.num_calls;
    if (const auto* added = std::get_if<AddCall>(&call)) {
      begin_at(added->now_ns);
      ++report.num_requests;
      planner_.add(added->request, added->now_ns);
    } else if (const auto* demand = std::get_if<Demand>(&call)) {
      planner_.commit(*demand);
    } else if (const auto* event = std::get_if<ReaderEvent>(&call)) {
      planner_.apply(*event);
    } else {
      return plan(std::get<PlanCall>(call), report);
    }
    return true;
  }

 private:
  void begin_at(std::int64_t now_ns) {
    if (!begin_ns_) begin_ns_ = now_ns;
  }

  bool plan(const PlanCall& call, ReplayReport& report) {
    begin_at(call.now_ns);
    const PlanDigest digest = digest_of(planner_.make_plan(call.now_ns));
    (void)planner_.take_name_changes();  // Else they would pile up.
    ++report.num_plans;
    report.duration_ns = call.now_ns - *begin_ns_;
    report.num_ticks += digest.num_rows > 0 ? 1U : 0U;
    report.num_tokens += digest.num_tokens;
    report.num_preemptions += digest.num_preempted;
    if (digest == call.digest) return true;
    report.difference = ReplayReport::Difference{call.digest.tick, report.duration_ns,
                                                 difference(call.digest, digest)};
    report.end = RecordingEnd::difference;
    return false;
  }

  Planner planner_;
  std::optional<std::int64_t> begin_ns_;
};

}  // namespace
}  // namespace actors

ReplayReport replay(const std::filesystem::path& file, const ReplayOptions& options) {
  actors::BlockReader blocks(file);
  ReplayReport report;
  report.num_bytes = blocks.size();
  const auto first = blocks.next();
  if (!first) actors::refuse(file, "is damaged or cut off in its first block");
  try {
    const actors::ScheduleSettings settings =
        actors::changed(actors::CallReader::settings(*first), options);
    const std::uint64_t longest = actors::longest_sequence(settings.planner);
    if (settings.planner.max_model_len > longest) {
      actors::refuse(file,
                     "has sequences of up to " + std::to_string(settings.planner.max_model_len) +
                         " tokens; with this batching its pools hold " + std::to_string(longest));
    }
    actors::Replayer replayer(settings.build());
    actors::CallReader calls;
    bool goes_on = true;
    while (goes_on) {
      const auto block = blocks.next();
      if (!block) {
        report.end = blocks.why();
        break;
      }
      calls.open(*block);
      while (goes_on) {
        const auto call = calls.next();
        if (!call) break;
        goes_on = replayer.make(*call, report);
      }
    }
  } catch (const actors::RecordDamage& damage) {
    report.end = RecordingEnd::damaged;
  }
  report.num_read = blocks.num_read();
  // Nothing stands behind the end mark.
  const bool ended = report.end == RecordingEnd::closed || report.end == RecordingEnd::limit;
  if (ended && report.num_read != report.num_bytes) report.end = RecordingEnd::damaged;
  return report;
}

}  // namespace tickertape
