/* hpl's panels: factored by halves in one column of ranks, sent along the rows in a ring. */
#ifndef ADVISOR_HPL_PANEL_H
#define ADVISOR_HPL_PANEL_H

#include "blas.h"
#include "matrix.h"

#include <float.h>
#include <math.h>

enum { LEAF = 8, TAG_PANEL = 1 }; /* columns where the recursion ends */

/* A factored panel as it travels along a row: pivots, the square on top, my rows below. */
struct panel {
    int first, width, owner_row, owner_column; /* global column; where its diagonal block lives */
    int rows, skip, lead;                      /* my rows of it; those of them that are the square; leading dimension of `low` */
    double *buffer, *pivot, *top, *low;        /* pivot: width; top: width x width; low: rows x width */
    size_t length;
    MPI_Request request[2]; /* receiving, sending on */
};

static double panel_seconds;

static void take_panel(struct panel *panel) {
    int nb = matrix.nb;
    panel->lead = (matrix.rows + PAD - 1) / PAD * PAD + PAD;
    panel->length = (size_t)nb + (size_t)nb * (size_t)nb + (size_t)panel->lead * (size_t)nb;
    panel->buffer = take(panel->length);
    panel->pivot = panel->buffer;
    panel->top = panel->pivot + nb;
    panel->low = panel->top + (size_t)nb * (size_t)nb;
    panel->request[0] = panel->request[1] = MPI_REQUEST_NULL;
}

/* ---- a panel ---- */

/* What a rank offers as pivot of a column: size, global row, that row; and the row it would change places with. */
static double *offer, *chosen;
static MPI_Datatype offer_type;
static MPI_Op offer_best;
static int offer_width;

/* The greater pivot wins; of two equal ones the upper row, so that the answer does not depend on who asks first. */
static void choose(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)count;
    (void)type;
    double *a = in, *b = inout;
    if (a[0] > b[0] || (a[0] == b[0] && a[1] < b[1])) memcpy(b, a, (size_t)(2 + offer_width) * sizeof(double));
    if (a[2 + offer_width] != 0.0) memcpy(b + 2 + offer_width, a + 2 + offer_width, (size_t)(1 + offer_width) * sizeof(double));
}

static int largest(const double *column, int from, int count) {
    int best = from;
    double size = -1.0;
    for (int i = from; i < count; i++)
        if (fabs(column[i]) > size) {
            size = fabs(column[i]);
            best = i;
        }
    return best;
}

static void copy_row(double *into, const double *row, int lead, int width) {
    for (int c = 0; c < width; c++) into[c] = row[(size_t)c * (size_t)lead];
}

static void put_row(double *row, const double *from, int lead, int width) {
    for (int c = 0; c < width; c++) row[(size_t)c * (size_t)lead] = from[c];
}

/* Finds the pivot of column j, puts its row on top and the row that stood there in its place. */
static void pivot_column(struct panel *panel, int j) {
    bool mine = panel->skip > 0;
    int from = mine ? j : 0, width = panel->width, first_row = my_rows_before(panel->first);
    double *column = panel->low + (size_t)j * (size_t)panel->lead, *standing = offer + 3 + offer_width;
    offer[0] = -1.0;
    offer[1] = DBL_MAX;
    if (from < panel->rows) {
        int best = largest(column, from, panel->rows);
        offer[0] = fabs(column[best]);
        offer[1] = global_row(first_row + best);
        copy_row(offer + 2, panel->low + best, panel->lead, width);
    }
    offer[2 + offer_width] = mine;
    if (mine) copy_row(standing, panel->low + j, panel->lead, width);
    const double *won = offer;
    if (grid.p > 1) {
        MPI_Allreduce(offer, chosen, 1, offer_type, offer_best, grid.along_column);
        won = chosen;
    }
    int row = (int)won[1];
    panel->pivot[j] = row;
    if (!(won[0] > 0.0)) ranks_fail(KERNEL_WRONG, "hpl: column %d has no pivot: the result would be wrong", panel->first + j);
    if (row != panel->first + j && row_owner(row) == grid.row)
        put_row(panel->low + (my_rows_before(row) - first_row), won + 3 + offer_width, panel->lead, width);
    put_row(panel->top + j, won + 2, matrix.nb, width);
}

