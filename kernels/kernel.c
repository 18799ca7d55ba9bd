/* What every kernel shares. The kernels' own files hold what they measure and nothing else. */
#include "kernel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

enum { MOST_CPUS = 16384, MOST_NODES = 1024, MPOL_BIND = 2, MPOL_LOCAL = 4, SAMPLES = 4096 };

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
    if (!whole_number(text, 1, 1000000000, &number)) return "a whole number from 1 on";
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

static void print_help(const struct kernel *kernel, const struct argument *common) {
    printf("%s: %s\n\nusage: %s [OPTION VALUE]...\n\n", kernel->name, kernel->summary, kernel->name);
    const struct argument *tables[] = {kernel->own, common};
    for (int t = 0; t < 2; t++)
        for (const struct argument *each = tables[t]; each->name; each++)
            printf("  --%s%s%s\n        %s\n", each->name, each->value ? " " : "", each->value ? each->value : "", each->help);
    puts("  --list\n        print what it can measure, one a line\n\n"
         "Ends with 0; 1 where its result was wrong; 2 for wrong arguments; 3 where this machine cannot do it.");
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
        {"cpus", "LIST", "one thread on each of these CPUs, in this order (default: all that are allowed)", take_cpus, &common->cpus},
        {"node", "N", "memory from NUMA node N (default: where the thread that uses it runs)", take_node, &common->node},
        {"repeats", "N", "measure so many times; every result is printed", take_count, &common->repeats},
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
            for (const char *const *v = kernel->variants; name[2] == 'l' && !kernel_quiet && *v; v++) puts(*v);
            kernel_leave(KERNEL_GOOD);
        }
        const struct argument *found = NULL;
        if (strncmp(name, "--", 2) == 0) {
            found = find_argument(kernel->own, name + 2);
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
            if (!cpu_has(*known)) kernel_fail(KERNEL_CANNOT, "--isa %s: this CPU does not have it", *known);
            return *known;
        }
        if (cpu_has(*known)) best = *known;
    }
    if (common->isa) kernel_fail(KERNEL_USAGE, "--isa %s: this kernel was not built with it; see --help", common->isa);
    return best;
}

/* ---- memory ---- */

size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Free bytes of a node: overcommitted memory would end this program, or another, without a word. */
static unsigned long long free_bytes(int node) {
    char name[96], line[256];
    unsigned long long kib = 0, sum = 0;
    if (node >= 0) snprintf(name, sizeof name, "/sys/devices/system/node/node%d/meminfo", node);
    else snprintf(name, sizeof name, "/proc/meminfo");
    FILE *file = fopen(name, "r");
    if (!file) {
        if (node >= 0) kernel_fail(KERNEL_CANNOT, "--node %d: this machine has no such NUMA node", node);
        return UINT64_MAX;
    }
    while (fgets(line, sizeof line, file)) {
        const char *field = node >= 0 ? strstr(line, "MemFree:") : strstr(line, "MemAvailable:");
        if (!field && node >= 0) field = strstr(line, "FilePages:"); /* clean file pages make room */
        if (field && sscanf(strchr(field, ':') + 1, "%llu", &kib) == 1) sum += kib << 10;
    }
    fclose(file);
    return sum;
}

static void bind_memory(void *memory, size_t bytes, int node) {
    unsigned long mask[MOST_NODES / (8 * sizeof(unsigned long))] = {0};
    mask[(size_t)node / (8 * sizeof *mask)] = 1UL << ((size_t)node % (8 * sizeof *mask));
    if (syscall(SYS_mbind, memory, bytes, MPOL_BIND, mask, (unsigned long)MOST_NODES + 1, 0UL) != 0)
        kernel_fail(KERNEL_CANNOT, "--node %d: cannot bind memory to it: %s", node, strerror(errno));
}

/* Linux' NUMA balancing moves pages to whoever reads them, and marks them to see who does, which costs faults while the
 * clock runs; 6.1 to 6.5 cannot tell where a marked page is. It leaves memory alone that has a policy of its own: this one,
 * which is first touch as before. A policy that the whole process was started with (numactl --interleave) goes before. */
