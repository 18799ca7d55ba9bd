/* membw's inner loops for every instruction set that this compiler can make. */
#ifndef ADVISOR_MEMBW_SETS_H
#define ADVISOR_MEMBW_SETS_H

#include "kernel.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

/* A thread turns to its next stream after so many bytes. Longer blocks were slower: fewer lines on their way at once. */
#define BLOCK ((size_t)256)
#define LINE ((size_t)64)

enum pattern { LOAD, STORE, COPY, SCALE, ADD, TRIAD, UPDATE };
enum hint { HINT_NONE, HINT_L1, HINT_L2, HINT_ONCE, HINT_WRITE, HINTS };

/* `count` streams, each `length` bytes long and `apart` bytes after the one before, walked together. */
struct streams {
    char *a;
    const char *b, *c;
    size_t count, apart, length;
    size_t ahead; /* of the hints, in bytes */
    double factor;
};

typedef double (*walker)(const struct streams *streams); /* returns the sum of a load */

/* Place of a walker in a set's table. Walks past the cache come after those through it. */
enum { FIRST_PAST = (UPDATE + 1) * HINTS };
static inline size_t walker_place(enum pattern pattern, bool past, enum hint hint) {
    return (past ? FIRST_PAST : 0) + (size_t)pattern * HINTS + hint;
}

#define EACH_HINT(do, pattern, past) \
    do(pattern, past, HINT_NONE) do(pattern, past, HINT_L1) do(pattern, past, HINT_L2) \
    do(pattern, past, HINT_ONCE) do(pattern, past, HINT_WRITE)
#define EACH_WALK(do) \
    EACH_HINT(do, LOAD, 0) EACH_HINT(do, STORE, 0) EACH_HINT(do, COPY, 0) EACH_HINT(do, SCALE, 0) EACH_HINT(do, ADD, 0) \
    EACH_HINT(do, TRIAD, 0) EACH_HINT(do, UPDATE, 0) EACH_HINT(do, LOAD, 1) EACH_HINT(do, STORE, 1) EACH_HINT(do, COPY, 1) EACH_HINT(do, SCALE, 1) \
    EACH_HINT(do, ADD, 1) EACH_HINT(do, TRIAD, 1) EACH_HINT(do, UPDATE, 1)

/* Past the cache: how this architecture waits for such stores, and whether single doubles can be stored and loaded so. */
#if defined(__x86_64__)
#include <immintrin.h>
enum { SCALAR_PUSH = 1, SCALAR_PULL = 0 };
#define DRAIN() _mm_sfence()
#elif defined(__aarch64__)
#include <arm_neon.h>
enum { SCALAR_PUSH = 1, SCALAR_PULL = 1 };
#define DRAIN() ((void)0) /* the threads' meeting afterwards waits for them */
#else
enum { SCALAR_PUSH = 0, SCALAR_PULL = 0 };
#define DRAIN() ((void)0)
#endif

/* ---- scalar: two doubles, as AArch64 can store only pairs past the cache ---- */

struct pair {
    double one, two;
};

/* An empty instruction on each double keeps the compiler from joining them to a vector. */
INLINE struct pair pair_of(double one, double two) {
#if defined(__x86_64__)
    __asm__("" : "+x"(one), "+x"(two));
#elif defined(__aarch64__)
    __asm__("" : "+w"(one), "+w"(two));
#endif
    return (struct pair){one, two};
}

INLINE struct pair pair_get(const char *from) {
    const double *doubles = (const void *)from;
    return pair_of(doubles[0], doubles[1]);
}

INLINE struct pair pair_pull(const char *from) {
#if defined(__aarch64__)
    struct pair value;
    __asm__ volatile("ldnp %d0, %d1, [%2]" : "=w"(value.one), "=w"(value.two) : "r"(from) : "memory");
    return value;
#else
    return pair_get(from); /* never asked for: SCALAR_PULL */
#endif
}

INLINE void pair_put(char *to, struct pair value) {
    double *doubles = (void *)to;
    doubles[0] = value.one;
    doubles[1] = pair_of(value.two, 0.0).one;
}

