/* peakflops' inner loops for every instruction set that this compiler can make. */
#ifndef ADVISOR_PEAKFLOPS_SETS_H
#define ADVISOR_PEAKFLOPS_SETS_H

#include <stdbool.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))
#define FOR(instructions) __attribute__((target(instructions)))
#define NO_TARGET

/* fma and muladd multiply the value by the factor and add the term: inputs that stand still would take less power than work.
 * chain adds the product of both constants to the value, as a sum or a dot product does that nobody unrolled. */
enum operation { FMA, MULADD, ADD, MUL, CHAIN, OPERATIONS };

/* From the values at `begin`, each chain goes `steps` steps; where it came to is left at `end`. */
typedef void (*burst)(const void *begin, void *end, long steps, double factor, double term);

struct set {
    const char *isa, *fma_needs; /* what the CPU must have for the fused operations, beyond the set itself */
    bool single;
    bool sums; /* its fma is the step of chain */
    int chains;
    int (*lanes)(void);
    burst run[OPERATIONS]; /* NULL where these instructions have no such operation */
};

/* An empty instruction that might have changed a register: nothing is folded, joined to wider vectors or fused unasked. */
#if defined(__x86_64__)
#include <immintrin.h>
#define KEEP(x) __asm__("" : "+v"(x))
#elif defined(__aarch64__)
#include <arm_neon.h>
#define KEEP(x) __asm__("" : "+w"(x))
#else
#error "peakflops knows x86-64 and AArch64"
#endif

/* Independent chains hide latency: operations a cycle times cycles an operation are needed, and all stay in registers with
 * the two constants. fma needs 4 (512 bits on Zen 4), 8 (256 bits on Zen 3 and 4; Intel since Skylake: 2 x 4), 10 (Zen 2 and
 * Haswell: 2 x 5), 16 (NEON on Neoverse V1 and V2: 4 x 4), 18 (A64FX: 2 x 9). muladd on Zen does 2 multiplications and 2
 * additions a cycle of 3 cycles each: 12, and with 14 it settles at 80 to 100 % of that, as the schedulers fall into step.
 * Of 16 registers 14 can be chains; where there are 32, 24 are. Measured on Zen 4: fma needs 4 and 8, add and mul 4 and 6 (512
 * and 256 bits). The others are what their latencies and units ask for. */
#define EACH_1(DO, S) DO(0, S)
#define EACH_14(DO, S) \
    DO(0, S) DO(1, S) DO(2, S) DO(3, S) DO(4, S) DO(5, S) DO(6, S) DO(7, S) DO(8, S) DO(9, S) \
    DO(10, S) DO(11, S) DO(12, S) DO(13, S)
#define EACH_24(DO, S) \
    EACH_14(DO, S) DO(14, S) DO(15, S) DO(16, S) DO(17, S) DO(18, S) DO(19, S) DO(20, S) DO(21, S) \
    DO(22, S) DO(23, S)

#define BEGIN(i, S) S##_vector x##i = S##_load((const S##_element *)begin + i * S##_lanes());
#define END(i, S) S##_store((S##_element *)end + i * S##_lanes(), x##i);
#define DO_FMA(i, S) x##i = S##_fma(x##i, by, plus); KEEP(x##i);
#define DO_SUM(i, S) x##i = S##_sum(x##i, by, plus); KEEP(x##i);
#define DO_ADD(i, S) x##i = S##_add(x##i, plus); KEEP(x##i);
#define DO_MUL(i, S) x##i = S##_mul(x##i, by); KEEP(x##i);
#define DO_BOTH(i, S) DO_MUL(i, S) DO_ADD(i, S)

#define BURST(S, name, TARGET, EACH, DO) \
    TARGET static void S##_burst_##name(const void *begin, void *end, long steps, double factor, double term) { \
        S##_vector by = S##_spread((S##_element)factor), plus = S##_spread((S##_element)term); \
        KEEP(by); \
        KEEP(plus); \
        EACH(BEGIN, S) \
        for (; steps > 0; steps--) { EACH(DO, S) } \
        EACH(END, S) \
    }
#define PLAIN_BURSTS(S, TARGET, EACH) \
    BURST(S, add, TARGET, EACH, DO_ADD) \
    BURST(S, mul, TARGET, EACH, DO_MUL) \
    BURST(S, muladd, TARGET, EACH, DO_BOTH)
