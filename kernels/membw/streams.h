/* What a walk over memory is asked for: the operation, its streams, and how it prefetches. */
#ifndef ADVISOR_MEMBW_STREAMS_H
#define ADVISOR_MEMBW_STREAMS_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* A thread turns to its next stream after so many bytes. Longer blocks were slower: fewer lines on their way at once. */
#define BLOCK ((size_t)256)
#define LINE ((size_t)64)

enum operation { LOAD, STORE, COPY, SCALE, ADD, TRIAD, UPDATE };
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

/* Every combination of operation, non-temporal (0 or 1) and hint has a walk of its own, so that none is decided in the inner
 * loop. The order is that of walker_place. */
#define EACH_HINT(DO, operation, nt) \
    DO(operation, nt, HINT_NONE) DO(operation, nt, HINT_L1) DO(operation, nt, HINT_L2) \
    DO(operation, nt, HINT_ONCE) DO(operation, nt, HINT_WRITE)
#define EACH_OPERATION(DO, nt) \
    EACH_HINT(DO, LOAD, nt) EACH_HINT(DO, STORE, nt) EACH_HINT(DO, COPY, nt) EACH_HINT(DO, SCALE, nt) \
    EACH_HINT(DO, ADD, nt) EACH_HINT(DO, TRIAD, nt) EACH_HINT(DO, UPDATE, nt)
#define EACH_WALK(DO) EACH_OPERATION(DO, 0) EACH_OPERATION(DO, 1)

/* Place of a walk in the table of an instruction set: the non-temporal ones come after the others. */
enum { FIRST_NT = (UPDATE + 1) * HINTS };
static inline size_t walker_place(enum operation operation, bool nt, enum hint hint) {
    return (nt ? FIRST_NT : 0) + (size_t)operation * HINTS + hint;
}

/* Waits until non-temporal stores are done. AArch64 needs no instruction: the threads' meeting afterwards waits for them. */
INLINE void drain(void) {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

#endif