INLINE void pair_push(char *to, struct pair value) {
#if defined(__x86_64__)
    long long bits[2];
    __builtin_memcpy(bits, &value, sizeof bits);
    _mm_stream_si64((void *)to, bits[0]);
    _mm_stream_si64((void *)(to + sizeof(double)), bits[1]);
#elif defined(__aarch64__)
    __asm__ volatile("stnp %d1, %d2, [%0]" : : "r"(to), "w"(value.one), "w"(value.two) : "memory");
#else
    pair_put(to, value);
#endif
}

#define SET(name) JOIN(scalar, name)
#define TARGET
#define V struct pair
#define LANES 2
#define GET(from) pair_get(from)
#define PUT(to, v) pair_put(to, v)
#define PUSH(to, v) pair_push(to, v)
#define PULL(from) pair_pull(from)
#define FILL(x) ((struct pair){x, x})
#define PLUS(x, y) pair_of((x).one + (y).one, (x).two + (y).two)
#define TIMES(x, y) pair_of((x).one * (y).one, (x).two * (y).two)
#define FUSED(x, y, z) pair_of((x).one * (y).one + (z).one, (x).two * (y).two + (z).two)
#define TOTAL(x) pair_total(x)
INLINE double pair_total(struct pair x) { return x.one + x.two; }
#include "membw_walk.h"

#if defined(__x86_64__)

/* ---- SSE4.1: the first with loads past the cache ---- */

#define SET(name) JOIN(sse4, name)
#define TARGET __attribute__((target("sse4.1,prfchw")))
#define V __m128d
#define LANES 2
#define GET(from) _mm_load_pd((const double *)(const void *)(from))
#define PUT(to, v) _mm_store_pd((double *)(void *)(to), v)
#define PUSH(to, v) _mm_stream_pd((double *)(void *)(to), v)
#define PULL(from) _mm_castsi128_pd(_mm_stream_load_si128((__m128i *)(uintptr_t)(from)))
#define FILL(x) _mm_set1_pd(x)
#define PLUS(x, y) _mm_add_pd(x, y)
#define TIMES(x, y) _mm_mul_pd(x, y)
#define FUSED(x, y, z) _mm_add_pd(_mm_mul_pd(x, y), z)
#define TOTAL(v) (_mm_cvtsd_f64(v) + _mm_cvtsd_f64(_mm_unpackhi_pd(v, v)))
#include "membw_walk.h"

/* ---- AVX2 ---- */

__attribute__((target("avx2,fma"))) INLINE double avx2_total(__m256d v) {
    __m128d half = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(half) + _mm_cvtsd_f64(_mm_unpackhi_pd(half, half));
}

#define SET(name) JOIN(avx2, name)
#define TARGET __attribute__((target("avx2,fma,prfchw")))
#define V __m256d
#define LANES 4
#define GET(from) _mm256_load_pd((const double *)(const void *)(from))
#define PUT(to, v) _mm256_store_pd((double *)(void *)(to), v)
#define PUSH(to, v) _mm256_stream_pd((double *)(void *)(to), v)
#define PULL(from) _mm256_castsi256_pd(_mm256_stream_load_si256((const void *)(from)))
#define FILL(x) _mm256_set1_pd(x)
#define PLUS(x, y) _mm256_add_pd(x, y)
#define TIMES(x, y) _mm256_mul_pd(x, y)
#define FUSED(x, y, z) _mm256_fmadd_pd(x, y, z)
#define TOTAL(v) avx2_total(v)
#include "membw_walk.h"

/* ---- AVX-512 ---- */

#define SET(name) JOIN(avx512, name)
#define TARGET __attribute__((target("avx512f,prfchw")))
#define V __m512d
#define LANES 8
#define GET(from) _mm512_load_pd((const void *)(from))
#define PUT(to, v) _mm512_store_pd((void *)(to), v)
#define PUSH(to, v) _mm512_stream_pd((double *)(void *)(to), v)
#define PULL(from) _mm512_castsi512_pd(_mm512_stream_load_si512((void *)(uintptr_t)(from)))
#define FILL(x) _mm512_set1_pd(x)
#define PLUS(x, y) _mm512_add_pd(x, y)
#define TIMES(x, y) _mm512_mul_pd(x, y)
#define FUSED(x, y, z) _mm512_fmadd_pd(x, y, z)
#define TOTAL(v) _mm512_reduce_add_pd(v)
#include "membw_walk.h"

#elif defined(__aarch64__)

/* ---- NEON: two vectors, which is what STNP stores ---- */

