// kSanitized: whether a sanitizer watches the test; those keep freed memory and enlarge frames.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TICKERTAPE_TEST_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TICKERTAPE_TEST_IS_SANITIZED 1
#endif
#endif

namespace tickertape::test {

#ifdef TICKERTAPE_TEST_IS_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tickertape::test
