// CallWriter and CallReader: the planner's calls as bytes.
#include "actors/record_calls.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "actors/record_fields.hpp"

namespace tickertape::actors {
namespace {

enum class Tag : std::uint8_t { add, commit, apply, plan, end };

/// How far ahead a row is looked for among the expected ones. More costs time, less costs bytes.
constexpr std::size_t kLookAhead = 64;

bool same(const RowDone& a, const RowDone& b) {
  return a.id == b.id && a.num_computed == b.num_computed && a.num_scored == b.num_scored &&
         a.num_emitted == b.num_emitted && a.ended == b.ended && a.by_itself == b.by_itself;
}

LengthCounts read_lengths(RecordReader& reader) {
  std::uint32_t num_ended = 0;
  reader(num_ended);
  std::vector<LengthCounts::Bucket> buckets(reader.count());
  for (LengthCounts::Bucket& bucket : buckets) {
    reader(bucket.entered);
    reader(bucket.ended);
    reader(bucket.passed);
  }
  return LengthCounts(buckets, num_ended);
}

}  // namespace

void CallMemory::remember(const std::vector<RowDone>& done) {
  expected.clear();
  for (const RowDone& row : done) {
    if (row.ended) continue;
    RowDone next;
    next.id = row.id;
    next.num_computed = 1;
    next.num_emitted = 1;
    expected.push_back(next);
  }
}

void CallWriter::settings(const ScheduleSettings& settings) {
  each_field(writer_, settings);
  const std::vector<LayerGroup>& windows = settings.planner.windows;
  writer_(windows.size());
  for (const LayerGroup& group : windows) each_field(writer_, group);
  writer_(settings.planner.lengths != nullptr);
  if (!settings.planner.lengths) return;
  lengths(settings.planner.lengths->all);
  for (const LengthCounts& kind : settings.planner.lengths->kinds) lengths(kind);
}

void CallWriter::lengths(const LengthCounts& counts) {
  writer_(counts.num_ended());
  writer_(counts.buckets().size());
  for (const LengthCounts::Bucket& bucket : counts.buckets()) {
    writer_(bucket.entered);
    writer_(bucket.ended);
    writer_(bucket.passed);
  }
}

/// Modulo 2^64, so that no two times are too far apart.
void CallWriter::time(std::int64_t now_ns) {
  writer_(static_cast<std::int64_t>(static_cast<std::uint64_t>(now_ns) -
                                    static_cast<std::uint64_t>(memory_.now_ns)));
  memory_.now_ns = now_ns;
}

void CallWriter::add(const NewRequest& request, std::int64_t now_ns) {
  writer_(Tag::add);
  time(now_ns);
  each_field(writer_, request);
  writer_(request.names.size());
  for (const PageName name : request.names) writer_.fixed(name);
}

/// Steps of (expected rows to skip, expected rows that came true, one other row or none).
void CallWriter::rows(const std::vector<RowDone>& done) {
  const std::vector<RowDone>& expected = memory_.expected;
  writer_(done.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < done.size();) {
    const std::size_t end = std::min(expected.size(), at + kLookAhead);
    std::size_t found = at;
    while (found < end && !same(expected[found], done[i])) ++found;
    const std::size_t skip = found < end ? found - at : 0;
    at += skip;
    std::size_t count = 0;
    while (i + count < done.size() && at + count < expected.size() &&
           same(expected[at + count], done[i + count])) {
      ++count;
    }
    at += count;
    i += count;
    writer_(skip);
    writer_(count);
    if (i == done.size()) break;
    each_field(writer_, done[i]);
    if (at < expected.size() && expected[at].id == done[i].id) ++at;
    ++i;
  }
  memory_.remember(done);
}

void CallWriter::commit(const Demand& demand) {
  writer_(Tag::commit);
  each_field(writer_, demand);
  rows(demand.done);
  writer_(demand.named.size());
  for (const NamedPage& named : demand.named) {
    writer_(named.id);
    writer_.fixed(named.name);
  }
}

void CallWriter::apply(const ReaderEvent& event) {
  writer_(Tag::apply);
  each_field(writer_, event);
  writer_(event.stopped.size());
  for (const std::uint32_t choice : event.stopped) writer_(choice);
}

void CallWriter::plan(std::int64_t now_ns, const Plan& plan) {
  writer_(Tag::plan);
  time(now_ns);
  PlanDigest digest = digest_of(plan);
  const std::uint64_t tick = digest.tick;
  digest.tick -= memory_.tick;
  memory_.tick = tick;
  each_field(writer_, digest);
  writer_.fixed(digest.hash);
}

void CallWriter::end(RecordEnd end) {
  writer_(Tag::end);
  writer_(end);
}

ScheduleSettings CallReader::settings(std::span<const char> block) {
  RecordReader reader(block);
  ScheduleSettings settings;
  each_field(reader, settings);
  settings.planner.windows.resize(reader.count());
  for (LayerGroup& group : settings.planner.windows) each_field(reader, group);
  bool has_lengths = false;
  reader(has_lengths);
  if (has_lengths) {
    auto lengths = std::make_shared<SharedLengths>();
    lengths->all = read_lengths(reader);
    for (LengthCounts& kind : lengths->kinds) kind = read_lengths(reader);
    settings.planner.lengths = std::move(lengths);
  }
  if (!reader.at_end()) throw RecordDamage("the settings are longer than this version's");
  return settings;
}

std::optional<RecordedCall> CallReader::next() {
  if (!reader_ || reader_->at_end()) return std::nullopt;
  Tag tag{};
  (*reader_)(tag);
  switch (tag) {
    case Tag::add:
      return add();
    case Tag::commit:
      return commit();
    case Tag::apply:
      return apply();
    case Tag::plan:
      return plan();
    case Tag::end:
      RecordEnd end{};
      (*reader_)(end);
      return end;
  }
  throw RecordDamage("a block holds a call that this version does not know");
}

std::int64_t CallReader::time() {
  std::int64_t step = 0;
  (*reader_)(step);
  memory_.now_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(memory_.now_ns) +
                                             static_cast<std::uint64_t>(step));
  return memory_.now_ns;
}

