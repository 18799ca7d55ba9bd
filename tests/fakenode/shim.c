/*
 * A node that is not there, for LD_PRELOAD: CPU affinity and host name as the simulated machine has them.
 *
 *   FAKEAFF_CPUS   the CPUs the kernel would allow: 0-3,64-67
 *   FAKEAFF_DIR    a folder for the state: one file a thread, "start-time cpus", so that it survives exec
 *   FAKEAFF_NODES  how many NUMA nodes Mems_allowed shows
 *   FAKEAFF_MEMS   if set, the mask Mems_allowed shows these nodes too (libnuma); at most 31
 *   FAKEAFF_SYS    a folder in place of /, for /sys/devices/system/node (libnuma) and likwid's /etc/likwid_topo.cfg
 *   FAKEHOST       the host's name
 *   FAKEAFF_NODNS  a prefix of host names that are not to be looked up (a resolver would be asked once a line)
 *
 * A mask is cut to FAKEAFF_CPUS as the kernel does, and refused with EINVAL where nothing is left. A thread without a
 * file of its own has the mask of its process, a process that of its parent.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define BYTES 1024
typedef unsigned char mask_t[BYTES];

/* ---- masks and lists ---- */

static int has(const unsigned char *m, long i) { return m[i / 8] >> (i % 8) & 1; }

static void from_list(const char *s, unsigned char *m) {
    memset(m, 0, BYTES);
    while (s && isdigit((unsigned char)*s)) {
        char *end;
        long a = strtol(s, &end, 10), b = a;
        if (*end == '-') b = strtol(end + 1, &end, 10);
        for (long i = a; i <= b && i < 8L * BYTES; i++) m[i / 8] |= 1 << (i % 8);
        s = *end == ',' ? end + 1 : NULL;
    }
}

static void to_list(const unsigned char *m, size_t bytes, char *out, size_t size) {
    size_t used = 0;
    long n = (long)bytes * 8;
    out[0] = 0;
    for (long i = 0; i < n; i++) {
        if (!has(m, i)) continue;
        long j = i;
        while (j + 1 < n && has(m, j + 1)) j++;
        if (used + 32 < size) used += snprintf(out + used, size - used, j > i ? "%s%ld-%ld" : "%s%ld", used ? "," : "", i, j);
        i = j;
    }
}

static void all_cpus(unsigned char *m) { from_list(getenv("FAKEAFF_CPUS"), m); }

static long cpu_count(void) {
    mask_t m;
    long n = 0;
    all_cpus(m);
    for (long i = 0; i < 8L * BYTES; i++) n += has(m, i);
    return n;
}

static long words(void) {
    mask_t m;
    long last = 0;
    all_cpus(m);
    for (long i = 0; i < 8L * BYTES; i++) if (has(m, i)) last = i;
    return last / 64 + 1;
}

/* ---- what /proc says of a thread: its process, its parent, when it started ---- */

static ssize_t slurp(const char *path, char *buffer, size_t size) {
    int fd = open(path, O_RDONLY);
    if (fd < 0) return -1;
    ssize_t n = read(fd, buffer, size - 1);
    close(fd);
    buffer[n > 0 ? n : 0] = 0;
    return n;
}

