/* What every kernel shares: its arguments, its threads on their CPUs, its memory on its node, time, and the line it prints.
 * README.md is the contract. */
#ifndef ADVISOR_KERNEL_H
#define ADVISOR_KERNEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_CONTRACT = 1, MOST_CPUS = 16384, MOST_NODES = 1024 };

/* How a kernel ends. */
enum { KERNEL_GOOD = 0, KERNEL_WRONG = 1, KERNEL_USAGE = 2, KERNEL_CANNOT = 3 };

struct cpu_list {
    int *cpu;
    int count;
};

enum page_kind { PAGES_NORMAL, PAGES_HUGE };

/* The arguments that all kernels take. */
struct common {
    struct cpu_list cpus; /* --cpus: one thread on each, in this order; all allowed ones where not given */
    int node;             /* --node: memory from this NUMA node; -1: each thread touches its part first */
    int repeats;          /* --repeats */
    enum page_kind pages; /* --pages */
    const char *isa;      /* --isa: NULL for the best that the CPU has */
};

/* An argument of one kernel. `take` returns NULL, or what a value should look like. */
struct argument {
    const char *name;  /* without the hyphens */
    const char *value; /* what its value is called in the help; NULL for a flag */
    const char *help;
    const char *(*take)(const char *text, void *into);
    void *into;
};

/* One thing that a kernel can measure. --list prints it, and the table in the kernel's header comment says the same. */
struct variant {
    const char *name;         /* NULL ends a table of them */
    const char *unit;         /* of its values: seconds, hertz, or something a second such as bytes/s */
    int arrays;               /* that it walks in memory; 0 where it has none to speak of */
    int read, written, flops; /* bytes and operations of one iteration, or VARIES */
    const char *iteration;    /* what one iteration does: a = b + s*c. Up to a comma it is the title in tables */
};
enum { VARIES = -1 }; /* the arguments decide, or there is no such thing */

struct kernel {
    const char *name;
    const char *summary;
    const struct variant *variants;
    const struct argument *own; /* ends with a name of NULL; NULL where it has none */
    int default_repeats;
};

/* Reads the arguments; ends the program for --help, --list and anything wrong. */
void kernel_arguments(const struct kernel *kernel, int argc, char **argv, struct common *common);

/* Values of arguments. */
const char *take_bytes(const char *text, void *size_t_into);   /* 4096, 64KiB, 2MiB, 1GiB */
const char *take_count(const char *text, void *int_into);      /* 1 and more */
const char *take_seconds(const char *text, void *double_into); /* 0.5 */
const char *take_cpus(const char *text, void *cpu_list_into);  /* 0-3,8 */
const char *take_text(const char *text, void *const_char_into);
const char *take_flag(const char *text, void *bool_into);

/* Ends the program with one line. MPI kernels leave in their own way, and only one of their ranks speaks. */
extern void (*kernel_leave)(int status);
extern bool kernel_quiet;
_Noreturn void kernel_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The widest of `known` (narrowest first, NULL at the end, "scalar" first) that this CPU has, or the one asked for. */
const char *kernel_isa(const struct common *common, const char *const *known);
bool cpu_has(const char *isa); /* scalar, sse2, sse4, avx2, avx512, neon, sve */

/* Memory: not touched yet; on the node where one is named. Ends the program where there is not enough. */
void *memory_take(const struct common *common, size_t bytes);
void memory_give(void *memory, size_t bytes);
double *numbers_take(int count); /* to be freed; ends the program where there is no room */
size_t page_bytes(void);

/* A team of threads, each on its CPU for the whole run; thread 0 is the caller's. */
struct team;
struct team *team_start(const struct cpu_list *cpus);
/* Runs `work` on all at once; returns the seconds from the first start to the last end. */
double team_run(struct team *team, void (*work)(int thread, int threads, void *data), void *data);
void team_end(struct team *team);
void pin(int cpu); /* this thread; ends the program where it may not run there */

double now(void); /* seconds of a clock that never goes back */

/* The line of a result: begin, any of the fields, end. */
void line_begin(const struct kernel *kernel, const struct common *common, const char *variant, const char *unit);
void line_text(const char *name, const char *text);
void line_number(const char *name, double number);
void line_whole(const char *name, long long number);
void line_flag(const char *name, bool yes);
void line_numbers(const char *name, const double *numbers, int count);
/* Where the pages really are, asked of the kernel: {"0": 512, "unknown": 3}. Samples at most some thousand pages. */
void line_pages(const void *memory, size_t bytes);
/* What the kernel gave, whatever was asked: normal, huge, mixed or unknown. */
void line_page_kind(const void *memory, size_t bytes);
void line_end(void);

#endif
