/* membw's walks with SSE4.1, the first instructions that load past the cache; without FMA. */
#ifndef ADVISOR_MEMBW_SSE4_H
#define ADVISOR_MEMBW_SSE4_H

#include "streams.h"

#include <immintrin.h>
#include <stdint.h>

#define SET(name) sse4_##name
#define TARGET __attribute__((target("sse4.1,prfchw")))

typedef __m128d sse4_vector;

TARGET INLINE size_t sse4_lanes(void) { return 2; }
TARGET INLINE __m128d sse4_load(const char *from) { return _mm_load_pd((const double *)(const void *)from); }
TARGET INLINE __m128d sse4_load_nt(const char *from) { return _mm_castsi128_pd(_mm_stream_load_si128((__m128i *)(uintptr_t)from)); }
TARGET INLINE void sse4_store(char *to, __m128d v) { _mm_store_pd((double *)(void *)to, v); }
TARGET INLINE void sse4_store_nt(char *to, __m128d v) { _mm_stream_pd((double *)(void *)to, v); }
TARGET INLINE __m128d sse4_fill(double x) { return _mm_set1_pd(x); }
TARGET INLINE __m128d sse4_add(__m128d x, __m128d y) { return _mm_add_pd(x, y); }
TARGET INLINE __m128d sse4_mul(__m128d x, __m128d y) { return _mm_mul_pd(x, y); }
TARGET INLINE __m128d sse4_fma(__m128d x, __m128d y, __m128d z) { return _mm_add_pd(_mm_mul_pd(x, y), z); }
TARGET INLINE double sse4_total(__m128d v) {
    return _mm_cvtsd_f64(v) + _mm_cvtsd_f64(_mm_unpackhi_pd(v, v));
}

#include "walk.inc"

#endif
