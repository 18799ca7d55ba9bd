/* What membw can measure, and what it was asked to. */
#ifndef ADVISOR_MEMBW_WAYS_H
#define ADVISOR_MEMBW_WAYS_H

#include "membw_shape.h"

#include <stdlib.h>

struct way {
    const char *name;
    enum pattern pattern;
    bool past;    /* its stores, or for want of any its loads, go past the cache */
    bool library; /* memcpy */
    int arrays;   /* that it uses */
    int counted;  /* of those that it reads and those that it writes */
};

enum { WAYS = 15, MOST_ENTRIES = 64, MOST_ARRAYS = 3 };

static const struct way ways[WAYS] = {
    {"load", LOAD, false, false, 1, 1},     {"load-nt", LOAD, true, false, 1, 1},
    {"store", STORE, false, false, 1, 1},   {"store-nt", STORE, true, false, 1, 1},
    {"copy", COPY, false, false, 2, 2},     {"copy-nt", COPY, true, false, 2, 2},
    {"scale", SCALE, false, false, 2, 2},   {"scale-nt", SCALE, true, false, 2, 2},
    {"add", ADD, false, false, 3, 3},       {"add-nt", ADD, true, false, 3, 3},
    {"triad", TRIAD, false, false, 3, 3},   {"triad-nt", TRIAD, true, false, 3, 3},
    {"update", UPDATE, false, false, 1, 2}, {"update-nt", UPDATE, true, false, 1, 2},
    {"copy-memcpy", COPY, false, true, 2, 2},
};

static const char *const variants[] = {
    "load bytes/s: 8 bytes, 1 flop; load-nt past the cache",
    "store bytes/s: 8 bytes, 0 flops; store-nt past the cache",
    "copy bytes/s: 16 bytes, 0 flops; copy-nt past the cache; copy-memcpy as the C library does",
    "scale bytes/s: 16 bytes, 1 flop; scale-nt past the cache",
    "add bytes/s: 24 bytes, 1 flop; add-nt past the cache",
    "triad bytes/s: 24 bytes, 2 flops; triad-nt past the cache",
    "update bytes/s: 16 bytes, 1 flop; update-nt past the cache",
    NULL,
};

struct entry {
    const struct way *way;
    bool wanted; /* by its name, not as one of all */
    bool fixed;  /* the shape was asked for: no trials */
    struct shape shape;
};

static struct request {
    struct entry entries[MOST_ENTRIES];
    int count;
    size_t bytes;
    double seconds, trial_seconds;
    int streams; /* 0: find out */
} request = {.bytes = (size_t)1 << 30, .seconds = 0.1, .trial_seconds = 0.005};

static const char *add_pattern(const char *name, const char *shape) {
    static const char *const wanted = "load, store, copy, scale, add, triad, update, NAME-nt, copy-memcpy or all, with commas between";
    bool all = strcmp(name, "all") == 0, found = false;
    for (int i = 0; i < WAYS; i++) {
        if (!all && strcmp(ways[i].name, name) != 0) continue;
        if (request.count == MOST_ENTRIES) return "at most 64 patterns";
        struct entry *entry = &request.entries[request.count++];
        *entry = (struct entry){.way = &ways[i], .wanted = !all, .fixed = shape != NULL, .shape = {.streams = 1}};
        if (shape && !read_shape(shape, &entry->shape)) return "after a colon a shape such as 8-far-nta-256";
        found = true;
    }
    return found ? NULL : wanted;
}

static const char *take_patterns(const char *text, void *into) {
    (void)into;
    request.count = 0;
    char *copy = strdup(text);
    if (!copy) kernel_fail(KERNEL_CANNOT, "out of memory");
    const char *wanted = NULL;
    for (char *rest = copy, *each; !wanted && (each = strsep(&rest, ",")) != NULL;) {
        char *shape = strchr(each, ':');
        if (shape) *shape++ = '\0';
        wanted = add_pattern(each, shape);
    }
    free(copy);
    return wanted;
}

static const char *take_streams(const char *text, void *into) {
    if (strcmp(text, "auto") != 0) return take_count(text, into) ? "auto, or how many" : NULL;
    *(int *)into = 0;
    return NULL;
}

static const struct argument own[] = {
    {"pattern", "LIST", "what to measure, with commas between; all (default) is what the instructions have; NAME:SHAPE without trials",
     take_patterns, NULL},
    {"bytes", "SIZE", "all arrays of the pattern that needs most of them (default: 1GiB)", take_bytes, &request.bytes},
    {"seconds", "S", "a repeat takes at least so long (default: 0.1)", take_seconds, &request.seconds},
    {"trial-seconds", "S", "so long for each trial of a shape (default: 0.005)", take_seconds, &request.trial_seconds},
    {"streams", "N", "streams that each thread walks at once: auto tries (default), or 1, 2, 3, 4, 6, 8, 16", take_streams, &request.streams},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct kernel kernel = {
    .name = "membw",
    .summary = "memory bandwidth: load, store, copy, scale, add, triad, update; regular stores, and past the cache (-nt)",
    .variants = variants,
    .own = own,
    .default_repeats = 10,
};

#endif
