/* hpl's grid of ranks, this rank's part of the matrix, the numbers in it, and memory. */
#ifndef ADVISOR_HPL_MATRIX_H
#define ADVISOR_HPL_MATRIX_H

#include "../common/mpi/ranks.h"

#include <string.h>
#include <sys/mman.h>

enum { SLICE = 768, PAD = 8 }; /* columns of an update at a time; doubles of a cache line */

struct grid {
    int p, q, row, column;
    MPI_Comm along_row, along_column; /* ranks of my row; of my column */
};

/* This rank's part of the matrix, column by column; the right-hand side is column n. */
struct matrix {
    int n, nb, rows, columns, lead;
    double *a;
};

static struct grid grid;
static struct matrix matrix;
static int seed = 42;
static double *upper, *packed; /* the rows of U in a slice of columns; rows on their way */
static double *known, *column_again, *sums; /* of my rows: what is known of the right-hand side; to make A anew and test with */

/* ---- block-cyclic numbers ---- */

/* How many of the first `count` global rows (or columns) are on place `which` of `places`. */
static int held(int count, int nb, int which, int places) {
    int full = count / nb, share = full / places * nb, extra = full % places;
    if (which < extra) return share + nb;
    return which == extra ? share + count % nb : share;
}

static int my_rows_before(int row) { return held(row, matrix.nb, grid.row, grid.p); }
static int my_columns_before(int column) { return held(column, matrix.nb, grid.column, grid.q); }
static int row_owner(int row) { return row / matrix.nb % grid.p; }
static int column_owner(int column) { return column / matrix.nb % grid.q; }
static int global_row(int local) { return (local / matrix.nb * grid.p + grid.row) * matrix.nb + local % matrix.nb; }
static double *at(int row, int column) { return matrix.a + (size_t)column * (size_t)matrix.lead + row; }

/* ---- the random matrix ---- */

static const uint64_t FACTOR = 6364136223846793005u, TERM = 1u;

/* The generator's number at a position, without those before it. */
static uint64_t jumped(uint64_t position) {
    uint64_t factor = FACTOR, term = TERM, all_factor = 1, all_term = 0;
    for (; position; position >>= 1) {
        if (position & 1) {
            all_factor *= factor;
            all_term = all_term * factor + term;
        }
        term *= factor + 1;
        factor *= factor;
    }
    return all_factor * (uint64_t)seed + all_term;
}

/* Fills my rows of a global column with numbers between -0.5 and 0.5. */
static void make_column(double *into, int column) {
    for (int local = 0; local < matrix.rows; local += matrix.nb) {
        int count = matrix.rows - local < matrix.nb ? matrix.rows - local : matrix.nb;
        uint64_t state = jumped((uint64_t)column * (uint64_t)matrix.n + (uint64_t)global_row(local));
        for (int i = 0; i < count; i++) {
            into[local + i] = (double)(int64_t)(state >> 11) * 0x1p-53 - 0.5;
            state = state * FACTOR + TERM;
        }
    }
}

static int global_column(int local) { return (local / matrix.nb * grid.q + grid.column) * matrix.nb + local % matrix.nb; }

static void make_matrix(void) {
    for (int c = 0; c < matrix.columns; c++) make_column(at(0, c), global_column(c));
}

/* ---- memory ---- */

static size_t taken;

static double *take(size_t doubles) {
    size_t bytes = (doubles + PAD) * sizeof(double), huge = (size_t)2 << 20;
    if (bytes > huge) bytes = (bytes + huge - 1) / huge * huge;
    double *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ranks_fail(KERNEL_CANNOT, "hpl: cannot allocate %zu MiB of memory; ask for a smaller --n", bytes >> 20);
    (void)madvise(memory, bytes, MADV_HUGEPAGE); /* fewer TLB misses in the row swaps; refused where there are none */
    taken += bytes;
    return memory;
}

static void take_matrix(int n, int nb) {
    matrix.n = n;
    matrix.nb = nb;
    matrix.rows = my_rows_before(n);
    matrix.columns = my_columns_before(n + 1);
    matrix.lead = (matrix.rows + PAD - 1) / PAD * PAD + PAD;
    if (matrix.lead % 512 == 0) matrix.lead += PAD; /* columns a power of two apart share cache sets */
    matrix.a = take((size_t)matrix.lead * (size_t)(matrix.columns + 1));
    upper = take((size_t)nb * (SLICE + (size_t)nb));
    packed = take(3 * (size_t)nb * (SLICE + (size_t)nb));
    known = take((size_t)matrix.rows);
    column_again = take((size_t)matrix.rows);
    sums = take(4 * (size_t)matrix.rows);
}

#endif
