/* What memlat was asked for, and whether it fits together. */
#ifndef ADVISOR_MEMLAT_ARGUMENTS_H
#define ADVISOR_MEMLAT_ARGUMENTS_H

#include "chain.h"
#include "load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZES = 256 };

static const struct variant VARIANTS[] = {
    {"chase", "seconds", 1, 8, 0, 0, "each load waits for the one before it; lines in random order"},
    {"stride", "seconds", 1, 8, 0, 0, "each load waits for the one before it; lines in address order"},
    {"lines", "seconds", 1, 8, 0, 1, "independent loads; lines in the order of addresses"},
    {"chase-loaded", "seconds", 1, 8, 0, 0, "chase while other CPUs stream"},
    {.name = NULL},
};

static struct {
    size_t bytes, size[MOST_SIZES], line, chunk, load_bytes;
    int sizes, written; /* of the streams of a loading CPU, so many are written */
    bool ladder, stride, lines, steps, rated;
    double seconds, rate; /* all loading CPUs together */
    const char *kind;
    struct cpu_list loading;
} options = {.bytes = (size_t)1 << 30, .line = 64, .seconds = 0.05, .rate = INFINITY, .kind = "load"};

static const char *take_sizes(const char *text, void *into) {
    static const char *const wanted = "ladder, or sizes such as 32KiB,1MiB";
    char word[32];
    (void)into;
    options.ladder = strcmp(text, "ladder") == 0;
    for (options.sizes = 0; !options.ladder;) {
        size_t length = strcspn(text, ",");
        if (length >= sizeof word || options.sizes == MOST_SIZES) return wanted;
        memcpy(word, text, length);
        word[length] = '\0';
        if (take_bytes(word, &options.size[options.sizes++])) return wanted;
        if (text[length] == '\0') break;
        text += length + 1;
    }
    return NULL;
}

static const char *take_line(const char *text, void *into) {
    size_t line;
    bool good = !take_bytes(text, &line) && line >= sizeof(struct line) && line <= 4096 && (line & (line - 1)) == 0;
    if (good) *(size_t *)into = line;
    return good ? NULL : "a power of two, 16 to 4096";
}

static const char *take_rate(const char *text, void *into) {
    char *rest;
    (void)into;
    options.rated = true;
    options.rate = INFINITY;
    options.steps = strcmp(text, "steps") == 0;
    if (options.steps || strcmp(text, "max") == 0) return NULL;
    errno = 0;
    options.rate = strtod(text, &rest);
    bool good = errno == 0 && rest != text && *rest == '\0' && options.rate > 0.0 && options.rate < 1e15;
    return good ? NULL : "max, steps or bytes/s such as 5e9";
}

static const char *take_kind(const char *text, void *into) {
    static const char *const kinds[] = {"load", "copy-nt", "store-nt"};
    (void)into;
    for (int i = 0; i < 3; i++)
        if (strcmp(text, kinds[i]) == 0) {
            options.kind = kinds[i];
            options.written = i * STREAMS / 2;
            return NULL;
        }
    return "load, copy-nt or store-nt";
}

