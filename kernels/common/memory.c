/* What every kernel shares: memory on the node that was asked for. */
#include "kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MPOL_BIND = 2, MPOL_LOCAL = 4 };

size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Free bytes of a node: overcommitted memory would end this program, or another, without a word. */
static unsigned long long free_bytes(int node) {
    char name[96], line[256];
    unsigned long long kib = 0, sum = 0;
    if (node >= 0) snprintf(name, sizeof name, "/sys/devices/system/node/node%d/meminfo", node);
    else snprintf(name, sizeof name, "/proc/meminfo");
    FILE *file = fopen(name, "r");
    if (!file) {
        if (node >= 0) kernel_fail(KERNEL_CANNOT, "--node %d: this machine has no such NUMA node", node);
        return UINT64_MAX;
    }
    while (fgets(line, sizeof line, file)) {
        const char *field = node >= 0 ? strstr(line, "MemFree:") : strstr(line, "MemAvailable:");
        if (!field && node >= 0) field = strstr(line, "FilePages:"); /* clean file pages make room */
        if (field && sscanf(strchr(field, ':') + 1, "%llu", &kib) == 1) sum += kib << 10;
    }
    fclose(file);
    return sum;
}

static void bind_memory(void *memory, size_t bytes, int node) {
    unsigned long mask[MOST_NODES / (8 * sizeof(unsigned long))] = {0};
    mask[(size_t)node / (8 * sizeof *mask)] = 1UL << ((size_t)node % (8 * sizeof *mask));
    if (syscall(SYS_mbind, memory, bytes, MPOL_BIND, mask, (unsigned long)MOST_NODES + 1, 0UL) != 0)
        kernel_fail(KERNEL_CANNOT, "--node %d: cannot bind memory to it: %s", node, strerror(errno));
}

/* Linux' NUMA balancing moves pages to whoever reads them, and marks them to see who does, which costs faults while the
 * clock runs; 6.1 to 6.5 cannot tell where a marked page is. It leaves memory alone that has a policy of its own: this one,
 * which is first touch as before. A policy that the whole process was started with (numactl --interleave) goes before. */
static void keep_where_touched(void *memory, size_t bytes) {
    int policy = 0;
    if (syscall(SYS_get_mempolicy, &policy, NULL, 0UL, NULL, 0UL) == 0 && policy == 0)
        (void)syscall(SYS_mbind, memory, bytes, MPOL_LOCAL, NULL, 0UL, 0UL); /* fails where Linux was built without NUMA */
}

void *memory_take(const struct common *common, size_t bytes) {
    unsigned long long room = free_bytes(common->node);
    if (bytes > room)
        kernel_fail(KERNEL_CANNOT, "%zu MiB are needed, but only %llu MiB are free; ask for fewer --bytes", bytes >> 20, room >> 20);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) kernel_fail(KERNEL_CANNOT, "%zu MiB: %s", bytes >> 20, strerror(errno));
    if (common->node >= 0) bind_memory(memory, bytes, common->node);
    else keep_where_touched(memory, bytes);
    /* Fails where the kernel knows no huge pages: line_pages says what was got. */
    (void)madvise(memory, bytes, common->pages == PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return memory;
}

void memory_give(void *memory, size_t bytes) { munmap(memory, bytes); }

double *numbers_take(int count) {
    double *room = calloc((size_t)count, sizeof *room);
    if (!room) kernel_fail(KERNEL_CANNOT, "out of memory");
    return room;
}
