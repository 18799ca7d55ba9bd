/* Three programs for a real race, of MPI and OpenMP, with a fixed amount of work: real_race bandwidth|latency|stencil AMOUNT.
 * bandwidth streams through arrays that no cache holds; latency follows a random cycle through 64 MiB; stencil is a small
 * application: Jacobi's method on rows of a plane dealt to the ranks, halos exchanged and the residual summed at each step. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double bandwidth(long times) {
    const long n = 8L << 20;
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    if (!a || !b || !c) MPI_Abort(MPI_COMM_WORLD, 2);
#pragma omp parallel for
    for (long i = 0; i < n; i++) a[i] = 0, b[i] = 1, c[i] = 2;
    for (long k = 0; k < times; k++)
#pragma omp parallel for
        for (long i = 0; i < n; i++) a[i] = b[i] + (double)k * c[i];
    double last = a[n - 1];
    free(a), free(b), free(c);
    return last;
}

static double latency(long millions) {
    const long lines = 1L << 20;
    char *base = aligned_alloc(64, (size_t)lines * 64);
    if (!base) MPI_Abort(MPI_COMM_WORLD, 2);
    for (long i = 0; i < lines; i++) *(void **)(base + 64 * i) = base + 64 * i;
    unsigned long dice = 7;
    for (long i = lines - 1; i > 0; i--) { /* Sattolo's: one cycle through all lines */
        dice = dice * 6364136223846793005UL + 1442695040888963407UL;
        void **here = (void **)(base + 64 * i), **there = (void **)(base + 64 * (long)((dice >> 33) % (unsigned long)i)), *kept = *here;
        *here = *there, *there = kept;
    }
    void *p = base;
    for (long k = 0; k < millions * 1000000; k++) p = *(void **)p;
    double last = (double)((char *)p - base);
    free(base);
    return last;
}

static double stencil(long steps, int rank, int size) {
    const int wide = 2048;
    int rows = 2048 / size;
    size_t cells = (size_t)(rows + 2) * wide;
    double *now = calloc(cells, sizeof *now), *next = calloc(cells, sizeof *next), residual = 0;
    if (!now || !next) MPI_Abort(MPI_COMM_WORLD, 2);
    int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    for (int i = 0; i < wide && !rank; i++) now[i] = next[i] = 100;
    for (long k = 0; k < steps; k++) {
        MPI_Sendrecv(now + wide, wide, MPI_DOUBLE, up, 0, now + (size_t)(rows + 1) * wide, wide, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(now + (size_t)rows * wide, wide, MPI_DOUBLE, down, 1, now, wide, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int y = 1; y <= rows; y++)
            for (int x = 1; x < wide - 1; x++) {
                size_t at = (size_t)y * wide + (size_t)x;
                next[at] = 0.25 * (now[at - 1] + now[at + 1] + now[at - wide] + now[at + wide]);
                sum += (next[at] - now[at]) * (next[at] - now[at]);
            }
        MPI_Allreduce(&sum, &residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        double *kept = now;
        now = next, next = kept;
    }
    free(now), free(next);
    return residual;
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    long amount = atol(argv[2]);
    double found = !strcmp(argv[1], "bandwidth") ? bandwidth(amount) : !strcmp(argv[1], "latency") ? latency(amount) : stencil(amount, rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) printf("%s %ld: %g\n", argv[1], amount, found);
    MPI_Finalize();
    return 0;
}
