/* membw's walks with AVX-512. */
#ifndef ADVISOR_MEMBW_AVX512_H
#define ADVISOR_MEMBW_AVX512_H

#include "streams.h"

#include <immintrin.h>
#include <stdint.h>

#define SET(name) avx512_##name
#define TARGET __attribute__((target("avx512f,prfchw")))

typedef __m512d avx512_vector;

TARGET INLINE size_t avx512_lanes(void) { return 8; }
TARGET INLINE __m512d avx512_load(const char *from) { return _mm512_load_pd((const double *)(const void *)from); }
TARGET INLINE __m512d avx512_load_nt(const char *from) { return _mm512_castsi512_pd(_mm512_stream_load_si512((void *)(uintptr_t)from)); }
TARGET INLINE void avx512_store(char *to, __m512d v) { _mm512_store_pd((double *)(void *)to, v); }
TARGET INLINE void avx512_store_nt(char *to, __m512d v) { _mm512_stream_pd((double *)(void *)to, v); }
TARGET INLINE __m512d avx512_fill(double x) { return _mm512_set1_pd(x); }
TARGET INLINE __m512d avx512_add(__m512d x, __m512d y) { return _mm512_add_pd(x, y); }
TARGET INLINE __m512d avx512_mul(__m512d x, __m512d y) { return _mm512_mul_pd(x, y); }
TARGET INLINE __m512d avx512_fma(__m512d x, __m512d y, __m512d z) { return _mm512_fmadd_pd(x, y, z); }
TARGET INLINE double avx512_total(__m512d v) {
    return _mm512_reduce_add_pd(v);
}

#include "walk.inc"

#endif
