// BackendInfo of the fakes: pages as BackendOptions asks for them.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <tickertape/backend.hpp>
#include <tickertape/errors.hpp>
#include <tickertape/options.hpp>

namespace tickertape::kernels::fake {

/// What a token takes of kv_cache_memory, about as much as in a small real model.
inline constexpr std::size_t kBytesPerToken = 1024;

/// One layer group. Throws Error(Errc::invalid_request) naming the option at fault.
[[nodiscard]] inline BackendInfo make_fake_info(std::string name, const BackendOptions& options,
                                                std::uint32_t vocab_size) {
  constexpr std::uint32_t kMaxPageSize = 1024;
  if (!std::has_single_bit(options.page_size) || options.page_size > kMaxPageSize) {
    throw Error(ErrorInfo{
        Errc::invalid_request,
        "page_size must be a power of two from 1 to 1024, not " + std::to_string(options.page_size),
        "page_size", 0});
  }
  BackendInfo info;
  info.name = std::move(name);
  info.device = "no device";
  info.page_size = options.page_size;
  const std::size_t bytes_per_page = kBytesPerToken * options.page_size;
  info.num_pages = options.num_kv_pages.value_or(static_cast<std::uint32_t>(std::min<std::uint64_t>(
      options.kv_cache_memory / bytes_per_page, std::numeric_limits<std::uint32_t>::max())));
  if (info.num_pages == 0) {
    throw Error(ErrorInfo{Errc::invalid_request,
                          "kv_cache_memory must hold at least one page of " +
                              std::to_string(bytes_per_page) + " bytes",
                          options.num_kv_pages ? "num_kv_pages" : "kv_cache_memory", 0});
  }
  info.num_host_pages = options.num_host_pages.value_or(
      static_cast<std::uint32_t>(options.swap_space.value_or(0) / bytes_per_page));
  info.vocab_size = vocab_size;
  info.groups = {LayerGroup{1, 0, bytes_per_page}};
  return info;
}

}  // namespace tickertape::kernels::fake
