/* A small program of MPI and OpenMP, for tests of advisor tune: heat on a square grid by Jacobi's method. The rows are shared
   out over ranks, whose neighbours exchange one row each step, and within a rank over threads. The grid is the same whatever
   the split, and so is the sum that is printed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 768, STEPS = 120 };

int main(int argc, char **argv) {
    int given, ranks, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int first = (int)((long)SIDE * rank / ranks), rows = (int)((long)SIDE * (rank + 1) / ranks) - first;
    const int above = rank ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    double *old = calloc((size_t)(rows + 2) * SIDE, sizeof *old), *new = calloc((size_t)(rows + 2) * SIDE, sizeof *new);
    if (old == NULL || new == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
#pragma omp parallel for
    for (int row = 1; row <= rows; row++)
        for (int column = 0; column < SIDE; column++) old[row * SIDE + column] = (first + row + column) % 100;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int step = 0; step < STEPS; step++) {
        MPI_Sendrecv(old + SIDE, SIDE, MPI_DOUBLE, above, 0, old + (rows + 1) * SIDE, SIDE, MPI_DOUBLE, below, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(old + rows * SIDE, SIDE, MPI_DOUBLE, below, 1, old, SIDE, MPI_DOUBLE, above, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
#pragma omp parallel for
        for (int row = 1; row <= rows; row++)
            for (int column = 1; column < SIDE - 1; column++) {
                const double *at = old + row * SIDE + column;
                new[row * SIDE + column] = 0.25 * (at[-1] + at[1] + at[-SIDE] + at[SIDE]);
            }
        double *swapped = old;
        old = new;
        new = swapped;
    }
    double own = MPI_Wtime() - begun, slowest = own, part = 0, sum = 0;
    for (int row = 1; row <= rows; row++)
        for (int column = 0; column < SIDE; column++) part += old[row * SIDE + column];
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("seconds: %.6f\nsum: %.3f\n", slowest, sum);
    free(old);
    free(new);
    MPI_Finalize();
    return 0;
}