static const struct argument ARGUMENTS[] = {
    {"bytes", "SIZE", "memory to walk, and the ladder's end (default 1GiB)", take_bytes, &options.bytes},
    {"sizes", "LIST", "walk each of these sizes, or `ladder`: 4KiB, 6KiB, 8KiB, 12KiB and so on to --bytes", take_sizes, NULL},
    {"stride", NULL, "chase in the order of addresses", take_flag, &options.stride},
    {"lines", NULL, "do not chase: load the lines in order, none waiting for another", take_flag, &options.lines},
    {"line", "SIZE", "from one line to the next (default 64)", take_line, &options.line},
    {"chunk", "SIZE", "walk this many bytes completely before the next: fewer address translations", take_bytes, &options.chunk},
    {"seconds", "S", "approximate time per repeat (default 0.05)", take_seconds, &options.seconds},
    {"load-cpus", "LIST", "CPUs that stream meanwhile", take_cpus, &options.loading},
    {"load-rate", "RATE", "bytes/s of all together; max; or steps: none, max, eighths of max (default max)", take_rate, NULL},
    {"load-kind", "KIND", "what they do: load, copy-nt (as much read as written) or store-nt (default load)", take_kind, NULL},
    {"load-bytes", "SIZE", "memory per CPU (default: --bytes divided among them, at least 64MiB)", take_bytes, &options.load_bytes},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct kernel KERNEL = {"memlat", "memory latency", VARIANTS, ARGUMENTS, 5};

static void check_shape(void) {
    bool in_order = options.stride || options.lines, loaded = options.loading.count > 0;
    if (options.stride && options.lines) kernel_fail(KERNEL_USAGE, "--stride and --lines: give one of them");
    if (in_order && loaded) kernel_fail(KERNEL_USAGE, "--load-cpus goes with the random chase: leave out --stride and --lines");
    if (in_order && options.chunk) kernel_fail(KERNEL_USAGE, "--chunk goes with the random chase: leave out --stride and --lines");
    if (options.rated && !loaded) kernel_fail(KERNEL_USAGE, "--load-rate needs --load-cpus");
    if (options.chunk && options.chunk < 2 * options.line) kernel_fail(KERNEL_USAGE, "--chunk %zu: less than two lines", options.chunk);
}

static void climb(void) {
    for (size_t octave = 4096; octave <= options.bytes; octave *= 2) {
        options.size[options.sizes++] = octave;
        if (octave + octave / 2 <= options.bytes) options.size[options.sizes++] = octave + octave / 2;
    }
    if (options.sizes == 0) kernel_fail(KERNEL_USAGE, "--bytes %zu: the ladder begins at 4KiB", options.bytes);
}

/* Returns the largest. */
static size_t check_sizes(void) {
    size_t largest = 0;
    if (options.ladder) climb();
    else if (options.sizes == 0) options.size[options.sizes++] = options.bytes;
    for (int i = 0; i < options.sizes; i++) {
        size_t size = options.size[i];
        if (size < 2 * options.line) kernel_fail(KERNEL_USAGE, "%zu bytes are less than two lines of %zu", size, options.line);
        if (size / options.line > UINT32_MAX) kernel_fail(KERNEL_USAGE, "%zu bytes are too many lines: raise --line", size);
        if (size > largest) largest = size;
    }
    return largest;
}

/* The chasing CPU, then the loading ones. */
static struct cpu_list check_cpus(struct common *common) {
    struct cpu_list all = {malloc(((size_t)options.loading.count + 1) * sizeof(int)), 1 + options.loading.count};
    if (!all.cpu) kernel_fail(KERNEL_CANNOT, "out of memory");
    common->cpus.count = 1;
    all.cpu[0] = common->cpus.cpu[0];
    for (int i = 0; i < options.loading.count; i++) {
        all.cpu[i + 1] = options.loading.cpu[i];
        if (all.cpu[i + 1] == all.cpu[0])
            kernel_fail(KERNEL_USAGE, "--load-cpus: CPU %d is the one that chases; give others", all.cpu[0]);
    }
    return all;
}

static struct loader *check_loaders(const struct common *common) {
    size_t count = (size_t)options.loading.count, piece = STREAMS * BLOCK, least = (size_t)64 << 20;
    if (count == 0) return NULL;
    if (options.load_bytes == 0) options.load_bytes = options.bytes / count > least ? options.bytes / count : least;
    if (options.load_bytes < piece) kernel_fail(KERNEL_USAGE, "--load-bytes %zu: at least %zu are needed", options.load_bytes, piece);
    options.load_bytes -= options.load_bytes % piece;
    return take_loaders(common, count, options.load_bytes, options.written);
}

#endif
