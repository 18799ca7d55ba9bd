/* The instruction sets that membw was built with. Each has a file of its own, which says what its vectors can. */
#ifndef ADVISOR_MEMBW_SETS_H
#define ADVISOR_MEMBW_SETS_H

#include "../common/kernel.h"

#include <string.h>

#include "scalar.h"
#include "streams.h"
#if defined(__x86_64__)
#include "avx2.h"
#include "avx512.h"
#include "sse4.h"
#elif defined(__aarch64__)
#include "neon.h"
#endif
#include "sve.h"

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

/* Four vectors must fill blocks exactly: true of SVE up to 512 bits, more than any CPU has today. */
static inline bool set_fits(const struct set *set) {
    return strcmp(set->name, "sve") != 0 || !cpu_has("sve") || BLOCK % (4 * sve_bytes()) == 0;
}

#endif