static unsigned long long stat_field(int pid, int field) { /* counted from 3, the first after the name */
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (slurp(path, text, sizeof text) <= 0) return 0;
    char *at = strrchr(text, ')');
    for (int i = 2; at && i < field; i++) at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static int process_of(int tid) {
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    slurp(path, text, sizeof text);
    char *at = strstr(text, "Tgid:");
    return at ? atoi(at + 5) : tid;
}

/* ---- the state ---- */

static int load(int tid, unsigned char *m) {
    char path[512], text[40000], *list;
    snprintf(path, sizeof path, "%s/%d", getenv("FAKEAFF_DIR"), tid);
    if (slurp(path, text, sizeof text) <= 0) return 0;
    if (strtoull(text, &list, 10) != stat_field(tid, 22)) return 0;
    from_list(list + 1, m);
    return 1;
}

static void get(int tid, unsigned char *m) {
    if (load(tid, m)) return;
    for (int pid = process_of(tid); pid > 1; pid = (int)stat_field(pid, 4)) if (load(pid, m)) return;
    all_cpus(m);
}

static int set(int tid, const unsigned char *wanted, size_t bytes) {
    mask_t allowed, kept;
    char path[512], fresh[520], list[32768];
    int any = 0;
    all_cpus(allowed);
    for (size_t i = 0; i < BYTES; i++) any |= kept[i] = allowed[i] & (i < bytes ? wanted[i] : 0);
    if (!any) { errno = EINVAL; return -1; }
    to_list(kept, BYTES, list, sizeof list);
    snprintf(path, sizeof path, "%s/%d", getenv("FAKEAFF_DIR"), tid);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *f = fopen(fresh, "w");
    if (!f) return -1;
    fprintf(f, "%llu %s\n", stat_field(tid, 22), list);
    fclose(f);
    return rename(fresh, path);
}

static int self(pid_t pid) { return pid ? pid : (int)gettid(); }
static int faked(void) { return getenv("FAKEAFF_CPUS") && getenv("FAKEAFF_DIR"); }

/* ---- what programs call ---- */

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *cpus) {
    if (!faked()) return ((int (*)(pid_t, size_t, const cpu_set_t *))next("sched_setaffinity"))(pid, bytes, cpus);
    return set(self(pid), (const unsigned char *)cpus, bytes);
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *cpus) {
    mask_t m;
    if (!faked()) return ((int (*)(pid_t, size_t, cpu_set_t *))next("sched_getaffinity"))(pid, bytes, cpus);
    if ((long)bytes < words() * 8) { errno = EINVAL; return -1; } /* as the kernel: the mask has no room */
    get(self(pid), m);
    memset(cpus, 0, bytes);
    memcpy(cpus, m, bytes < BYTES ? bytes : BYTES);
    return 0;
}

int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *cpus) {
    (void)thread; /* launchers bind the thread that calls */
    return sched_setaffinity(0, bytes, cpus) ? errno : 0;
}

int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *cpus) {
    (void)thread;
    return sched_getaffinity(0, bytes, cpus) ? errno : 0;
}

