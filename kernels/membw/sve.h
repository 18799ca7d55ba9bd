/* membw's walks with SVE, whose vectors are as long as the CPU says. HAVE_SVE where this compiler can make them: clang before
 * 16 has the intrinsics only where the whole file is built for SVE. */
#ifndef ADVISOR_MEMBW_SVE_H
#define ADVISOR_MEMBW_SVE_H

#include "streams.h"

#if defined(__aarch64__) && (defined(__ARM_FEATURE_SVE) || !defined(__clang__) || __clang_major__ >= 16)
#define HAVE_SVE 1
#include <arm_sve.h>

#define SET(name) sve_##name
#define TARGET __attribute__((target("+sve")))

typedef svfloat64_t sve_vector;

TARGET INLINE size_t sve_lanes(void) { return svcntd(); }
TARGET INLINE svfloat64_t sve_load(const char *from) { return svld1_f64(svptrue_b64(), (const double *)(const void *)from); }
TARGET INLINE svfloat64_t sve_load_nt(const char *from) { return svldnt1_f64(svptrue_b64(), (const double *)(const void *)from); }
TARGET INLINE void sve_store(char *to, svfloat64_t v) { svst1_f64(svptrue_b64(), (double *)(void *)to, v); }
TARGET INLINE void sve_store_nt(char *to, svfloat64_t v) { svstnt1_f64(svptrue_b64(), (double *)(void *)to, v); }
TARGET INLINE svfloat64_t sve_fill(double x) { return svdup_n_f64(x); }
TARGET INLINE svfloat64_t sve_add(svfloat64_t x, svfloat64_t y) { return svadd_f64_x(svptrue_b64(), x, y); }
TARGET INLINE svfloat64_t sve_mul(svfloat64_t x, svfloat64_t y) { return svmul_f64_x(svptrue_b64(), x, y); }
TARGET INLINE svfloat64_t sve_fma(svfloat64_t x, svfloat64_t y, svfloat64_t z) { return svmla_f64_x(svptrue_b64(), z, x, y); }
TARGET INLINE double sve_total(svfloat64_t v) { return svaddv_f64(svptrue_b64(), v); }

#include "walk.inc"

__attribute__((target("+sve"))) static inline size_t sve_bytes(void) { return svcntb(); }
#else
static inline size_t sve_bytes(void) { return 0; }
#endif

#endif
