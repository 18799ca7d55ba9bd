/* The table of membw's patterns: everything that membw knows of one, but for its line in walk.inc (the statement) and in
 * parts.h (what must come of it). */
#ifndef ADVISOR_MEMBW_PATTERNS_H
#define ADVISOR_MEMBW_PATTERNS_H

#include "../common/kernel.h"
#include "streams.h"

enum how { PLAIN, NT, LIBRARY }; /* through the cache; past it (non-temporal); as the C library's memcpy does */

struct pattern {
    struct variant variant; /* one iteration is an element of each array: a; a and b; a, b and c */
    enum operation operation;
    enum how how;
};

/* Bytes are counted as STREAM counts them: without the read that a store through the cache makes first. */
static const struct pattern patterns[] = {
    /* name         unit     arrays read wrote flops iteration                          operation  how */
    {{"load",        "bytes/s", 1,  8, 0, 1, "sum += a"},                           LOAD,   PLAIN},
    {{"load-nt",     "bytes/s", 1,  8, 0, 1, "sum += a, non-temporal loads"},       LOAD,   NT},
    {{"store",       "bytes/s", 1,  0, 8, 0, "a = s"},                              STORE,  PLAIN},
    {{"store-nt",    "bytes/s", 1,  0, 8, 0, "a = s, non-temporal stores"},         STORE,  NT},
    {{"copy",        "bytes/s", 2,  8, 8, 0, "a = b"},                              COPY,   PLAIN},
    {{"copy-nt",     "bytes/s", 2,  8, 8, 0, "a = b, non-temporal stores"},         COPY,   NT},
    {{"scale",       "bytes/s", 2,  8, 8, 1, "a = s*b"},                            SCALE,  PLAIN},
    {{"scale-nt",    "bytes/s", 2,  8, 8, 1, "a = s*b, non-temporal stores"},       SCALE,  NT},
    {{"add",         "bytes/s", 3, 16, 8, 1, "a = b + c"},                          ADD,    PLAIN},
    {{"add-nt",      "bytes/s", 3, 16, 8, 1, "a = b + c, non-temporal stores"},     ADD,    NT},
    {{"triad",       "bytes/s", 3, 16, 8, 2, "a = b + s*c"},                        TRIAD,  PLAIN},
    {{"triad-nt",    "bytes/s", 3, 16, 8, 2, "a = b + s*c, non-temporal stores"},   TRIAD,  NT},
    {{"update",      "bytes/s", 1,  8, 8, 1, "a = s*a"},                            UPDATE, PLAIN},
    {{"update-nt",   "bytes/s", 1,  8, 8, 1, "a = s*a, non-temporal stores"},       UPDATE, NT},
    {{"copy-memcpy", "bytes/s", 2,  8, 8, 0, "a = b, by the C library's memcpy"},   COPY,   LIBRARY},
};

enum { PATTERNS = sizeof patterns / sizeof *patterns, MOST_ARRAYS = 3 };

static inline const char *name_of(const struct pattern *pattern) { return pattern->variant.name; }
static inline bool is_nt(const struct pattern *pattern) { return pattern->how == NT; }

/* Arrays that a pass counts: those it reads and those it writes. */
static inline int counted_arrays(const struct pattern *pattern) {
    return (pattern->variant.read + pattern->variant.written) / (int)sizeof(double);
}

#endif