long syscall(long number, ...) { /* libnuma, taskset of busybox, hwloc's memory binding */
    static long (*real)(long, ...);
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (!real) real = next("syscall");
    if (faked()) {
        switch (number) {
        case SYS_sched_setaffinity: return sched_setaffinity(a[0], a[1], (const cpu_set_t *)a[2]);
        case SYS_sched_getaffinity: {
            long bytes = words() * 8;
            if (sched_getaffinity(a[0], a[1], (cpu_set_t *)a[2])) return -1;
            return bytes < a[1] ? bytes : a[1];
        }
        case SYS_set_mempolicy: case SYS_mbind: case SYS_migrate_pages: return 0;
        }
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

long sysconf(int name) {
    if (faked() && (name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN)) return cpu_count();
    return ((long (*)(int))next("sysconf"))(name);
}

/* ---- the host's name ---- */

int gethostname(char *name, size_t size) {
    struct utsname u;
    uname(&u);
    snprintf(name, size, "%s", u.nodename);
    return 0;
}

int uname(struct utsname *u) {
    int status = ((int (*)(struct utsname *))next("uname"))(u);
    const char *fake = getenv("FAKEHOST");
    if (fake && !status) snprintf(u->nodename, sizeof u->nodename, "%s", fake);
    return status;
}

static int hidden(const char *name) {
    const char *prefix = getenv("FAKEAFF_NODNS");
    return prefix && name && *prefix && !strncmp(name, prefix, strlen(prefix)) && isdigit((unsigned char)name[strlen(prefix)]);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real) real = next("getaddrinfo");
    return hidden(name) ? EAI_NONAME : real(name, service, hints, found);
}

struct hostent *gethostbyname(const char *name) {
    static struct hostent *(*real)(const char *);
    if (!real) real = next("gethostbyname");
    if (!hidden(name)) return real(name);
    h_errno = HOST_NOT_FOUND;
    return NULL;
}

/* ---- /proc/self/status: Cpus_allowed and Mems_allowed; /sys: the NUMA nodes ---- */

static FILE *status(FILE *in) {
    mask_t m;
    char line[65536], list[32768];
    const char *nodes = getenv("FAKEAFF_NODES");
    int count = nodes ? atoi(nodes) : 1;
    FILE *out = fdopen(memfd_create("status", 0), "w+");
    if (!in || !out) return in;
    get(self(0), m);
    to_list(m, BYTES, list, sizeof list);
    while (fgets(line, sizeof line, in)) {
        if (!strncmp(line, "Cpus_allowed:", 13)) {
            fprintf(out, "Cpus_allowed:\t");
            for (long w = words() * 2 - 1; w >= 0; w--) fprintf(out, "%08x%s", ((unsigned *)m)[w], w ? "," : "\n");
        } else if (!strncmp(line, "Cpus_allowed_list:", 18)) fprintf(out, "Cpus_allowed_list:\t%s\n", list);
        else if (!strncmp(line, "Mems_allowed:", 13) && getenv("FAKEAFF_MEMS")) {
            fprintf(out, "Mems_allowed:\t");
            for (int w = 31; w >= 0; w--) fprintf(out, "%08x%s", w ? 0 : (unsigned)((1UL << count) - 1), w ? "," : "\n");
        } else if (!strncmp(line, "Mems_allowed_list:", 18)) fprintf(out, count > 1 ? "Mems_allowed_list:\t0-%d\n" : "Mems_allowed_list:\t0\n", count - 1);
        else fputs(line, out);
    }
    fclose(in);
    rewind(out);
    return out;
}

static const char *moved(const char *path, char *room, size_t size) {
    const char *root = getenv("FAKEAFF_SYS"), *nodes = "/sys/devices/system/node", *likwid = "/etc/likwid_topo.cfg";
    if (!root || (strncmp(path, nodes, strlen(nodes)) && strcmp(path, likwid))) return path;
    snprintf(room, size, "%s%s", root, path);
    return room;
}

int access(const char *path, int mode) {
    char room[4096];
    return ((int (*)(const char *, int))next("access"))(moved(path, room, sizeof room), mode);
}

DIR *opendir(const char *path) {
    char room[4096];
    return ((DIR * (*)(const char *))next("opendir"))(moved(path, room, sizeof room));
}

static FILE *opened(const char *function, const char *path, const char *mode) {
    char room[4096];
    FILE *file = ((FILE * (*)(const char *, const char *))next(function))(moved(path, room, sizeof room), mode);
    return faked() && !strcmp(path, "/proc/self/status") ? status(file) : file;
}

FILE *fopen(const char *path, const char *mode) { return opened("fopen", path, mode); }
FILE *fopen64(const char *path, const char *mode) { return opened("fopen64", path, mode); }

/* ---- threads started with a mask in their attributes (libgomp) ---- */

struct wish { const pthread_attr_t *attr; size_t bytes; mask_t cpus; struct wish *next; };
static struct wish *wishes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct wish *wish_of(const pthread_attr_t *attr) {
    struct wish *w = wishes;
    while (w && w->attr != attr) w = w->next;
    return w;
}

int pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t bytes, const cpu_set_t *cpus) {
    pthread_mutex_lock(&lock);
    struct wish *w = wish_of(attr);
    if (!w) {
        w = calloc(1, sizeof *w);
        w->attr = attr;
        w->next = wishes;
        wishes = w;
    }
    w->bytes = bytes < BYTES ? bytes : BYTES;
    memcpy(w->cpus, cpus, w->bytes);
    pthread_mutex_unlock(&lock);
    return 0;
}

struct start { void *(*run)(void *); void *argument; size_t bytes; mask_t cpus; };

static void *begin(void *p) {
    struct start s = *(struct start *)p;
    free(p);
    sched_setaffinity(0, s.bytes, (cpu_set_t *)s.cpus);
    return s.run(s.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct start *s = NULL;
    if (!real) real = next("pthread_create");
    pthread_mutex_lock(&lock);
    struct wish *w = attr ? wish_of(attr) : NULL;
    if (faked() && w && w->bytes) {
        s = calloc(1, sizeof *s);
        *s = (struct start){.run = run, .argument = argument, .bytes = w->bytes};
        memcpy(s->cpus, w->cpus, BYTES);
    }
    pthread_mutex_unlock(&lock);
    return s ? real(thread, attr, begin, s) : real(thread, attr, run, argument);
}
