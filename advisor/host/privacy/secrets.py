"""What no capture holds, whoever reads it: passwords, tokens and keys.

Variables and boot options are kept by name (an allow-list): what nobody asks for is not there to be given away.
Patterns are those of the shell's ``case``, so that the capture script keeps to the same tables.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from advisor.host.base import Host, Ran, Reading, SecondLook, second_look

REMOVED = "removed"
CMDLINE = "/proc/cmdline"

NEVER_VARIABLES = (
    *("*JWT*", "*TOKEN*", "*SECRET*", "*PASS*", "*PWD*", "*CREDENTIAL*", "*COOKIE*", "*AUTH*", "*KEY", "*KEY_*", "*KEYS*"),
    *("*URI*", "*URL*", "*_ARGS", "*AGENT*", "*MAIL*", "*COMMENT*", "*_ENV", "*COMMAND*", "*LAUNCH*"),
)
"""Names that are not kept even where the table below would: credentials, and lines of commands, which may hold any."""

PLACED_VARIABLES = (
    *("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURMD_NODENAME", "SLURM_SUBMIT_HOST"),
    *("SLURM_JOB_PARTITION", "SLURM_JOB_RESERVATION", "SLURM_JOB_ACCOUNT", "SLURM_JOB_USER", "SLURM_JOB_NAME"),
    *("SLURM_CLUSTER_NAME", "SLURM_JOB_QOS", "SLURM_JOB_UID", "SLURM_JOB_GID", "SLURM_TOPOLOGY_ADDR", "SLURM_STEP_NODELIST"),
    *("SLURM_SUBMIT_DIR", "PBS_JOBID", "PBS_O_HOST", "PBS_O_LOGNAME", "PBS_O_QUEUE", "PBS_QUEUE", "PBS_O_HOME", "PBS_O_WORKDIR"),
    *("PBS_NODEFILE", "LSB_JOBID", "LSB_MCPU_HOSTS", "LSB_HOSTS", "LSB_SUB_HOST", "LSB_QUEUE", "LSB_JOBNAME", "LSB_SUB_USER"),
    *("FLUX_JOB_ID", "PALS_APID", "PALS_NODEID"),
)
"""Kept in a plain capture, and named in an anonymised one only by their shape: who, where, under which name."""

KEPT_VARIABLES = (
    *("SLURM_*CPU*", "SLURM_*MEM*", "SLURM_*NTASKS*", "SLURM_*TASKS*", "SLURM_NPROCS", "SLURM_*NUM_NODES", "SLURM_NNODES"),
    *("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_DISTRIBUTION", "SLURM_*GPU*", "SLURM_*GRES*", "SLURM_HINT"),
    *("SLURM_THREADS_PER_CORE", "SLURM_CORE_SPEC", "SLURM_MPI_TYPE", "SLURM_TOPOLOGY_ADDR_PATTERN", "SLURM_EXACT"),
    *("SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_*", "SLURM_WHOLE", "SLURM_OVERLAP", "SLURM_EXCLUSIVE"),
    *("PBS_NP", "PBS_NUM_NODES", "PBS_NUM_PPN", "PBS_ENVIRONMENT", "NCPUS"),
    *("LSB_DJOB_NUMPROC", "LSB_BIND_CPU_LIST", "LSB_MAX_NUM_PROCESSORS", "LSB_DJOB_HB_INTERVAL"),
    *("FLUX_JOB_SIZE", "FLUX_JOB_NNODES", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID"),
    *("OMPI_MCA_*", "OMPI_COMM_WORLD_*", "OMPI_UNIVERSE_SIZE", "PRTE_MCA_*", "PMIX_MCA_*", "PMIX_RANK", "PMIX_VERSION"),
    *("PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", "PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"),
    *("I_MPI_ADJUST*", "I_MPI_PIN*", "I_MPI_FABRICS*", "I_MPI_OFI*", "I_MPI_DEBUG*", "I_MPI_SHM*", "I_MPI_STATS*"),
    *("I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_TOPOLIB", "I_MPI_PERHOST", "I_MPI_OFFLOAD*", "I_MPI_NUM*", "I_MPI_MULTIRAIL"),
    *("I_MPI_JOB_RESPECT_PROCESS_PLACEMENT", "I_MPI_THREAD_SPLIT", "I_MPI_ASYNC_PROGRESS*", "I_MPI_COLL*"),
    *("HYDRA_BINDING", "HYDRA_MAPPING", "HYDRA_TOPOLIB", "HYDRA_RMK", "HYDRA_BOOTSTRAP"),
    *("MV2_*", "MVP_*", "MPICH_*", "FI_*", "UCX_*", "HCOLL_*", "NCCL_*", "OMP_*", "GOMP_*", "KMP_*", "CRAY_OMP_*"),
    *("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL"),
)
"""Names of variables whose values say how a job is placed and what its messages take."""

SLURM_CONF, SLURM_KEYS = "/etc/slurm/slurm.conf", ("PropagateResourceLimits", "PropagateResourceLimitsExcept", "Include")
"""Of slurm.conf these lines are kept: others hold names of people, hosts and databases, and AccountingStoragePass."""

BOOT_OPTIONS = (
    *("ro", "rw", "quiet", "nosmt", "nosmp", "numa", "numa_balancing", "numa_zonelist_order", "noirqbalance", "irqaffinity"),
    *("isolcpus", "nohz", "nohz_full", "rcu_nocbs", "rcu_nocb_poll", "skew_tick", "tsc", "clocksource", "nowatchdog"),
    *("nmi_watchdog", "nosoftlockup", "softlockup_panic", "hpet", "maxcpus", "nr_cpus", "possible_cpus", "highres", "threadirqs"),
    *(
        "processor.max_cstate",
        "processor.nocst",
        "intel_idle.*",
        "idle",
        "cpuidle.*",
        "cpufreq.*",
        "intel_pstate*",
        "amd_pstate*",
    ),
    *("acpi_cpufreq*", "amd_prefcore", "nvidia.NVreg_EnableStreamMemOPs", "iommu*", "intel_iommu*", "amd_iommu*", "intremap"),
    *("x2apic*", "nox2apic", "x2apic_phys", "apic", "noapic", "nolapic", "acpi", "pci", "pcie_aspm*", "pcie_ports", "pcie_bus_*"),
    *("pcie_acs_override", "transparent_hugepage*", "thp_*", "hugepages", "hugepagesz", "default_hugepagesz", "hugetlb*"),
    *("hugetlb_free_vmemmap", "mitigations", "spectre_v2*", "spec_store_bypass_disable", "spec_rstack_overflow", "retbleed"),
    *(
        "nospectre_v1",
        "nospectre_v2",
        "l1tf",
        "mds",
        "tsx",
        "tsx_async_abort",
        "srbds",
        "mmio_stale_data",
        "pti",
        "nopti",
        "kpti",
    ),
    *("gather_data_sampling", "reg_file_data_sampling", "spectre_bhi", "init_on_alloc", "init_on_free", "page_poison"),
    *("page_alloc.shuffle", "slub_debug", "slab_nomerge", "kfence.*", "audit", "selinux", "apparmor", "security", "lsm", "psi"),
    *("cgroup_disable", "cgroup_enable", "cgroup_no_v1", "systemd.unified_cgroup_hierarchy", "systemd.legacy_systemd_cgroup_*"),
    *("swapaccount", "mem", "memmap", "movable_node", "movablecore", "kernelcore", "efi", "crashkernel", "kexec_*", "lockdown"),
    *("workqueue.*", "rcutree.*", "rcupdate.*", "kthread_cpus", "preempt", "sched_*", "split_lock_detect", "mce", "mem_encrypt"),
    *("kvm*", "kvm_amd.*", "kvm_intel.*", "hv_*", "xen*", "virtio*", "edac_core.*", "ghes.disable", "erst_disable", "msr.*"),
    *("cma", "cma_pernuma", "numa_cma", "dax*", "memory_hotplug.*", "vm_debug", "vsyscall", "nokaslr", "kaslr", "randomize*"),
    *("rdt", "resctrl*", "cpu0_hotplug", "topology", "nohibernate", "noresume", "nomodeset", "enforcing", "fips", "ima_*"),
)
"""Boot options whose values say how the kernel treats processors, memory, devices and power; no other is kept."""

_WORD = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')
_VALUE = re.compile(r"[A-Za-z0-9_,.:;+*/%=@!^()\[\]-]{0,400}")
_SECRET = (
    # Header, content and signature of a JSON Web Token (RFC 7519), each in base64url; {" begins as eyJ.
    (re.compile(r"(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"), REMOVED),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), REMOVED),
    (re.compile(r"(\b[A-Za-z][\w+.-]{1,20}://)[^\s/@\"']{1,400}@"), rf"\1{REMOVED}@"),
    (re.compile(r"(\b[A-Za-z][\w+.-]{1,20}://[^\s?\"']{1,400}\?)[^\s\"']+"), rf"\1{REMOVED}"),
    (re.compile(r"(?i)\b(authorization[\"']?\s{0,4}[=:])[^\n]+"), rf"\1 {REMOVED}"),
    (re.compile(r"(?i)\b(bearer\s{1,4})[\w.+/=-]{8,}"), rf"\1{REMOVED}"),
    (re.compile(r"MUNGE:[\w+/=]+:?"), REMOVED),
    (
        re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}|\bhf_\w{20,}"),
        REMOVED,
    ),
    (
        re.compile(
            r"(?i)((?:passw(?:or)?d|passphrase|secret|token|jwt|credentials?|(?:api|private|access)[_-]?key|psk|cookie)"
            r"\w{0,20}[\"']?(?:\s{0,4}[=:]\s{0,4}|\s{1,2}(?=[^\s\d]*\d)(?=\S{8})))(\"[^\"\n]*\"?|'[^'\n]*'?|[^\s,;&<>]+)"
        ),
        rf"\1{REMOVED}",
    ),
)
_HINT = re.compile(
    r"(?i)passw|passphrase|secret|token|jwt|credential|key|psk|cookie|authoriz|bearer|eyJ|BEGIN|://|MUNGE|AKIA|ASIA|gh[pousr]_|glpat|xox|hf_"
)
"""One of these is in every text that the patterns above change; most files of a machine have none."""


_SLURM_LINE = re.compile(rf"(?i)\s*(?:(?:{'|'.join(SLURM_KEYS)})\s*=|include\s)")


def any_of(name: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether a name matches one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def keeps_variable(name: str) -> bool:
    """Tell whether a capture keeps a variable of this name."""
    return any_of(name, PLACED_VARIABLES) or (not any_of(name, NEVER_VARIABLES) and any_of(name, KEPT_VARIABLES))


def boot_options(cmdline: str) -> Iterator[str]:
    """Yield the boot options that a capture keeps, each as it stands on the line; those after ``--`` are init's.

    >>> list(boot_options('root=UUID=7 ro iommu=pt rd.iscsi.password="a b" isolcpus=1-3'))
    ['ro', 'iommu=pt', 'isolcpus=1-3']
    """
    for word in _WORD.findall(cmdline):
        if word == "--":
            return
        key, _, value = word.replace('"', "").partition("=")
        if any_of(key, BOOT_OPTIONS) and _VALUE.fullmatch(value) and without_secrets(f"{key}={value}") == f"{key}={value}":
            yield word


def without_secrets(text: str) -> str:
    """Return a text without what is written as a credential is."""
    if _HINT.search(text):
        for pattern, instead in _SECRET:
            text = pattern.sub(instead, text)
    return text


_PRINTED = re.compile(rb"[\x20-\x7e]{8,}")
"""Texts in a table of the firmware: an OEM string of SMBIOS may hold a password."""


def _same_length(found: re.Match[bytes]) -> bytes:
    """Return a text of a table without secrets, as long as it was: what stands behind it stays where it is."""
    text = found[0].decode("ascii")
    clean = without_secrets(text)
    return found[0] if clean == text else clean.ljust(len(text), "*")[: len(text)].encode("ascii")


def _cleaned(data: bytes) -> bytes:
    if b"\0" in data.rstrip(b"\0"):
        return _PRINTED.sub(_same_length, data)
    text = data.decode("utf-8", "surrogateescape")
    return without_secrets(text).encode("utf-8", "surrogateescape")


class HostBehind:
    """A host that answers for another one, under its name and as its kind."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return self._host.name

    @property
    def kind(self) -> str:
        """What kind of host it is."""
        return self._host.kind


class RedactedHost(HostBehind):
    """Another host's answers without passwords, tokens and keys: what every capture is made of."""

    def read(self, path: str) -> Reading:
        """Return what a file holds; of the kernel's command line the options that are known."""
        reading = self._host.read(path)
        if reading.why:
            return reading
        if path == CMDLINE:
            return Reading(f"{' '.join(boot_options(reading.text or ''))}\n".encode())
        if path == SLURM_CONF:
            return Reading("".join(f"{line}\n" for line in (reading.text or "").splitlines() if _SLURM_LINE.match(line)).encode())
        return Reading(_cleaned(reading.data))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        return self._host.list(path)

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved."""
        return self._host.real(path)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed."""
        ran = self._host.run(argv, timeout)
        return ran._replace(out=_cleaned(ran.out), err=_cleaned(ran.err))

    @property
    def again(self) -> SecondLook | None:
        """The second look of a capture; None where there was one."""
        second = second_look(self._host)
        return None if second is None else second._replace(host=RedactedHost(second.host))

    def environment(self) -> dict[str, str]:
        """Return the variables that are known to say how a job is placed."""
        found = self._host.environment().items()
        return {name: without_secrets(value) for name, value in found if keeps_variable(name)}