INLINE float64x2x2_t neon_of(float64x2_t low, float64x2_t high) { return (float64x2x2_t){{low, high}}; }

INLINE void neon_put(char *to, float64x2x2_t v) {
    vst1q_f64((double *)(void *)to, v.val[0]);
    vst1q_f64((double *)(void *)to + 2, v.val[1]);
}

INLINE float64x2x2_t neon_pull(const char *from) {
    float64x2x2_t v;
    __asm__ volatile("ldnp %q0, %q1, [%2]" : "=w"(v.val[0]), "=w"(v.val[1]) : "r"(from) : "memory");
    return v;
}

INLINE void neon_push(char *to, float64x2x2_t v) {
    __asm__ volatile("stnp %q1, %q2, [%0]" : : "r"(to), "w"(v.val[0]), "w"(v.val[1]) : "memory");
}

#define SET(name) JOIN(neon, name)
#define TARGET
#define V float64x2x2_t
#define LANES 4
#define GET(from) neon_of(vld1q_f64((const void *)(from)), vld1q_f64((const double *)(const void *)(from) + 2))
#define PUT(to, v) neon_put(to, v)
#define PUSH(to, v) neon_push(to, v)
#define PULL(from) neon_pull(from)
#define FILL(x) neon_of(vdupq_n_f64(x), vdupq_n_f64(x))
#define PLUS(x, y) neon_of(vaddq_f64((x).val[0], (y).val[0]), vaddq_f64((x).val[1], (y).val[1]))
#define TIMES(x, y) neon_of(vmulq_f64((x).val[0], (y).val[0]), vmulq_f64((x).val[1], (y).val[1]))
#define FUSED(x, y, z) neon_of(vfmaq_f64((z).val[0], (x).val[0], (y).val[0]), vfmaq_f64((z).val[1], (x).val[1], (y).val[1]))
#define TOTAL(x) vaddvq_f64(vaddq_f64((x).val[0], (x).val[1]))
#include "membw_walk.h"

/* ---- SVE: clang before 16 has its intrinsics only where the whole file is built for it ---- */

#if defined(__ARM_FEATURE_SVE) || !defined(__clang__) || __clang_major__ >= 16
#define HAVE_SVE 1
#include <arm_sve.h>

#define SET(name) JOIN(sve, name)
#define TARGET __attribute__((target("+sve")))
#define V svfloat64_t
#define LANES svcntd()
#define GET(from) svld1_f64(svptrue_b64(), (const double *)(const void *)(from))
#define PUT(to, v) svst1_f64(svptrue_b64(), (double *)(void *)(to), v)
#define PUSH(to, v) svstnt1_f64(svptrue_b64(), (double *)(void *)(to), v)
#define PULL(from) svldnt1_f64(svptrue_b64(), (const double *)(const void *)(from))
#define FILL(x) svdup_n_f64(x)
#define PLUS(x, y) svadd_f64_x(svptrue_b64(), x, y)
#define TIMES(x, y) svmul_f64_x(svptrue_b64(), x, y)
#define FUSED(x, y, z) svmla_f64_x(svptrue_b64(), z, x, y)
#define TOTAL(x) svaddv_f64(svptrue_b64(), x)
#include "membw_walk.h"
#endif

#endif

/* Narrowest first. */
static const struct set {
    const char *name;
    const walker *walkers;
} sets[] = {
    {"scalar", scalar_walkers},
#if defined(__x86_64__)
    {"sse4", sse4_walkers},
    {"avx2", avx2_walkers},
    {"avx512", avx512_walkers},
#elif defined(__aarch64__)
    {"neon", neon_walkers},
#if defined(HAVE_SVE)
    {"sve", sve_walkers},
#endif
#endif
};
enum { SETS = sizeof sets / sizeof *sets };

#if defined(HAVE_SVE)
__attribute__((target("+sve"))) static inline size_t sve_bytes(void) { return svcntb(); }
#else
static inline size_t sve_bytes(void) { return 0; }
#endif

/* Four vectors must fill blocks exactly: true of SVE up to 512 bits, more than any CPU has today. */
static inline bool set_fits(const struct set *set) {
    return strcmp(set->name, "sve") != 0 || !cpu_has("sve") || BLOCK % (4 * sve_bytes()) == 0;
}

#endif