static void keep_where_touched(void *memory, size_t bytes) {
    int policy = 0;
    if (syscall(SYS_get_mempolicy, &policy, NULL, 0UL, NULL, 0UL) == 0 && policy == 0)
        (void)syscall(SYS_mbind, memory, bytes, MPOL_LOCAL, NULL, 0UL, 0UL); /* fails where Linux was built without NUMA */
}

void *memory_take(const struct common *common, size_t bytes) {
    unsigned long long room = free_bytes(common->node);
    if (bytes > room)
        kernel_fail(KERNEL_CANNOT, "%zu MiB are needed and %llu MiB are free; ask for fewer --bytes", bytes >> 20, room >> 20);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) kernel_fail(KERNEL_CANNOT, "%zu MiB: %s", bytes >> 20, strerror(errno));
    if (common->node >= 0) bind_memory(memory, bytes, common->node);
    else keep_where_touched(memory, bytes);
    /* Fails where the kernel knows no huge pages: line_pages says what was got. */
    (void)madvise(memory, bytes, common->pages == PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return memory;
}

void memory_give(void *memory, size_t bytes) { munmap(memory, bytes); }

double *numbers_take(int count) {
    double *room = calloc((size_t)count, sizeof *room);
    if (!room) kernel_fail(KERNEL_CANNOT, "out of memory");
    return room;
}

/* ---- threads ---- */

void pin(int cpu) {
    cpu_set_t *set = CPU_ALLOC(MOST_CPUS);
    size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    if (!set) kernel_fail(KERNEL_CANNOT, "out of memory");
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    if (sched_setaffinity(0, size, set) != 0) kernel_fail(KERNEL_CANNOT, "cannot run on CPU %d: %s", cpu, strerror(errno));
    CPU_FREE(set);
}

struct seat {
    _Alignas(128) double begun;
    double ended;
    int index;
    struct team *team;
    pthread_t thread;
};

struct team {
    struct seat *seats;
    const struct cpu_list *cpus;
    int count;
    void (*work)(int, int, void *);
    void *data;
    _Alignas(128) atomic_int arrived;
    _Alignas(128) atomic_uint round;
    bool over;
};

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* All wait for the last. Yields after a while: threads may outnumber the CPUs that are really there. */
static void meet(struct team *team) {
    unsigned round = atomic_load(&team->round);
    if (atomic_fetch_add(&team->arrived, 1) == team->count - 1) {
        atomic_store(&team->arrived, 0);
        atomic_fetch_add(&team->round, 1);
        return;
    }
    for (int spins = 0; atomic_load(&team->round) == round; spins++)
        if (spins > 2000) sched_yield();
}

/* False when the team is over. */
static bool take_part(struct seat *seat) {
    struct team *team = seat->team;
    meet(team);
    if (team->over) return false;
    seat->begun = now();
    team->work(seat->index, team->count, team->data);
    seat->ended = now();
    meet(team);
    return true;
}

static void *follow(void *data) {
    struct seat *seat = data;
    pin(seat->team->cpus->cpu[seat->index]);
    while (take_part(seat)) continue;
    return NULL;
}

struct team *team_start(const struct cpu_list *cpus) {
    struct team *team = aligned_alloc(128, sizeof *team);
    struct seat *seats = aligned_alloc(128, (size_t)cpus->count * sizeof *seats);
    if (!team || !seats) kernel_fail(KERNEL_CANNOT, "out of memory");
    memset(team, 0, sizeof *team);
    memset(seats, 0, (size_t)cpus->count * sizeof *seats);
    team->seats = seats;
    team->cpus = cpus;
    team->count = cpus->count;
    pin(cpus->cpu[0]);
    for (int i = 0; i < cpus->count; i++) {
        seats[i].index = i;
        seats[i].team = team;
        if (i > 0 && (errno = pthread_create(&seats[i].thread, NULL, follow, &seats[i])) != 0)
            kernel_fail(KERNEL_CANNOT, "cannot start thread %d of %d: %s", i + 1, cpus->count, strerror(errno));
    }
    return team;
}

