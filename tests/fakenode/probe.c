/*
 * What a rank sees: one line "AFF rank=3 host=node1 cpus=8-11 UCX_NET_DEVICES=mlx5_0:1", then it stays a moment
 * (Open MPI 5.0 hangs now and then when all ranks end at once: every second run of eight hosts).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const RANKS[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", NULL};
static const char *const SHOWN[] = {"UCX_NET_DEVICES", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", NULL};

int main(void) {
    static unsigned char cpus[1024];
    static char line[65536];
    char host[256] = "";
    int rank = -1, used = 0;
    for (int i = 0; RANKS[i] && rank < 0; i++) if (getenv(RANKS[i])) rank = atoi(getenv(RANKS[i]));
    gethostname(host, sizeof host - 1);
    if (sched_getaffinity(0, sizeof cpus, (cpu_set_t *)cpus)) return 1;
    used += snprintf(line, sizeof line, "AFF rank=%d host=%s cpus=", rank, host);
    for (int i = 0, any = 0; i < 8192; i++) {
        if (!(cpus[i / 8] >> (i % 8) & 1)) continue;
        int j = i;
        while (j < 8191 && cpus[(j + 1) / 8] >> ((j + 1) % 8) & 1) j++;
        used += snprintf(line + used, sizeof line - used, j > i ? "%s%d-%d" : "%s%d", any ? "," : "", i, j);
        any = 1;
        i = j;
    }
    for (int i = 0; SHOWN[i]; i++) if (getenv(SHOWN[i])) used += snprintf(line + used, sizeof line - used, " %s=%s", SHOWN[i], getenv(SHOWN[i]));
    line[used++] = '\n';
    if (write(1, line, used) != used) return 1; /* one write: lines of several ranks do not mix */
    const char *stay = getenv("PROBE_STAY");
    usleep(1000 * (stay ? atoi(stay) : 0));
    return 0;
}
