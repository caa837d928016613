// The table of GgmlType.
#include "kernels/formats/ggml_type.hpp"

#include <tickertape/assert.hpp>

namespace tickertape::kernels::formats {
namespace {

constexpr GgmlTypeTraits kTraits[] = {
    {GgmlType::f32, "F32", 1, 4, true},
    {GgmlType::f16, "F16", 1, 2, true},
    {GgmlType::bf16, "BF16", 1, 2, true},
    {GgmlType::q8_0, "Q8_0", 32, 34, true},
    {GgmlType::q4_0, "Q4_0", 32, 18, true},
    {GgmlType::q4_1, "Q4_1", 32, 20, true},
    {GgmlType::q5_0, "Q5_0", 32, 22, false},
    {GgmlType::q5_1, "Q5_1", 32, 24, false},
    {GgmlType::q8_1, "Q8_1", 32, 36, false},
    {GgmlType::q2_k, "Q2_K", 256, 84, false},
    {GgmlType::q3_k, "Q3_K", 256, 110, false},
    {GgmlType::q4_k, "Q4_K", 256, 144, false},
    {GgmlType::q5_k, "Q5_K", 256, 176, false},
    {GgmlType::q6_k, "Q6_K", 256, 210, false},
    {GgmlType::q8_k, "Q8_K", 256, 292, false},
    {GgmlType::iq2_xxs, "IQ2_XXS", 256, 66, false},
    {GgmlType::iq2_xs, "IQ2_XS", 256, 74, false},
    {GgmlType::iq3_xxs, "IQ3_XXS", 256, 98, false},
    {GgmlType::iq1_s, "IQ1_S", 256, 50, false},
    {GgmlType::iq4_nl, "IQ4_NL", 32, 18, false},
    {GgmlType::iq3_s, "IQ3_S", 256, 110, false},
    {GgmlType::iq2_s, "IQ2_S", 256, 82, false},
    {GgmlType::iq4_xs, "IQ4_XS", 256, 136, false},
    {GgmlType::i8, "I8", 1, 1, false},
    {GgmlType::i16, "I16", 1, 2, false},
    {GgmlType::i32, "I32", 1, 4, false},
    {GgmlType::i64, "I64", 1, 8, false},
    {GgmlType::f64, "F64", 1, 8, false},
    {GgmlType::iq1_m, "IQ1_M", 256, 56, false},
    {GgmlType::tq1_0, "TQ1_0", 256, 54, false},
    {GgmlType::tq2_0, "TQ2_0", 256, 66, false},
    {GgmlType::mxfp4, "MXFP4", 32, 17, false},
    {GgmlType::nvfp4, "NVFP4", 64, 36, false},
};

}  // namespace

const GgmlTypeTraits* find_traits(std::uint32_t type_id) noexcept {
  for (const GgmlTypeTraits& entry : kTraits) {
    if (static_cast<std::uint32_t>(entry.type) == type_id) return &entry;
  }
  return nullptr;
}

const GgmlTypeTraits& traits(GgmlType type) noexcept {
  const GgmlTypeTraits* entry = find_traits(static_cast<std::uint32_t>(type));
  TICKERTAPE_ASSERT(entry != nullptr);
  return *entry;
}

}  // namespace tickertape::kernels::formats
