// Tags: names of the lane's wake-ups and trace events.
#pragma once
#include <cstdint>

namespace tickertape::actors {

inline constexpr std::uint32_t kTagLane = 1;
inline constexpr std::uint32_t kTagAllocator = 2;
inline constexpr std::uint32_t kTagPlan = 3;
inline constexpr std::uint32_t kTagCompletion = 4;
inline constexpr std::uint32_t kTagStop = 5;

// Trace events: (event, a, b).
inline constexpr std::uint32_t kTraceSubmit = 10;   ///< id, prompt tokens
inline constexpr std::uint32_t kTraceTick = 11;     ///< tick, rows
inline constexpr std::uint32_t kTracePreempt = 12;  ///< id, tick
inline constexpr std::uint32_t kTraceEnd = 13;      ///< id, reason
inline constexpr std::uint32_t kTraceToken = 14;    ///< id, token

}  // namespace tickertape::actors