#define FUSED_BURSTS(S, TARGET, EACH) \
    BURST(S, fma, TARGET, EACH, DO_FMA) \
    BURST(S, chain, TARGET, EACH_1, DO_SUM)

/* Vectors that the compiler can calculate with; no option of C11 lets it fuse two operations, and KEEP stands between them. */
#define VECTORS(S, TARGET, V, E) \
    typedef V S##_vector; \
    typedef E S##_element; \
    TARGET INLINE int S##_lanes(void) { return (int)(sizeof(V) / sizeof(E)); } \
    TARGET INLINE V S##_load(const E *from) { return *(const V *)from; } \
    TARGET INLINE void S##_store(E *to, V x) { *(V *)to = x; } \
    TARGET INLINE V S##_spread(E x) { return x + (V){0}; } \
    TARGET INLINE V S##_add(V x, V plus) { return x + plus; } \
    TARGET INLINE V S##_mul(V x, V by) { return x * by; }
#define FUSED(S, TARGET, multiplied, summed) \
    TARGET INLINE S##_vector S##_fma(S##_vector x, S##_vector by, S##_vector plus) { return multiplied; } \
    TARGET INLINE S##_vector S##_sum(S##_vector x, S##_vector by, S##_vector plus) { return summed; }

#define PLAIN_SET(S, ISA, SINGLE, CHAINS) \
    {ISA, NULL, SINGLE, false, CHAINS, S##_lanes, {[ADD] = S##_burst_add, [MUL] = S##_burst_mul, [MULADD] = S##_burst_muladd}}
#define SET(S, ISA, NEEDS, SINGLE, SUMS, CHAINS) \
    {ISA, NEEDS, SINGLE, SUMS, CHAINS, S##_lanes, \
     {[FMA] = S##_burst_fma, [MULADD] = S##_burst_muladd, [ADD] = S##_burst_add, [MUL] = S##_burst_mul, [CHAIN] = S##_burst_chain}}

#if defined(__x86_64__)

/* ---- x86-64 ---- */

VECTORS(scalar_d, NO_TARGET, double, double)
VECTORS(scalar_s, NO_TARGET, float, float)
PLAIN_BURSTS(scalar_d, NO_TARGET, EACH_14)
PLAIN_BURSTS(scalar_s, NO_TARGET, EACH_14)
FUSED(scalar_d, FOR("fma"), __builtin_fma(x, by, plus), __builtin_fma(by, plus, x))
FUSED(scalar_s, FOR("fma"), __builtin_fmaf(x, by, plus), __builtin_fmaf(by, plus, x))
FUSED_BURSTS(scalar_d, FOR("fma"), EACH_14)
FUSED_BURSTS(scalar_s, FOR("fma"), EACH_14)

VECTORS(sse2_d, NO_TARGET, __m128d, double)
VECTORS(sse2_s, NO_TARGET, __m128, float)
PLAIN_BURSTS(sse2_d, NO_TARGET, EACH_14)
PLAIN_BURSTS(sse2_s, NO_TARGET, EACH_14)

#define AVX2 FOR("avx2,fma")
VECTORS(avx2_d, AVX2, __m256d, double)
VECTORS(avx2_s, AVX2, __m256, float)
FUSED(avx2_d, AVX2, _mm256_fmadd_pd(x, by, plus), _mm256_fmadd_pd(by, plus, x))
FUSED(avx2_s, AVX2, _mm256_fmadd_ps(x, by, plus), _mm256_fmadd_ps(by, plus, x))
PLAIN_BURSTS(avx2_d, AVX2, EACH_14)
PLAIN_BURSTS(avx2_s, AVX2, EACH_14)
FUSED_BURSTS(avx2_d, AVX2, EACH_14)
FUSED_BURSTS(avx2_s, AVX2, EACH_14)

#define AVX512 FOR("avx512f")
VECTORS(avx512_d, AVX512, __m512d, double)
VECTORS(avx512_s, AVX512, __m512, float)
FUSED(avx512_d, AVX512, _mm512_fmadd_pd(x, by, plus), _mm512_fmadd_pd(by, plus, x))
FUSED(avx512_s, AVX512, _mm512_fmadd_ps(x, by, plus), _mm512_fmadd_ps(by, plus, x))
PLAIN_BURSTS(avx512_d, AVX512, EACH_24)
PLAIN_BURSTS(avx512_s, AVX512, EACH_24)
FUSED_BURSTS(avx512_d, AVX512, EACH_24)
FUSED_BURSTS(avx512_s, AVX512, EACH_24)

static const char *const ISAS[] = {"scalar", "sse2", "avx2", "avx512", NULL};
static const struct set SETS[] = {
    SET(scalar_d, "scalar", "avx2", false, false, 14),
    SET(scalar_s, "scalar", "avx2", true, false, 14),
    PLAIN_SET(sse2_d, "sse2", false, 14),
    PLAIN_SET(sse2_s, "sse2", true, 14),
    SET(avx2_d, "avx2", NULL, false, false, 14),
    SET(avx2_s, "avx2", NULL, true, false, 14),
    SET(avx512_d, "avx512", NULL, false, false, 24),
    SET(avx512_s, "avx512", NULL, true, false, 24),
};

#else

/* ---- AArch64 ---- */

#define ALL_BURSTS(S, TARGET) PLAIN_BURSTS(S, TARGET, EACH_24) FUSED_BURSTS(S, TARGET, EACH_24)

VECTORS(scalar_d, NO_TARGET, double, double)
VECTORS(scalar_s, NO_TARGET, float, float)
FUSED(scalar_d, NO_TARGET, __builtin_fma(x, by, plus), __builtin_fma(by, plus, x))
FUSED(scalar_s, NO_TARGET, __builtin_fmaf(x, by, plus), __builtin_fmaf(by, plus, x))
ALL_BURSTS(scalar_d, NO_TARGET)
ALL_BURSTS(scalar_s, NO_TARGET)

/* NEON can only add a product to the register it changes; anything else would cost a move beside each fma. */
VECTORS(neon_d, NO_TARGET, float64x2_t, double)
VECTORS(neon_s, NO_TARGET, float32x4_t, float)
FUSED(neon_d, NO_TARGET, vfmaq_f64(x, by, plus), vfmaq_f64(x, by, plus))
FUSED(neon_s, NO_TARGET, vfmaq_f32(x, by, plus), vfmaq_f32(x, by, plus))
ALL_BURSTS(neon_d, NO_TARGET)
ALL_BURSTS(neon_s, NO_TARGET)

/* clang before 16 takes SVE only where the whole file may use it. */
#if defined(__ARM_FEATURE_SVE) || (defined(__has_include) && (!defined(__clang__) || __clang_major__ >= 16))
#if __has_include(<arm_sve.h>)
#include <arm_sve.h>
#define WITH_SVE 1
#endif
#endif

#ifdef WITH_SVE
#define SVE FOR("+sve")
#define SVE_VECTORS(S, V, E, bits) \
    typedef V S##_vector; \
    typedef E S##_element; \
    SVE INLINE int S##_lanes(void) { return (int)(svcntb() / sizeof(E)); } \
    SVE INLINE V S##_load(const E *from) { return svld1_f##bits(svptrue_b##bits(), from); } \
    SVE INLINE void S##_store(E *to, V x) { svst1_f##bits(svptrue_b##bits(), to, x); } \
    SVE INLINE V S##_spread(E x) { return svdup_n_f##bits(x); } \
    SVE INLINE V S##_add(V x, V plus) { return svadd_f##bits##_x(svptrue_b##bits(), x, plus); } \
    SVE INLINE V S##_mul(V x, V by) { return svmul_f##bits##_x(svptrue_b##bits(), x, by); }
SVE_VECTORS(sve_d, svfloat64_t, double, 64)
SVE_VECTORS(sve_s, svfloat32_t, float, 32)
FUSED(sve_d, SVE, svmad_f64_x(svptrue_b64(), x, by, plus), svmla_f64_x(svptrue_b64(), x, by, plus))
FUSED(sve_s, SVE, svmad_f32_x(svptrue_b32(), x, by, plus), svmla_f32_x(svptrue_b32(), x, by, plus))
ALL_BURSTS(sve_d, SVE)
ALL_BURSTS(sve_s, SVE)
#endif

static const char *const ISAS[] = {
    "scalar", "neon",
#ifdef WITH_SVE
    "sve",
#endif
    NULL,
};
static const struct set SETS[] = {
    SET(scalar_d, "scalar", NULL, false, false, 24),
    SET(scalar_s, "scalar", NULL, true, false, 24),
    SET(neon_d, "neon", NULL, false, true, 24),
    SET(neon_s, "neon", NULL, true, true, 24),
#ifdef WITH_SVE
    SET(sve_d, "sve", NULL, false, false, 24),
    SET(sve_s, "sve", NULL, true, false, 24),
#endif
};

#endif

#endif
