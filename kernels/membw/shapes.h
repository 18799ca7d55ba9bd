/* Shapes in which a thread can walk its part of memory: how many streams at once, how far apart, with which hints. */
#ifndef ADVISOR_MEMBW_SHAPES_H
#define ADVISOR_MEMBW_SHAPES_H

#include "sets.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 4096, MOST_SHAPES = 256, SHAPE_TEXT = 32 };

struct shape {
    int streams;
    bool far; /* as far apart as the part is long; else one page */
    enum hint hint;
    int ahead; /* bytes; 0 without hints */
    const struct set *set; /* NULL: the widest instructions, or those asked for */
};

static const char *const hint_names[HINTS] = {"none", "l1", "l2", "nta", "w"};

static inline bool find_hint(const char *name, enum hint *hint) {
    for (int i = 0; i < HINTS; i++)
        if (strcmp(name, hint_names[i]) == 0) {
            *hint = (enum hint)i;
            return true;
        }
    return false;
}

static inline const struct set *find_set(const char *name) {
    for (size_t i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, name) == 0 && cpu_has(name) && set_fits(&sets[i])) return &sets[i];
    return NULL;
}

static inline void write_shape(const struct shape *shape, char text[SHAPE_TEXT]) {
    int length = snprintf(text, SHAPE_TEXT, "%d-%s-%s-%d", shape->streams, shape->far ? "far" : "near", hint_names[shape->hint], shape->ahead);
    if (shape->set) snprintf(text + length, SHAPE_TEXT - (size_t)length, "-%s", shape->set->name);
}

/* 8-far-nta-256 or 8-far-nta-256-avx2: what `shape` of a result says can be asked for again. */
static inline bool read_shape(const char *text, struct shape *shape) {
    char place[5], hint[5], set[8], again[SHAPE_TEXT];
    int read = sscanf(text, "%4d-%4[a-z]-%4[a-z0-9]-%5d-%7[a-z0-9]", &shape->streams, place, hint, &shape->ahead, set);
    if (read < 4) return false;
    shape->far = strcmp(place, "far") == 0;
    shape->set = read == 5 ? find_set(set) : NULL;
    if (shape->streams <= 0 || shape->ahead < 0 || !find_hint(hint, &shape->hint)) return false;
    write_shape(shape, again);
    return strcmp(text, again) == 0;
}

/* How a part of so many bytes is walked in a shape: groups of streams, then a rest in one stream. */
struct layout {
    size_t apart, group, groups;
};

/* Streams an odd number of pages apart seldom meet in one bank of memory or one set of a cache. */
static inline struct layout lay_out(const struct shape *shape, size_t part) {
    size_t count = (size_t)shape->streams, pages = shape->far ? part / count / PAGE : 1;
    struct layout layout = {.apart = (pages > 1 && pages % 2 == 0 ? pages - 1 : pages) * PAGE};
    layout.group = layout.apart * count;
    layout.groups = layout.group ? part / layout.group : 0;
    return layout;
}

static inline bool fits(const struct shape *shape, size_t part) { return lay_out(shape, part).groups > 0; }

/* A hint does nothing for an operation that neither reads nor, through the cache, writes what it would fetch. */
static inline bool useful(enum operation operation, bool nt, enum hint hint) {
    if (hint == HINT_WRITE) return operation != LOAD && !nt;
    return hint == HINT_NONE || operation != STORE;
}

/* The shapes worth trying; of those, only with so many streams where `streams` > 0. Returns how many. */
static inline int list_shapes(enum operation operation, bool nt, int streams, size_t part, struct shape list[MOST_SHAPES]) {
    static const struct {
        int streams;
        bool far;
    } places[] = {{1, false}, {4, false}, {8, false}, {2, true}, {3, true}, {4, true}, {6, true}, {8, true}, {16, true}};
    static const struct {
        enum hint hint;
        int ahead;
    } hints[] = {
        {HINT_NONE, 0},   {HINT_L1, 256},   {HINT_L1, 1024},  {HINT_L2, 1024},   {HINT_L2, 4096},
        {HINT_ONCE, 128}, {HINT_ONCE, 256}, {HINT_ONCE, 512}, {HINT_WRITE, 256}, {HINT_WRITE, 1024},
    };
    int count = 0;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t h = 0; h < sizeof hints / sizeof *hints; h++) {
            struct shape shape = {places[p].streams, places[p].far, hints[h].hint, hints[h].ahead, NULL};
            if ((streams == 0 || streams == shape.streams) && useful(operation, nt, shape.hint) && fits(&shape, part))
                list[count++] = shape;
        }
    return count;
}

#endif
