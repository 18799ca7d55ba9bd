/* membw's walks with AVX2 and FMA. */
#ifndef ADVISOR_MEMBW_AVX2_H
#define ADVISOR_MEMBW_AVX2_H

#include "streams.h"

#include <immintrin.h>
#include <stdint.h>

#define SET(name) avx2_##name
#define TARGET __attribute__((target("avx2,fma,prfchw")))

typedef __m256d avx2_vector;

TARGET INLINE size_t avx2_lanes(void) { return 4; }
TARGET INLINE __m256d avx2_load(const char *from) { return _mm256_load_pd((const double *)(const void *)from); }
TARGET INLINE __m256d avx2_load_nt(const char *from) { return _mm256_castsi256_pd(_mm256_stream_load_si256((const void *)from)); }
TARGET INLINE void avx2_store(char *to, __m256d v) { _mm256_store_pd((double *)(void *)to, v); }
TARGET INLINE void avx2_store_nt(char *to, __m256d v) { _mm256_stream_pd((double *)(void *)to, v); }
TARGET INLINE __m256d avx2_fill(double x) { return _mm256_set1_pd(x); }
TARGET INLINE __m256d avx2_add(__m256d x, __m256d y) { return _mm256_add_pd(x, y); }
TARGET INLINE __m256d avx2_mul(__m256d x, __m256d y) { return _mm256_mul_pd(x, y); }
TARGET INLINE __m256d avx2_fma(__m256d x, __m256d y, __m256d z) { return _mm256_fmadd_pd(x, y, z); }
TARGET INLINE double avx2_total(__m256d v) {
    __m128d half = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(half) + _mm_cvtsd_f64(_mm_unpackhi_pd(half, half));
}

#include "walk.inc"

#endif
