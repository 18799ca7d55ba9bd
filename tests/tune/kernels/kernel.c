/* Two kernels of known kinds, for tests of advisor tune: "bandwidth" sums a large array, "latency" follows a ring of pointers.
   Each rank does the same work; the slowest rank's seconds are printed. Needs an MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int latency = argc > 1 && strcmp(argv[1], "latency") == 0;
    const size_t words = latency ? (size_t)1 << 19 : (size_t)1 << 21;
    size_t *data = malloc(words * sizeof *data), at = 0, sum = 0;
    if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    /* 1 mod 4 times, odd plus: a full ring through all words (Hull and Dobell 1962) */
    for (size_t i = 0; i < words; i++) data[i] = latency ? (i * 5 + 12345) % words : i;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    if (latency)
        for (size_t i = 0; i < words; i++) at = data[at];
    else
        for (int pass = 0; pass < 24; pass++)
            for (size_t i = 0; i < words; i++) sum += data[i] ^ (size_t)pass;
    double own = MPI_Wtime() - begun, slowest = own;
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("seconds: %.6f (%zu)\n", slowest, (at + sum) % 10);
    free(data);
    MPI_Finalize();
    return 0;
}