AddCall CallReader::add() {
  AddCall call;
  call.now_ns = time();
  each_field(*reader_, call.request);
  call.request.names.resize(reader_->count());
  for (PageName& name : call.request.names) name = reader_->fixed();
  return call;
}

std::vector<RowDone> CallReader::rows() {
  const std::vector<RowDone>& expected = memory_.expected;
  const std::uint64_t size = reader_->varint();
  std::vector<RowDone> done;
  std::size_t at = 0;
  while (done.size() < size) {
    const std::uint64_t skip = reader_->varint();
    const std::uint64_t count = reader_->varint();
    const std::uint64_t left = expected.size() - at;
    if (skip > left || count > left - skip || count > size - done.size()) {
      throw RecordDamage("a block refers to rows that are not there");
    }
    at += skip;
    for (std::uint64_t i = 0; i < count; ++i) done.push_back(expected[at++]);
    if (done.size() == size) break;
    RowDone row;
    each_field(*reader_, row);
    if (at < expected.size() && expected[at].id == row.id) ++at;
    done.push_back(row);
  }
  memory_.remember(done);
  return done;
}

Demand CallReader::commit() {
  Demand demand;
  each_field(*reader_, demand);
  demand.done = rows();
  demand.named.resize(reader_->count());
  for (NamedPage& named : demand.named) {
    (*reader_)(named.id);
    named.name = reader_->fixed();
  }
  return demand;
}

ReaderEvent CallReader::apply() {
  ReaderEvent event;
  each_field(*reader_, event);
  event.stopped.resize(reader_->count());
  for (std::uint32_t& choice : event.stopped) (*reader_)(choice);
  return event;
}

PlanCall CallReader::plan() {
  PlanCall call;
  call.now_ns = time();
  each_field(*reader_, call.digest);
  call.digest.hash = reader_->fixed();
  call.digest.tick += memory_.tick;
  memory_.tick = call.digest.tick;
  return call;
}

}  // namespace tickertape::actors
