/* What membw was asked for. */
#ifndef ADVISOR_MEMBW_ARGUMENTS_H
#define ADVISOR_MEMBW_ARGUMENTS_H

#include "patterns.h"
#include "shapes.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ENTRIES = 64 };

struct entry {
    const struct pattern *pattern;
    bool by_name; /* not as one of all */
    bool fixed;   /* the shape was asked for: no trials */
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
    static const char *const wanted = "all, or names such as load,triad-nt (see --list)";
    bool all = strcmp(name, "all") == 0, found = false;
    for (int i = 0; i < PATTERNS; i++) {
        if (!all && strcmp(name_of(&patterns[i]), name) != 0) continue;
        if (request.count == MOST_ENTRIES) return "at most 64 patterns";
        struct entry *entry = &request.entries[request.count++];
        *entry = (struct entry){.pattern = &patterns[i], .by_name = !all, .fixed = shape != NULL, .shape = {.streams = 1}};
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
    {"pattern", "LIST", "what to measure, separated by commas; all (default) is all the instructions offer; NAME:SHAPE without trials",
     take_patterns, NULL},
    {"bytes", "SIZE", "all arrays of the pattern that needs the most (default: 1GiB)", take_bytes, &request.bytes},
    {"seconds", "S", "minimum time per repeat (default: 0.1)", take_seconds, &request.seconds},
    {"trial-seconds", "S", "time for each trial of a shape (default: 0.005)", take_seconds, &request.trial_seconds},
    {"streams", "N", "streams each thread walks at once: auto tries (default), or 1, 2, 3, 4, 6, 8, 16", take_streams, &request.streams},
    {NULL, NULL, NULL, NULL, NULL},
};

static struct variant variants[PATTERNS + 1]; /* of every pattern, for --list */

static const struct kernel kernel = {
    .name = "membw",
    .summary = "memory bandwidth",
    .variants = variants,
    .own = own,
    .default_repeats = 10,
};

static void read_arguments(int argc, char **argv, struct common *common) {
    for (int i = 0; i < PATTERNS; i++) variants[i] = patterns[i].variant;
    kernel_arguments(&kernel, argc, argv, common);
    if (request.count == 0) add_pattern("all", NULL);
}

#endif
