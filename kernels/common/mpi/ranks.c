/* What the kernels that run under MPI share. */
#include "ranks.h"

#include <ctype.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 256, LIST = 768 };

/* Where one rank is, as text. */
struct place {
    char host[NAME];
    char cpus[LIST];
};

/* Arguments are the same on all ranks: all of them are here, and MPI can end in order. */
static _Noreturn void leave(int status) {
    MPI_Finalize();
    exit(status);
}

_Noreturn void ranks_fail(int status, const char *format, ...) {
    va_list values;
    fflush(stdout);
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, status);
    exit(status);
}

/* Host names come from the network: only what a name may hold is kept. */
static void name_host(char *name) {
    if (gethostname(name, NAME) != 0) strcpy(name, "unknown");
    name[NAME - 1] = '\0';
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-' && *c != '_') *c = '_';
}

/* The CPUs that this rank may use, as 0-3,8; cut short with "..." where the list is longer than a line. */
static void name_cpus(char *list) {
    cpu_set_t *set = CPU_ALLOC(MOST_CPUS);
    size_t size = CPU_ALLOC_SIZE(MOST_CPUS), used = 0;
    *list = '\0';
    if (!set || sched_getaffinity(0, size, set) != 0) return;
    for (int cpu = 0; cpu < MOST_CPUS; cpu++) {
        if (!CPU_ISSET_S((size_t)cpu, size, set)) continue;
        int last = cpu;
        while (last + 1 < MOST_CPUS && CPU_ISSET_S((size_t)last + 1, size, set)) last++;
        if (used > LIST - 32) {
            strcpy(list + used, ",...");
            break;
        }
        used += (size_t)snprintf(list + used, LIST - used, last > cpu ? "%s%d-%d" : "%s%d", used ? "," : "", cpu, last);
        cpu = last;
    }
    CPU_FREE(set);
}

static void number_hosts(struct ranks *ranks) {
    char own[NAME], *all = malloc((size_t)ranks->size * NAME);
    int *number = malloc((size_t)ranks->size * sizeof *number);
    if (!all || !number) ranks_fail(KERNEL_CANNOT, "out of memory");
    memset(own, 0, sizeof own);
    name_host(own);
    MPI_Allgather(own, NAME, MPI_CHAR, all, NAME, MPI_CHAR, MPI_COMM_WORLD);
    ranks->hosts = 0;
    for (int r = 0; r < ranks->size; r++) {
        number[r] = -1;
        for (int before = r - 1; before >= 0 && number[r] < 0; before--)
            if (strcmp(all + (size_t)before * NAME, all + (size_t)r * NAME) == 0) number[r] = number[before];
        if (number[r] < 0) number[r] = ranks->hosts++;
    }
    ranks->host = number[ranks->rank];
    free(number);
    free(all);
}

struct ranks ranks_start(const struct kernel *kernel, int argc, char **argv, struct common *common) {
    struct ranks ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
    kernel_quiet = ranks.rank != 0;
    kernel_leave = leave;
    kernel_arguments(kernel, argc, argv, common);
    number_hosts(&ranks);
    return ranks;
}

void line_places(const struct ranks *ranks) {
    struct place own, *all = NULL;
    memset(&own, 0, sizeof own);
    name_host(own.host);
    name_cpus(own.cpus);
    if (ranks->rank == 0 && !(all = malloc((size_t)ranks->size * sizeof *all))) ranks_fail(KERNEL_CANNOT, "out of memory");
    MPI_Gather(&own, sizeof own, MPI_CHAR, all, sizeof own, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (ranks->rank != 0) return;
    fputs(", \"places\": {\"host\": [", stdout);
    for (int r = 0; r < ranks->size; r++) printf("%s\"%s\"", r ? ", " : "", all[r].host);
    fputs("], \"cpus\": [", stdout);
    for (int r = 0; r < ranks->size; r++) printf("%s\"%s\"", r ? ", " : "", all[r].cpus);
    fputs("]}", stdout);
    free(all);
}
