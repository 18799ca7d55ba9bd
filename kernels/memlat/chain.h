/* The lines that memlat walks: how they follow each other, and the proof that a walk meets all of them. */
#ifndef ADVISOR_MEMLAT_CHAIN_H
#define ADVISOR_MEMLAT_CHAIN_H

#include "../common/kernel.h"

#include <stdlib.h>

/* A test breaks the result on purpose: 1 the chain, 2 the walk, 3 the sum of lines, 4 what is read meanwhile, 5 written. */
#ifndef BREAK_RESULT
#define BREAK_RESULT 0
#endif

struct line {
    const struct line *next;
    uint64_t place; /* in the walk */
};

struct chain {
    char *memory;
    size_t lines, line; /* how many; bytes from one to the next */
    size_t chunk;       /* bytes walked whole before the next so many; 0: all are one */
    bool in_order;      /* of addresses */
    double sum;         /* of what --lines loads, of one pass */
};

static struct line *line_at(const struct chain *chain, size_t number) {
    return (struct line *)(void *)(chain->memory + number * chain->line);
}

/* Knuth's linear congruence (MMIX): every run walks the same way. */
static uint32_t below(uint32_t end, uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 32) * end >> 32);
}

static void shuffle(uint32_t *numbers, size_t count, uint64_t *state) {
    for (size_t i = count; i > 1; i--) {
        uint32_t other = below((uint32_t)i, state), kept = numbers[i - 1];
        numbers[i - 1] = numbers[other];
        numbers[other] = kept;
    }
}

static uint32_t *counted(size_t count) {
    uint32_t *numbers = malloc(count * sizeof *numbers);
    if (!numbers) kernel_fail(KERNEL_CANNOT, "out of memory for the order of %zu lines", count);
    for (size_t i = 0; i < count; i++) numbers[i] = (uint32_t)i;
    return numbers;
}

/* Chunks in random order, their lines too. */
static void shuffle_chunks(uint32_t *order, size_t lines, size_t each) {
    uint64_t state = lines;
    size_t chunks = (lines + each - 1) / each, done = 0;
    uint32_t *chunk = counted(chunks);
    shuffle(chunk, chunks, &state);
    for (size_t c = 0; c < chunks; c++) {
        size_t first = chunk[c] * each, count = first + each < lines ? each : lines - first;
        for (size_t i = 0; i < count; i++) order[done + i] = (uint32_t)(first + i);
        shuffle(order + done, count, &state);
        done += count;
    }
    free(chunk);
}

static void link_lines(const struct chain *chain) {
    size_t lines = chain->lines, each = chain->chunk ? chain->chunk / chain->line : lines;
    uint32_t *order = counted(lines);
    if (!chain->in_order) shuffle_chunks(order, lines, each < lines ? each : lines);
    for (size_t place = 0; place < lines; place++) {
        struct line *line = line_at(chain, order[place]);
        size_t after = place + 1 < lines && !(BREAK_RESULT == 1 && place == lines / 2) ? place + 1 : 0;
        line->next = line_at(chain, order[after]);
        line->place = place;
    }
    free(order);
}

/* Where every line's place is followed by the next place, a walk meets as many lines as there are before it is back. */
static void check_chain(const struct chain *chain) {
    size_t wrong = 0;
    for (size_t i = 0; i < chain->lines; i++) {
        const struct line *line = line_at(chain, i);
        wrong += line->next->place != (line->place + 1) % chain->lines;
    }
    if (wrong) kernel_fail(KERNEL_WRONG, "the chain skips: %zu of %zu lines are followed by a wrong one", wrong, chain->lines);
}

#endif
