/* What peakflops can measure, and what it was asked for. */
#ifndef ADVISOR_PEAKFLOPS_ARGUMENTS_H
#define ADVISOR_PEAKFLOPS_ARGUMENTS_H

#include "../common/kernel.h"

#include <string.h>

#include "sets.h"

enum { RATE_COUNT = 2 * OPERATIONS, CLOCK = RATE_COUNT };

/* The rates in the order of `enum operation`: with vectors, then without. */
static const struct variant VARIANTS[] = {
    {"fma", "flop/s", 0, 0, 0, 2, "fused multiply-add, x = x*f + t in each lane of a vector"},
    {"muladd", "flop/s", 0, 0, 0, 2, "multiply and add, x = x*f and then x = x + t in each lane of a vector"},
    {"add", "flop/s", 0, 0, 0, 1, "add, x = x + t in each lane of a vector"},
    {"mul", "flop/s", 0, 0, 0, 1, "multiply, x = x*f in each lane of a vector"},
    {"chain", "flop/s", 0, 0, 0, 2, "chain of adds, fma after fma, each waiting for the one before"},
    {"scalar-fma", "flop/s", 0, 0, 0, 2, "fused multiply-add, one number at a time"},
    {"scalar-muladd", "flop/s", 0, 0, 0, 2, "multiply and add, one number at a time"},
    {"scalar-add", "flop/s", 0, 0, 0, 1, "add, one number at a time"},
    {"scalar-mul", "flop/s", 0, 0, 0, 1, "multiply, one number at a time"},
    {"scalar-chain", "flop/s", 0, 0, 0, 2, "chain of adds, one number at a time"},
    {"clock", "hertz", 0, VARIES, VARIES, VARIES, "clock, under scalar and vector load"},
    {.name = NULL},
};

static enum operation operation_of(int rate) { return (enum operation)(rate % OPERATIONS); }
static bool is_scalar(int rate) { return rate >= OPERATIONS; }

static struct {
    bool variant[RATE_COUNT + 1], all, single;
    double seconds, tick;
} options = {.all = true, .seconds = 0.1};

static bool want(const char *name, size_t length) {
    for (int i = 0; i <= CLOCK; i++) {
        const char *known = VARIANTS[i].name;
        if (strlen(known) == length && strncmp(known, name, length) == 0) return options.variant[i] = true;
    }
    return false;
}

static const char *take_variants(const char *text, void *into) {
    (void)into;
    options.all = strcmp(text, "all") == 0;
    memset(options.variant, 0, sizeof options.variant);
    while (!options.all) {
        size_t length = strcspn(text, ",");
        if (!want(text, length)) return "all, or names such as fma,scalar-add (see --list)";
        if (text[length] == '\0') break;
        text += length + 1;
    }
    return NULL;
}

static const char *take_precision(const char *text, void *into) {
    (void)into;
    options.single = strcmp(text, "single") == 0;
    return options.single || strcmp(text, "double") == 0 ? NULL : "double or single";
}

static const struct argument ARGUMENTS[] = {
    {"variants", "LIST", "everything this CPU can do (default), or names such as fma,scalar-add,clock", take_variants, NULL},
    {"precision", "WIDTH", "double (default) or single", take_precision, NULL},
    {"seconds", "S", "time per repeat (default 0.1)", take_seconds, &options.seconds},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct kernel KERNEL = {"peakflops", "floating point", VARIANTS, ARGUMENTS, 5};

#endif
