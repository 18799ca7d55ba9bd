/* What the kernels that run under MPI share: start, end, one line for all ranks, and where each rank really is. */
#ifndef ADVISOR_RANKS_H
#define ADVISOR_RANKS_H

#include "../kernel.h"

#include <mpi.h>

struct ranks {
    int rank, size;
    int hosts; /* different hosts among the ranks */
    int host;  /* number of this rank's host, in the order of the first rank on each */
};

/* Starts MPI, reads the arguments on every rank; only rank 0 says what is wrong with them. */
struct ranks ranks_start(const struct kernel *kernel, int argc, char **argv, struct common *common);
/* Ends every rank with one line of the rank that calls it. */
_Noreturn void ranks_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "places": {"host": [..], "cpus": [..]} of every rank; all ranks call it, rank 0 prints. */
void line_places(const struct ranks *ranks);

#endif
