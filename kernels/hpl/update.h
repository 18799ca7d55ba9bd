/* What hpl does with a factored panel: rows change places, U is solved for, its share is taken off the rest of the matrix. */
#ifndef ADVISOR_HPL_UPDATE_H
#define ADVISOR_HPL_UPDATE_H

#include "panel.h"

/* ---- rows that change places ---- */

/* Which row ends up as row i of the square, and which rows of the square end up where, after all swaps of a panel. */
struct moves {
    int *source;            /* for each row of the square: global row it comes from */
    int *to, *from, count;  /* rows below that get a row of the square */
    int *here, *there;      /* room for ranks' counts and places */
};

static struct moves moves;

static void plan_moves(const struct panel *panel) {
    int width = panel->width, first = panel->first;
    for (int i = 0; i < width; i++) moves.source[i] = first + i;
    moves.count = 0;
    for (int i = 0; i < width; i++) {
        int row = (int)panel->pivot[i], mine = moves.source[i];
        if (row < first + width) {
            moves.source[i] = moves.source[row - first];
            moves.source[row - first] = mine;
            continue;
        }
        int k = 0;
        while (k < moves.count && moves.to[k] != row) k++;
        if (k == moves.count) {
            moves.to[k] = row;
            moves.from[k] = row;
            moves.count++;
        }
        moves.source[i] = moves.from[k];
        moves.from[k] = mine;
    }
}

/* One row of ranks: rows change places inside my memory. */
static void swap_here(const struct panel *panel, int column, int count) {
    int width = panel->width;
    for (int c = 0; c < count; c++) {
        double *a = at(0, column + c), *u = upper + (size_t)c * (size_t)matrix.nb;
        for (int i = 0; i < width; i++) u[i] = a[moves.source[i]];
        for (int k = 0; k < moves.count; k++) a[moves.to[k]] = a[moves.from[k]];
    }
}

/* Every rank of a column gets all rows of U: each gives those that it has. */
static void gather_upper(const struct panel *panel, int column, int count) {
    int width = panel->width, sent = 0;
    for (int r = 0; r < grid.p; r++) moves.here[r] = 0;
    for (int i = 0; i < width; i++) {
        int owner = row_owner(moves.source[i]);
        moves.here[owner] += count;
        if (owner != grid.row) continue;
        const double *row = at(my_rows_before(moves.source[i]), column);
        for (int c = 0; c < count; c++) packed[sent++] = row[(size_t)c * (size_t)matrix.lead];
    }
    moves.there[0] = 0;
    for (int r = 1; r < grid.p; r++) moves.there[r] = moves.there[r - 1] + moves.here[r - 1];
    double *all = packed + (size_t)matrix.nb * (SLICE + (size_t)matrix.nb);
    MPI_Allgatherv(packed, sent, MPI_DOUBLE, all, moves.here, moves.there, MPI_DOUBLE, grid.along_column);
    for (int i = 0; i < width; i++) {
        double *row = all + moves.there[row_owner(moves.source[i])];
        moves.there[row_owner(moves.source[i])] += count;
        for (int c = 0; c < count; c++) upper[(size_t)c * (size_t)matrix.nb + (size_t)i] = row[c];
    }
}

/* The rows of the square that went down go to the ranks that they went to. */
static void scatter_displaced(const struct panel *panel, int column, int count) {
    double *all = packed + (size_t)matrix.nb * (SLICE + (size_t)matrix.nb);
    for (int r = 0, place = 0; r < grid.p; r++) {
        moves.here[r] = 0;
        moves.there[r] = place;
        for (int k = 0; k < moves.count; k++) {
            if (row_owner(moves.to[k]) != r) continue;
            moves.here[r] += count;
            if (grid.row == panel->owner_row) {
                const double *row = at(my_rows_before(moves.from[k]), column);
                for (int c = 0; c < count; c++) all[place + c] = row[(size_t)c * (size_t)matrix.lead];
            }
            place += count;
        }
    }
    MPI_Scatterv(all, moves.here, moves.there, MPI_DOUBLE, packed, moves.here[grid.row], MPI_DOUBLE, panel->owner_row,
                 grid.along_column);
    const double *next = packed;
    for (int k = 0; k < moves.count; k++) {
        if (row_owner(moves.to[k]) != grid.row) continue;
        double *row = at(my_rows_before(moves.to[k]), column);
        for (int c = 0; c < count; c++) row[(size_t)c * (size_t)matrix.lead] = *next++;
    }
}

/* ---- the update ---- */

/* Turns rows of A into rows of U, L's triangle on their left. By halves: most of the work becomes dgemm, which is faster. */
static void solve_upper(const double *triangle, int width, double *rows, int count) {
    int nb = matrix.nb;
    if (width <= 4 * LEAF) {
        dtrsm_("L", "L", "N", "U", &width, &count, &ONE, triangle, &nb, rows, &nb);
        return;
    }
    int half = (width / 2 + LEAF - 1) / LEAF * LEAF, rest = width - half;
    solve_upper(triangle, half, rows, count);
    dgemm_("N", "N", &rest, &count, &half, &MINUS, triangle + half, &nb, rows, &nb, &ONE, rows + half, &nb);
    solve_upper(triangle + (size_t)half * (size_t)nb + half, rest, rows + half, count);
}

/* Takes a panel's share off some of my columns: swap rows, solve for U, subtract. */
static void update(const struct panel *panel, int column, int count) {
    int width = panel->width, nb = matrix.nb, below = my_rows_before(panel->first) + panel->skip, rows = matrix.rows - below;
    if (count <= 0) return;
    if (grid.p == 1) swap_here(panel, column, count);
    else {
        gather_upper(panel, column, count);
        scatter_displaced(panel, column, count);
    }
    solve_upper(panel->top, width, upper, count);
    for (int c = 0; panel->skip && c < count; c++)
        memcpy(at(below - width, column + c), upper + (size_t)c * (size_t)nb, (size_t)width * sizeof(double));
    if (rows > 0)
        dgemm_("N", "N", &rows, &count, &width, &MINUS, panel->low + panel->skip, &panel->lead, upper, &nb, &ONE,
               at(below, column), &matrix.lead);
}

static void factor_matrix(struct panel *panels) {
    struct panel *panel = &panels[0], *next = &panels[1];
    begin_panel(panel, 0);
    if (grid.column == panel->owner_column) {
        factor(panel);
        pass_on(panel);
    } else expect(panel);
    for (int first = 0; first < matrix.n; first += matrix.nb) {
        look_for(panel, true);
        plan_moves(panel);
        int column = my_columns_before(first + panel->width), after = first + matrix.nb;
        MPI_Wait(&next->request[1], MPI_STATUS_IGNORE); /* its buffer is used again */
        if (after < matrix.n) {
            begin_panel(next, after);
            if (grid.column == next->owner_column) {
                update(panel, column, next->width);
                column += next->width;
                factor(next);
                pass_on(next);
            } else expect(next);
        }
        for (; column < matrix.columns; column += SLICE) {
            update(panel, column, matrix.columns - column < SLICE ? matrix.columns - column : SLICE);
            look_for(after < matrix.n ? next : NULL, false);
        }
        struct panel *done = panel;
        panel = next;
        next = done;
    }
    for (int i = 0; i < 2; i++) MPI_Wait(&panels[i].request[1], MPI_STATUS_IGNORE);
}

#endif
