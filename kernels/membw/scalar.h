/* membw's walks one double at a time. A "vector" is two doubles, as AArch64 can store only pairs past the cache. */
#ifndef ADVISOR_MEMBW_SCALAR_H
#define ADVISOR_MEMBW_SCALAR_H

#include "streams.h"

/* Whether single doubles can be loaded and stored past the cache. */
#if defined(__x86_64__)
enum { SCALAR_LOAD_NT = 0, SCALAR_STORE_NT = 1 };
#elif defined(__aarch64__)
enum { SCALAR_LOAD_NT = 1, SCALAR_STORE_NT = 1 };
#else
enum { SCALAR_LOAD_NT = 0, SCALAR_STORE_NT = 0 };
#endif

#define SET(name) scalar_##name
#define TARGET

typedef struct {
    double one, two;
} scalar_vector;

/* An empty instruction on each double keeps the compiler from joining them to a vector. */
INLINE scalar_vector scalar_of(double one, double two) {
#if defined(__x86_64__)
    __asm__("" : "+x"(one), "+x"(two));
#elif defined(__aarch64__)
    __asm__("" : "+w"(one), "+w"(two));
#endif
    return (scalar_vector){one, two};
}

INLINE size_t scalar_lanes(void) { return 2; }

INLINE scalar_vector scalar_load(const char *from) {
    const double *doubles = (const void *)from;
    return scalar_of(doubles[0], doubles[1]);
}

INLINE scalar_vector scalar_load_nt(const char *from) {
#if defined(__aarch64__)
    scalar_vector value;
    __asm__ volatile("ldnp %d0, %d1, [%2]" : "=w"(value.one), "=w"(value.two) : "r"(from) : "memory");
    return value;
#else
    return scalar_load(from); /* never asked for: SCALAR_LOAD_NT */
#endif
}

INLINE void scalar_store(char *to, scalar_vector value) {
    double *doubles = (void *)to;
    doubles[0] = value.one;
    doubles[1] = scalar_of(value.two, 0.0).one;
}

INLINE void scalar_store_nt(char *to, scalar_vector value) {
#if defined(__x86_64__)
    long long bits[2];
    __builtin_memcpy(bits, &value, sizeof bits);
    _mm_stream_si64((void *)to, bits[0]);
    _mm_stream_si64((void *)(to + sizeof(double)), bits[1]);
#elif defined(__aarch64__)
    __asm__ volatile("stnp %d1, %d2, [%0]" : : "r"(to), "w"(value.one), "w"(value.two) : "memory");
#else
    scalar_store(to, value); /* never asked for: SCALAR_STORE_NT */
#endif
}

/* Macros, as gcc makes longer loops of functions that take two doubles as one struct. */
#define scalar_fill(x) ((scalar_vector){x, x})
#define scalar_add(x, y) scalar_of((x).one + (y).one, (x).two + (y).two)
#define scalar_mul(x, y) scalar_of((x).one * (y).one, (x).two * (y).two)
#define scalar_fma(x, y, z) scalar_of((x).one * (y).one + (z).one, (x).two * (y).two + (z).two)
INLINE double scalar_total(scalar_vector x) { return x.one + x.two; }

#include "walk.inc"

#endif