double team_run(struct team *team, void (*work)(int, int, void *), void *data) {
    team->work = work;
    team->data = data;
    (void)take_part(&team->seats[0]);
    double begun = team->seats[0].begun, ended = team->seats[0].ended;
    for (int i = 1; i < team->count; i++) {
        if (team->seats[i].begun < begun) begun = team->seats[i].begun;
        if (team->seats[i].ended > ended) ended = team->seats[i].ended;
    }
    return ended - begun;
}

void team_end(struct team *team) {
    team->over = true;
    meet(team);
    for (int i = 1; i < team->count; i++) pthread_join(team->seats[i].thread, NULL);
    free(team->seats);
    free(team);
}

/* ---- the line of a result ---- */

static bool first_field;

static void field(const char *name) {
    printf("%s\"%s\": ", first_field ? "{" : ", ", name);
    first_field = false;
}

void line_text(const char *name, const char *text) {
    field(name);
    printf("\"%s\"", text); /* our own words only: nothing to escape */
}

void line_number(const char *name, double number) {
    field(name);
    printf("%.9g", number);
}

void line_whole(const char *name, long long number) {
    field(name);
    printf("%lld", number);
}

void line_flag(const char *name, bool yes) {
    field(name);
    fputs(yes ? "true" : "false", stdout);
}

void line_numbers(const char *name, const double *numbers, int count) {
    field(name);
    putchar('[');
    for (int i = 0; i < count; i++) printf("%s%.9g", i ? ", " : "", numbers[i]);
    putchar(']');
}

void line_begin(const struct kernel *kernel, const struct common *common, const char *variant, const char *unit) {
    first_field = true;
    line_whole("contract", KERNEL_CONTRACT);
    line_text("kernel", kernel->name);
    line_text("variant", variant);
    line_text("unit", unit);
    field("cpus");
    for (int i = 0; i < common->cpus.count; i++) printf("%s%d", i ? ", " : "[", common->cpus.cpu[i]);
    putchar(']');
    if (common->node >= 0) line_whole("node", common->node);
}

void line_pages(const void *memory, size_t bytes) {
    static void *where[SAMPLES];
    static int status[SAMPLES];
    static int count[MOST_NODES];
    size_t page = page_bytes(), pages = bytes / page, used = pages < SAMPLES ? pages : SAMPLES;
    int unknown = 0;
    memset(count, 0, sizeof count);
    for (size_t i = 0; i < used; i++) where[i] = (char *)memory + i * pages / used * page;
    bool told = syscall(SYS_move_pages, 0, used, where, NULL, status, 0) == 0;
    for (size_t i = 0; i < used; i++)
        if (told && status[i] >= 0 && status[i] < MOST_NODES) count[status[i]]++;
        else unknown++;
    field("pages");
    putchar('{');
    const char *comma = "";
    for (int node = 0; node < MOST_NODES; node++)
        if (count[node]) {
            printf("%s\"%d\": %d", comma, node, count[node]);
            comma = ", ";
        }
    if (unknown) printf("%s\"unknown\": %d", comma, unknown);
    putchar('}');
}

/* Of the mappings that the memory lies in: how much is there, and how much of that in huge pages. */
void line_page_kind(const void *memory, size_t bytes) {
    char line[512];
    unsigned long low, high, kib, there = 0, huge = 0, begin = (unsigned long)memory;
    bool ours = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2) ours = low < begin + bytes && begin < high;
        else if (ours && sscanf(line, "Anonymous: %lu", &kib) == 1) there += kib;
        else if (ours && sscanf(line, "AnonHugePages: %lu", &kib) == 1) huge += kib;
    }
    if (file) fclose(file);
    line_text("page_kind", there == 0 ? "unknown" : huge == 0 ? "normal" : huge >= there - there / 10 ? "huge" : "mixed");
}

void line_end(void) {
    puts("}");
    fflush(stdout);
}
