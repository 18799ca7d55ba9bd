/* The inner loops of membw for one instruction set; included once for each. The macros say which:
 *
 *   SET(name)  this set's name for a function          TARGET     lets the compiler use its instructions in a function
 *   V  LANES   a vector of doubles, how many it holds  GET PUT    load, store
 *   PULL PUSH  the same past the cache                 FILL TOTAL one value in every lane, the sum of the lanes
 *   PLUS TIMES FUSED                                   a+b, a*b, a*b+c */

TARGET INLINE void SET(hint)(enum pattern pattern, bool past, enum hint hint, const struct streams *s, size_t at) {
    const bool reads_b = pattern == COPY || pattern == SCALE || pattern == ADD || pattern == TRIAD;
    const bool reads_a = pattern == LOAD || pattern == UPDATE, writes = pattern != LOAD && !past;
    for (size_t line = at + s->ahead, end = line + BLOCK; line < end; line += LINE) {
        if (hint == HINT_L1 && reads_a) __builtin_prefetch(s->a + line, 0, 3);
        if (hint == HINT_L1 && reads_b) __builtin_prefetch(s->b + line, 0, 3);
        if (hint == HINT_L1 && (pattern == ADD || pattern == TRIAD)) __builtin_prefetch(s->c + line, 0, 3);
        if (hint == HINT_L2 && reads_a) __builtin_prefetch(s->a + line, 0, 2);
        if (hint == HINT_L2 && reads_b) __builtin_prefetch(s->b + line, 0, 2);
        if (hint == HINT_L2 && (pattern == ADD || pattern == TRIAD)) __builtin_prefetch(s->c + line, 0, 2);
        if (hint == HINT_ONCE && reads_a) __builtin_prefetch(s->a + line, 0, 0);
        if (hint == HINT_ONCE && reads_b) __builtin_prefetch(s->b + line, 0, 0);
        if (hint == HINT_ONCE && (pattern == ADD || pattern == TRIAD)) __builtin_prefetch(s->c + line, 0, 0);
        if ((hint == HINT_L1 || hint == HINT_WRITE) && writes) __builtin_prefetch(s->a + line, 1, 3);
    }
}

TARGET INLINE V SET(one)(enum pattern pattern, bool past, const struct streams *s, size_t at, V sum, V factor) {
    V put = factor;
    if (pattern == LOAD && past) return PLUS(sum, PULL(s->a + at));
    if (pattern == LOAD) return PLUS(sum, GET(s->a + at));
    if (pattern == COPY) put = GET(s->b + at);
    if (pattern == SCALE) put = TIMES(factor, GET(s->b + at));
    if (pattern == ADD) put = PLUS(GET(s->b + at), GET(s->c + at));
    if (pattern == TRIAD) put = FUSED(factor, GET(s->c + at), GET(s->b + at));
    if (pattern == UPDATE) put = TIMES(factor, GET(s->a + at));
    if (past) PUSH(s->a + at, put);
    else PUT(s->a + at, put);
    return sum;
}

/* Four sums, so that additions do not wait for each other. */
TARGET INLINE double SET(walk)(enum pattern pattern, bool past, enum hint hint, const struct streams *s) {
    V sum0 = FILL(0.0), sum1 = sum0, sum2 = sum0, sum3 = sum0, factor = FILL(s->factor);
    const size_t width = LANES * sizeof(double);
    for (size_t at = 0; at < s->length; at += BLOCK)
        for (size_t stream = 0, start = at; stream < s->count; stream++, start += s->apart) {
            if (hint != HINT_NONE) SET(hint)(pattern, past, hint, s, start);
            for (size_t part = start; part < start + BLOCK; part += 4 * width) {
                sum0 = SET(one)(pattern, past, s, part, sum0, factor);
                sum1 = SET(one)(pattern, past, s, part + width, sum1, factor);
                sum2 = SET(one)(pattern, past, s, part + 2 * width, sum2, factor);
                sum3 = SET(one)(pattern, past, s, part + 3 * width, sum3, factor);
            }
        }
    return TOTAL(PLUS(PLUS(sum0, sum1), PLUS(sum2, sum3)));
}

#define ONE_WALK(pattern, past, hint) \
    TARGET static double SET(pattern##_##past##_##hint)(const struct streams *s) { return SET(walk)(pattern, past, hint, s); }
#define NAME_WALK(pattern, past, hint) SET(pattern##_##past##_##hint),
EACH_WALK(ONE_WALK)
static const walker SET(walkers)[] = {EACH_WALK(NAME_WALK)};

#undef ONE_WALK
#undef NAME_WALK
#undef SET
#undef TARGET
#undef V
#undef LANES
#undef GET
#undef PUT
#undef PUSH
#undef PULL
#undef FILL
#undef PLUS
#undef TIMES
#undef FUSED
#undef TOTAL
