/* What every kernel shares: how it ends, its arguments, --help, --list, and the instructions that it may use. */
#include "kernel.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

static const struct kernel *running;
void (*kernel_leave)(int status) = exit;
bool kernel_quiet = false;

_Noreturn void kernel_fail(int status, const char *format, ...) {
    va_list values;
    fflush(stdout);
    if (!kernel_quiet) {
        fprintf(stderr, "%s: ", running ? running->name : "kernel");
        va_start(values, format);
        vfprintf(stderr, format, values);
        va_end(values);
        fputc('\n', stderr);
    }
    kernel_leave(status);
    exit(status);
}

/* ---- arguments ---- */

const char *take_bytes(const char *text, void *into) {
    static const struct {
        const char *name;
        size_t size;
    } units[] = {{"", 1}, {"KiB", (size_t)1 << 10}, {"MiB", (size_t)1 << 20}, {"GiB", (size_t)1 << 30}};
    char *rest;
    errno = 0;
    unsigned long long number = strtoull(text, &rest, 10);
    if (errno == 0 && rest != text && *text != '-')
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (strcmp(rest, units[i].name) == 0 && number > 0 && number <= SIZE_MAX / 2 / units[i].size) {
                *(size_t *)into = (size_t)number * units[i].size;
                return NULL;
            }
    return "a size such as 4096, 64KiB, 2MiB or 1GiB";
}

static bool whole_number(const char *text, long low, long high, long *into) {
    char *rest;
    errno = 0;
    *into = strtol(text, &rest, 10);
    return errno == 0 && rest != text && *rest == '\0' && *into >= low && *into <= high;
}

const char *take_count(const char *text, void *into) {
    long number;
    if (!whole_number(text, 1, 1000000000, &number)) return "a whole number of at least 1";
    *(int *)into = (int)number;
    return NULL;
}

const char *take_seconds(const char *text, void *into) {
    char *rest;
    errno = 0;
    double number = strtod(text, &rest);
    if (errno != 0 || rest == text || *rest != '\0' || !(number > 0.0 && number < 1e6)) return "seconds, such as 0.5";
    *(double *)into = number;
    return NULL;
}

const char *take_text(const char *text, void *into) {
    *(const char **)into = text;
    return NULL;
}

const char *take_flag(const char *text, void *into) {
    (void)text;
    *(bool *)into = true;
    return NULL;
}

static const char *add_range(struct cpu_list *list, const char **text) {
    static const char *const wanted = "CPU numbers such as 0-3,8, each once";
    char *rest;
    if (**text < '0' || **text > '9') return wanted;
    long low = strtol(*text, &rest, 10), high = low;
    if (*rest == '-') {
        if (rest[1] < '0' || rest[1] > '9') return wanted;
        high = strtol(rest + 1, &rest, 10);
    }
    if (low > high || high >= MOST_CPUS) return wanted;
    for (long cpu = low; cpu <= high; cpu++) {
        for (int i = 0; i < list->count; i++)
            if (list->cpu[i] == cpu) return wanted;
        list->cpu[list->count++] = (int)cpu;
    }
    *text = rest;
    return NULL;
}

const char *take_cpus(const char *text, void *into) {
    struct cpu_list *list = into;
    free(list->cpu);
    list->count = 0;
    list->cpu = malloc(MOST_CPUS * sizeof *list->cpu);
    if (!list->cpu) kernel_fail(KERNEL_CANNOT, "out of memory");
    for (;;) {
        const char *wanted = add_range(list, &text);
        if (wanted) return wanted;
        if (*text == '\0') return NULL;
        if (*text++ != ',') return "CPU numbers such as 0-3,8, each once";
    }
}

static const char *take_node(const char *text, void *into) {
    long number;
    if (!whole_number(text, 0, MOST_NODES - 1, &number)) return "the number of a NUMA node";
    *(int *)into = (int)number;
    return NULL;
}

static const char *take_pages(const char *text, void *into) {
    bool huge = strcmp(text, "huge") == 0;
    if (!huge && strcmp(text, "normal") != 0) return "normal or huge";
    *(enum page_kind *)into = huge ? PAGES_HUGE : PAGES_NORMAL;
    return NULL;
}

static void all_allowed(struct cpu_list *list) {
    cpu_set_t *set = CPU_ALLOC(MOST_CPUS);
    size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    list->cpu = malloc(MOST_CPUS * sizeof *list->cpu);
    if (!set || !list->cpu) kernel_fail(KERNEL_CANNOT, "out of memory");
    if (sched_getaffinity(0, size, set) != 0) kernel_fail(KERNEL_CANNOT, "cannot read my CPUs: %s", strerror(errno));
    for (int cpu = 0; cpu < MOST_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, size, set)) list->cpu[list->count++] = cpu;
    CPU_FREE(set);
}

static const struct argument *own_arguments(const struct kernel *kernel) {
    static const struct argument none = {NULL, NULL, NULL, NULL, NULL};
    return kernel->own ? kernel->own : &none;
}