/* Divides a column by its pivot and takes its multiples off those to the right of it in the leaf. */
static void eliminate(struct panel *panel, int j, int end) {
    int from = panel->skip > 0 ? j + 1 : 0;
    size_t lead = (size_t)panel->lead, nb = (size_t)matrix.nb;
    double *restrict column = panel->low + (size_t)j * lead;
    double scale = 1.0 / panel->top[(size_t)j * nb + (size_t)j];
    for (int i = from; i < panel->rows; i++) column[i] *= scale;
    for (int c = j + 1; c < end; c++) {
        double *restrict other = panel->low + (size_t)c * lead, factor = panel->top[(size_t)c * nb + (size_t)j];
        for (int i = from; i < panel->rows; i++) other[i] -= column[i] * factor;
    }
}

/* Factors `count` columns of a panel from column j on: the left half, what it does to the right half, the right half. */
static void factor_columns(struct panel *panel, int j, int count) {
    if (count <= LEAF) {
        for (int c = j; c < j + count; c++) {
            pivot_column(panel, c);
            eliminate(panel, c, j + count);
        }
        return;
    }
    int left = (count / 2 + LEAF - 1) / LEAF * LEAF, right = count - left, nb = matrix.nb;
    factor_columns(panel, j, left);
    double *triangle = panel->top + (size_t)j * (size_t)nb + j, *beside = triangle + (size_t)left * (size_t)nb;
    dtrsm_("L", "L", "N", "U", &left, &right, &ONE, triangle, &nb, beside, &nb);
    int from = panel->skip > 0 ? j + left : 0, rows = panel->rows - from;
    double *low = panel->low + (size_t)j * (size_t)panel->lead + from;
    if (rows > 0)
        dgemm_("N", "N", &rows, &right, &left, &MINUS, low, &panel->lead, beside, &nb, &ONE,
               low + (size_t)left * (size_t)panel->lead, &panel->lead);
    factor_columns(panel, j + left, right);
}

static void begin_panel(struct panel *panel, int first) {
    int rest = matrix.n - first, before = my_rows_before(first);
    panel->first = first;
    panel->width = rest < matrix.nb ? rest : matrix.nb;
    panel->owner_row = row_owner(first);
    panel->owner_column = column_owner(first);
    panel->rows = matrix.rows - before;
    panel->skip = grid.row == panel->owner_row ? panel->width : 0;
    panel->length = (size_t)(panel->low - panel->buffer) + (size_t)panel->lead * (size_t)panel->width;
}

/* Factors the panel in my column of ranks and leaves its square in the matrix, where U is read from in the end. */
static void factor(struct panel *panel) {
    double begun = now();
    int column = my_columns_before(panel->first), before = my_rows_before(panel->first), width = panel->width;
    for (int c = 0; c < width; c++)
        memcpy(panel->low + (size_t)c * (size_t)panel->lead, at(before, column + c), (size_t)panel->rows * sizeof(double));
    factor_columns(panel, 0, width);
    for (int c = 0; panel->skip && c < width; c++)
        memcpy(at(before, column + c), panel->top + (size_t)c * (size_t)matrix.nb, (size_t)width * sizeof(double));
    panel_seconds += now() - begun;
}

/* ---- panels along the rows, in a ring ---- */

static int steps_from_owner(const struct panel *panel) { return (grid.column - panel->owner_column + grid.q) % grid.q; }

static void pass_on(struct panel *panel) {
    if (steps_from_owner(panel) < grid.q - 1)
        MPI_Isend(panel->buffer, (int)panel->length, MPI_DOUBLE, (grid.column + 1) % grid.q, TAG_PANEL, grid.along_row,
                  &panel->request[1]);
}

static void expect(struct panel *panel) {
    MPI_Irecv(panel->buffer, (int)panel->length, MPI_DOUBLE, (grid.column + grid.q - 1) % grid.q, TAG_PANEL, grid.along_row,
              &panel->request[0]);
}

/* Looks whether an expected panel is here, and sends it on at once. */
static void look_for(struct panel *panel, bool wait) {
    if (!panel || panel->request[0] == MPI_REQUEST_NULL) return;
    int here = 1;
    if (wait) MPI_Wait(&panel->request[0], MPI_STATUS_IGNORE);
    else MPI_Test(&panel->request[0], &here, MPI_STATUS_IGNORE);
    if (here) pass_on(panel);
}

#endif
