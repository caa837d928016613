// PassTimer: the roofline of a pass, in integers.
#include <algorithm>
#include <tickertape/simulated.hpp>

namespace tickertape {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

/// amount / per_second in nanoseconds, rounded up; the product needs 128 bits. At most four months:
/// sums of what a mistyped figure gives stay within a clock.
std::int64_t duration_ns(std::uint64_t amount, std::uint64_t per_second) noexcept {
  __extension__ typedef unsigned __int128 Wide;
  constexpr Wide kMostNs = 10'000'000'000'000'000;
  return static_cast<std::int64_t>(
      std::min((static_cast<Wide>(amount) * kNsPerSecond + per_second - 1) / per_second, kMostNs));
}

std::uint64_t percent_of(std::uint64_t amount, std::uint32_t percent) noexcept {
  return std::max<std::uint64_t>(1, amount / 100 * percent);
}

}  // namespace

PassTimer::PassTimer(const SimulatedDevice& device, const ModelShape& shape,
                     std::uint32_t kv_bytes_per_number)
    : bytes_per_s_(percent_of(device.bytes_per_s, device.bytes_percent)),
      flops_per_s_(percent_of(device.flops_per_s, device.flops_percent)),
      link_bytes_per_s_(std::max<std::uint64_t>(1, device.link_bytes_per_s)),
      fixed_ns_(device.pass_ns + device.layer_ns * static_cast<std::int64_t>(shape.num_layers)),
      layer_weights_(shape.layer_weights()),
      head_weights_(shape.head_weights()),
      read_bytes_((layer_weights_ + head_weights_) * shape.weight_bits / 8),
      kv_bytes_per_token_(shape.kv_bytes_per_token(kv_bytes_per_number)),
      // A product and a sum with each key, and with each value.
      flops_per_pair_(std::uint64_t{4} * shape.num_layers * shape.num_heads * shape.head_size) {}

std::int64_t PassTimer::pass_ns(std::uint64_t num_tokens, std::uint64_t num_outputs,
                                std::uint64_t context, std::uint64_t pairs) const noexcept {
  const std::uint64_t flops = 2 * (layer_weights_ * num_tokens + head_weights_ * num_outputs);
  const std::uint64_t kv_bytes = kv_bytes_per_token_ * (context + num_tokens);
  return fixed_ns_ +
         std::max(duration_ns(read_bytes_, bytes_per_s_), duration_ns(flops, flops_per_s_)) +
         std::max(duration_ns(kv_bytes, bytes_per_s_),
                  duration_ns(flops_per_pair_ * pairs, flops_per_s_));
}

std::int64_t PassTimer::pass_ns(const Batch& batch) const noexcept {
  std::uint64_t num_tokens = 0;
  std::uint64_t num_outputs = 0;
  std::uint64_t context = 0;
  std::uint64_t pairs = 0;
  for (const Row& row : batch.rows) {
    const std::uint64_t tokens = row.num_tokens;
    num_tokens += tokens;
    num_outputs += row.output == RowOutput::none ? 0 : row.num_outputs;
    context += row.first_position + tokens;
    pairs += tokens * row.first_position + tokens * (tokens + 1) / 2;
  }
  return pass_ns(num_tokens, num_outputs, context, pairs);
}

std::int64_t PassTimer::copy_ns(std::uint64_t bytes) const noexcept {
  constexpr std::uint64_t kReadAndWrite = 2;
  return duration_ns(kReadAndWrite * bytes, bytes_per_s_);
}

std::int64_t PassTimer::link_ns(std::uint64_t bytes) const noexcept {
  return duration_ns(bytes, link_bytes_per_s_);
}

std::uint64_t PassTimer::balance_tokens() const noexcept {
  const auto read_ns = static_cast<std::uint64_t>(duration_ns(read_bytes_, bytes_per_s_));
  const auto token_ps = static_cast<std::uint64_t>(
      duration_ns(2'000 * (layer_weights_ + head_weights_), flops_per_s_));
  return read_ns * 1'000 / std::max<std::uint64_t>(1, token_ps);
}

}  // namespace tickertape
