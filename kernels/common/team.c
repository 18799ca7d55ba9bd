/* What every kernel shares: time, and a team of threads, each on its CPU. */
#include "kernel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void pin(int cpu) {
    cpu_set_t *set = CPU_ALLOC(MOST_CPUS);
    size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    if (!set) kernel_fail(KERNEL_CANNOT, "out of memory");
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)cpu, size, set);
    if (sched_setaffinity(0, size, set) != 0) kernel_fail(KERNEL_CANNOT, "cannot run on CPU %d: %s", cpu, strerror(errno));
    CPU_FREE(set);
}

struct member {
    _Alignas(128) double begun;
    double ended;
    int index;
    struct team *team;
    pthread_t thread;
};

struct team {
    struct member *members;
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
static bool take_part(struct member *member) {
    struct team *team = member->team;
    meet(team);
    if (team->over) return false;
    member->begun = now();
    team->work(member->index, team->count, team->data);
    member->ended = now();
    meet(team);
    return true;
}

static void *follow(void *data) {
    struct member *member = data;
    pin(member->team->cpus->cpu[member->index]);
    while (take_part(member)) continue;
    return NULL;
}

struct team *team_start(const struct cpu_list *cpus) {
    struct team *team = aligned_alloc(128, sizeof *team);
    struct member *members = aligned_alloc(128, (size_t)cpus->count * sizeof *members);
    if (!team || !members) kernel_fail(KERNEL_CANNOT, "out of memory");
    memset(team, 0, sizeof *team);
    memset(members, 0, (size_t)cpus->count * sizeof *members);
    team->members = members;
    team->cpus = cpus;
    team->count = cpus->count;
    pin(cpus->cpu[0]);
    for (int i = 0; i < cpus->count; i++) {
        members[i].index = i;
        members[i].team = team;
        if (i > 0 && (errno = pthread_create(&members[i].thread, NULL, follow, &members[i])) != 0)
            kernel_fail(KERNEL_CANNOT, "cannot start thread %d of %d: %s", i + 1, cpus->count, strerror(errno));
    }
    return team;
}

double team_run(struct team *team, void (*work)(int, int, void *), void *data) {
    team->work = work;
    team->data = data;
    (void)take_part(&team->members[0]);
    double begun = team->members[0].begun, ended = team->members[0].ended;
    for (int i = 1; i < team->count; i++) {
        if (team->members[i].begun < begun) begun = team->members[i].begun;
        if (team->members[i].ended > ended) ended = team->members[i].ended;
    }
    return ended - begun;
}

void team_end(struct team *team) {
    team->over = true;
    meet(team);
    for (int i = 1; i < team->count; i++) pthread_join(team->members[i].thread, NULL);
    free(team->members);
    free(team);
}
