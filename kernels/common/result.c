/* What every kernel shares: the line of a result, with where its pages really are. */
#include "kernel.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SAMPLES = 4096 };

static bool first_field;

static void field(const char *name) {
    printf("%s\"%s\": ", first_field ? "{" : ", ", name);
    first_field = false;
}

void line_text(const char *name, const char *text) {
    field(name);
    printf("\"%s\"", text); /* our own words only: nothing to escape */
}

void line_number(const char *name, double number) {
    field(name);
    printf("%.9g", number);
}

void line_whole(const char *name, long long number) {
    field(name);
    printf("%lld", number);
}

void line_flag(const char *name, bool yes) {
    field(name);
    fputs(yes ? "true" : "false", stdout);
}

void line_numbers(const char *name, const double *numbers, int count) {
    field(name);
    putchar('[');
    for (int i = 0; i < count; i++) printf("%s%.9g", i ? ", " : "", numbers[i]);
    putchar(']');
}

void line_begin(const struct kernel *kernel, const struct common *common, const char *variant, const char *unit) {
    first_field = true;
    line_whole("contract", KERNEL_CONTRACT);
    line_text("kernel", kernel->name);
    line_text("variant", variant);
    line_text("unit", unit);
    field("cpus");
    for (int i = 0; i < common->cpus.count; i++) printf("%s%d", i ? ", " : "[", common->cpus.cpu[i]);
    putchar(']');
    if (common->node >= 0) line_whole("node", common->node);
}

void line_pages(const void *memory, size_t bytes) {
    static void *where[SAMPLES];
    static int status[SAMPLES];
    static int count[MOST_NODES];
    size_t page = page_bytes(), pages = bytes / page, used = pages < SAMPLES ? pages : SAMPLES;
    int unknown = 0;
    memset(count, 0, sizeof count);
    for (size_t i = 0; i < used; i++) where[i] = (char *)memory + i * pages / used * page;
    bool told = syscall(SYS_move_pages, 0, used, where, NULL, status, 0) == 0;
    for (size_t i = 0; i < used; i++)
        if (told && status[i] >= 0 && status[i] < MOST_NODES) count[status[i]]++;
        else unknown++;
    field("pages");
    putchar('{');
    const char *comma = "";
    for (int node = 0; node < MOST_NODES; node++)
        if (count[node]) {
            printf("%s\"%d\": %d", comma, node, count[node]);
            comma = ", ";
        }
    if (unknown) printf("%s\"unknown\": %d", comma, unknown);
    putchar('}');
}

/* Of the mappings that the memory lies in: how much is there, and how much of that in huge pages. */
void line_page_kind(const void *memory, size_t bytes) {
    char line[512];
    unsigned long low, high, kib, there = 0, huge = 0, begin = (unsigned long)memory;
    bool ours = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2) ours = low < begin + bytes && begin < high;
        else if (ours && sscanf(line, "Anonymous: %lu", &kib) == 1) there += kib;
        else if (ours && sscanf(line, "AnonHugePages: %lu", &kib) == 1) huge += kib;
    }
    if (file) fclose(file);
    line_text("page_kind", there == 0 ? "unknown" : huge == 0 ? "normal" : huge >= there - there / 10 ? "huge" : "mixed");
}

void line_end(void) {
    puts("}");
    fflush(stdout);
}