static void print_help(const struct kernel *kernel, const struct argument *common) {
    printf("%s: %s\n\nusage: %s [OPTION VALUE]...\n\n", kernel->name, kernel->summary, kernel->name);
    const struct argument *tables[] = {own_arguments(kernel), common};
    for (int t = 0; t < 2; t++)
        for (const struct argument *each = tables[t]; each->name; each++)
            printf("  --%s%s%s\n        %s\n", each->name, each->value ? " " : "", each->value ? each->value : "", each->help);
    puts("  --list\n        print as JSON what it can measure: names, units, bytes and flops per iteration\n\n"
         "Exit status: 0 on success; 1 if the result was wrong; 2 for wrong arguments; 3 if this machine cannot do it.");
}

static void print_amount(const char *name, int amount) {
    if (amount == VARIES) printf("\"%s\": null, ", name);
    else printf("\"%s\": %d, ", name, amount);
}

/* README.md says what stands there. All of it is our own words: nothing to escape. */
static void print_list(const struct kernel *kernel) {
    printf("{\"contract\": %d, \"kernel\": \"%s\", \"summary\": \"%s\",\n \"arguments\": [", KERNEL_CONTRACT, kernel->name, kernel->summary);
    const struct argument *own = own_arguments(kernel);
    for (const struct argument *each = own; each->name; each++)
        printf("%s\"--%s%s%s\"", each == own ? "" : ", ", each->name, each->value ? " " : "", each->value ? each->value : "");
    fputs("],\n \"variants\": [\n", stdout);
    for (const struct variant *each = kernel->variants; each->name; each++) {
        printf("  {\"name\": \"%s\", \"unit\": \"%s\", \"arrays\": %d, ", each->name, each->unit, each->arrays);
        print_amount("read", each->read);
        print_amount("written", each->written);
        print_amount("flops", each->flops);
        printf("\"iteration\": \"%s\"}%s\n", each->iteration, each[1].name ? "," : "");
    }
    puts(" ]}");
}

static const struct argument *find_argument(const struct argument *table, const char *name) {
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0) return table;
    return NULL;
}

static int take_argument(const struct argument *found, const char *value) {
    if (found->value && !value) kernel_fail(KERNEL_USAGE, "--%s needs %s; see --help", found->name, found->value);
    const char *wanted = found->take(value, found->into);
    if (wanted) kernel_fail(KERNEL_USAGE, "--%s %s: %s is expected", found->name, value, wanted);
    return found->value ? 2 : 1;
}

void kernel_arguments(const struct kernel *kernel, int argc, char **argv, struct common *common) {
    const struct argument shared[] = {
        {"cpus", "LIST", "one thread on each of these CPUs, in this order (default: all allowed CPUs)", take_cpus, &common->cpus},
        {"node", "N", "memory from NUMA node N (default: where the thread that uses it runs)", take_node, &common->node},
        {"repeats", "N", "measure this many times; every result is printed", take_count, &common->repeats},
        {"pages", "KIND", "normal, or huge: ask for transparent huge pages", take_pages, &common->pages},
        {"isa", "NAME", "use these instructions: scalar, sse4, avx2, avx512, neon, sve (default: the widest)", take_text, &common->isa},
        {NULL, NULL, NULL, NULL, NULL},
    };
    running = kernel;
    *common = (struct common){.cpus = {NULL, 0}, .node = -1, .repeats = kernel->default_repeats, .pages = PAGES_NORMAL, .isa = NULL};
    for (int i = 1; i < argc;) {
        const char *name = argv[i];
        if (strcmp(name, "--help") == 0 || strcmp(name, "--list") == 0) {
            if (name[2] == 'h' && !kernel_quiet) print_help(kernel, shared);
            if (name[2] == 'l' && !kernel_quiet) print_list(kernel);
            kernel_leave(KERNEL_GOOD);
        }
        const struct argument *found = NULL;
        if (strncmp(name, "--", 2) == 0) {
            found = find_argument(own_arguments(kernel), name + 2);
            if (!found) found = find_argument(shared, name + 2);
        }
        if (!found) kernel_fail(KERNEL_USAGE, "unknown argument %s; see --help", name);
        i += take_argument(found, i + 1 < argc ? argv[i + 1] : NULL);
    }
    if (common->cpus.count == 0) all_allowed(&common->cpus);
}

/* ---- instruction sets ---- */

bool cpu_has(const char *isa) {
    if (strcmp(isa, "scalar") == 0) return true;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (strcmp(isa, "sse2") == 0) return true;
    if (strcmp(isa, "sse4") == 0) return __builtin_cpu_supports("sse4.1");
    if (strcmp(isa, "avx2") == 0) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (strcmp(isa, "avx512") == 0) return __builtin_cpu_supports("avx512f");
#elif defined(__aarch64__)
    if (strcmp(isa, "neon") == 0) return true;
    if (strcmp(isa, "sve") == 0) return (getauxval(AT_HWCAP) & (1UL << 22)) != 0; /* HWCAP_SVE */
#endif
    return false;
}

const char *kernel_isa(const struct common *common, const char *const *known) {
    const char *best = NULL;
    for (; *known; known++) {
        if (common->isa && strcmp(common->isa, *known) == 0) {
            if (!cpu_has(*known)) kernel_fail(KERNEL_CANNOT, "--isa %s: this CPU does not support it", *known);
            return *known;
        }
        if (cpu_has(*known)) best = *known;
    }
    if (common->isa) kernel_fail(KERNEL_USAGE, "--isa %s: this kernel was not built with it; see --help", common->isa);
    return best;
}
