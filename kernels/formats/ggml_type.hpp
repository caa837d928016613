// GgmlType: how the numbers of a tensor are stored in a GGUF file.
#pragma once
#include <cstdint>
#include <string_view>

namespace tickertape::kernels::formats {

/// The ids that the GGUF format gives to storage types. Retired ids are left out.
enum class GgmlType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q8_1 = 9,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  q8_k = 15,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40
};

/// What is needed to size a tensor of a type and to name it in a message.
struct GgmlTypeTraits {
  GgmlType type;
  std::string_view name;      ///< As tools print it, "Q4_1".
  std::uint32_t block_size;   ///< Numbers per block.
  std::uint32_t block_bytes;  ///< Bytes per block.
  bool computable;            ///< The backends have arithmetic for it.
};

/// The traits of a type id as read from a file; nullptr for an id that no known type has.
[[nodiscard]] const GgmlTypeTraits* find_traits(std::uint32_t type_id) noexcept;

/// The traits of a type of the enumeration.
[[nodiscard]] const GgmlTypeTraits& traits(GgmlType type) noexcept;

}  // namespace tickertape::kernels::formats
