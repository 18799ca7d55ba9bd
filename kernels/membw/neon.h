/* membw's walks with NEON. A "vector" is two registers, which is what STNP stores past the cache. */
#ifndef ADVISOR_MEMBW_NEON_H
#define ADVISOR_MEMBW_NEON_H

#include "streams.h"

#include <arm_neon.h>

#define SET(name) neon_##name
#define TARGET

typedef float64x2x2_t neon_vector;

INLINE neon_vector neon_of(float64x2_t low, float64x2_t high) { return (neon_vector){{low, high}}; }

INLINE size_t neon_lanes(void) { return 4; }

INLINE neon_vector neon_load_nt(const char *from) {
    neon_vector v;
    __asm__ volatile("ldnp %q0, %q1, [%2]" : "=w"(v.val[0]), "=w"(v.val[1]) : "r"(from) : "memory");
    return v;
}

INLINE void neon_store(char *to, neon_vector v) {
    vst1q_f64((double *)(void *)to, v.val[0]);
    vst1q_f64((double *)(void *)to + 2, v.val[1]);
}

INLINE void neon_store_nt(char *to, neon_vector v) {
    __asm__ volatile("stnp %q1, %q2, [%0]" : : "r"(to), "w"(v.val[0]), "w"(v.val[1]) : "memory");
}

/* Macros, as gcc makes longer loops of functions that take two registers as one struct. */
#define neon_load(from) neon_of(vld1q_f64((const void *)(from)), vld1q_f64((const double *)(const void *)(from) + 2))
#define neon_fill(x) neon_of(vdupq_n_f64(x), vdupq_n_f64(x))
#define neon_add(x, y) neon_of(vaddq_f64((x).val[0], (y).val[0]), vaddq_f64((x).val[1], (y).val[1]))
#define neon_mul(x, y) neon_of(vmulq_f64((x).val[0], (y).val[0]), vmulq_f64((x).val[1], (y).val[1]))
#define neon_fma(x, y, z) neon_of(vfmaq_f64((z).val[0], (x).val[0], (y).val[0]), vfmaq_f64((z).val[1], (x).val[1], (y).val[1]))
#define neon_total(x) vaddvq_f64(vaddq_f64((x).val[0], (x).val[1]))

#include "walk.inc"

#endif
