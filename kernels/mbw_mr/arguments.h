/* What mbw_mr can measure, and what it was asked for. */
#ifndef ADVISOR_MBW_MR_ARGUMENTS_H
#define ADVISOR_MBW_MR_ARGUMENTS_H

#include "../common/kernel.h"

#include <string.h>

enum { MOST_SIZES = 64, MOST_WINDOW = 1024 };

static const struct variant VARIANTS[] = {
    {"mbw_mr", "bytes/s", 0, VARIES, VARIES, 0, "a window of non-blocking sends, answered by 4 bytes"},
    {"bibw", "bytes/s", 0, VARIES, VARIES, 0, "a window sent both ways at once, without a reply; both ways counted"},
    {"latency", "seconds", 0, VARIES, VARIES, 0, "half a ping-pong; the median of the pairs"},
    {"sendrecv", "bytes/s", 0, VARIES, VARIES, 0, "MPI_Sendrecv between the partners of each pair; both ways counted"},
    {.name = NULL},
};

struct sizes {
    size_t size[MOST_SIZES];
    int count;
};

static const char *tests = "mbw_mr";
static struct sizes sizes;
static int window = 64, iterations;
static double least = 0.05;

/* Sizes as a list, 8,64KiB, or as a range of doublings, 1:4MiB. */
static const char *take_sizes(const char *text, void *into) {
    static const char *const wanted = "sizes such as 8,64KiB or 1:4MiB for all doublings between";
    struct sizes *list = into;
    char copy[512], *rest = copy, *piece;
    size_t low, high;
    if (strlen(text) >= sizeof copy) return wanted;
    strcpy(copy, text);
    list->count = 0;
    char *colon = strchr(copy, ':');
    if (colon) {
        *colon = '\0';
        if (take_bytes(copy, &low) || take_bytes(colon + 1, &high) || low > high || high > (size_t)1 << 30) return wanted;
        for (; low <= high; low *= 2) list->size[list->count++] = low;
        return NULL;
    }
    while ((piece = strsep(&rest, ",")) != NULL) {
        if (list->count == MOST_SIZES || take_bytes(piece, &list->size[list->count]) || list->size[list->count] > (size_t)1 << 30)
            return wanted;
        list->count++;
    }
    return NULL;
}

static const struct argument ARGUMENTS[] = {
    {"test", "LIST", "mbw_mr, bibw, latency, sendrecv, separated by commas (default mbw_mr)", take_text, &tests},
    {"sizes", "LIST", "message sizes, 8,64KiB or 1:4MiB for all doublings (default 1:4MiB)", take_sizes, &sizes},
    {"window", "N", "sends before waiting for an answer (default 64)", take_count, &window},
    {"iterations", "N", "windows or ping-pongs per repeat (default: as many as take --seconds)", take_count, &iterations},
    {"seconds", "S", "minimum time per repeat (default 0.05)", take_seconds, &least},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct kernel KERNEL = {"mbw_mr", "message rate", VARIANTS, ARGUMENTS, 5};

#endif
