"""What is a credential: the one place that decides it, for captures, facts, documents, pages, records and errors.

Variables and boot options are kept by name (an allow-list): what nobody asks for is not there to be given away.
Patterns are those of the shell's ``case``, in capitals and compared without case, so that the capture script keeps to the
same tables. A credential that is taken out leaves the word ``withheld`` in its place.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import translate
from functools import cache
from typing import Any

WITHHELD = "withheld"


def words_of(table: str) -> tuple[str, ...]:
    """Return the words of a table that is written as a text."""
    return tuple(table.split())


CMDLINE = "/proc/cmdline"

CREDENTIAL_VARIABLES = words_of(
    """
    *JWT* *TOKEN *TOKEN_* *SECRET* *PASSW* *PASSPHRASE* *PASSCODE* PASS *_PASS *_PASS_* PASS_* *PWD *_PWD_* *CRED *CREDS
    *CRED_* *CREDENTIAL* *COOKIE* *_AUTH *_AUTH_* AUTH_* *PSK KEY *_KEY *_KEY_* *_KEYS *APIKEY* *_URI
    """
)
"""Names of variables whose values are credentials; a URI of a launcher's server has its key in it."""

NEVER_VARIABLES = words_of(
    """
    *JWT* *TOKEN* *SECRET* *PASS* *PWD* *CRED* *COOKIE* *AUTH* KEY *_KEY *_KEY_* *KEYS* *APIKEY* *PSK* *URI* *URL* *_ARGS
    *AGENT* *MAIL* *COMMENT* *_ENV *COMMAND* *LAUNCH*
    """
)
"""Names that are not kept even where the table below would: credentials, and lines of commands, which may hold any."""

PLACED_VARIABLES = words_of(
    """
    SLURM_JOB_ID SLURM_JOBID SLURM_JOB_NODELIST SLURM_NODELIST SLURMD_NODENAME SLURM_SUBMIT_HOST SLURM_JOB_PARTITION
    SLURM_JOB_RESERVATION SLURM_JOB_ACCOUNT SLURM_JOB_USER SLURM_JOB_NAME SLURM_CLUSTER_NAME SLURM_JOB_QOS SLURM_JOB_UID
    SLURM_JOB_GID SLURM_TOPOLOGY_ADDR SLURM_STEP_NODELIST SLURM_SUBMIT_DIR PBS_JOBID PBS_O_HOST PBS_O_LOGNAME PBS_O_QUEUE
    PBS_QUEUE PBS_O_HOME PBS_O_WORKDIR PBS_NODEFILE LSB_JOBID LSB_MCPU_HOSTS LSB_HOSTS LSB_SUB_HOST LSB_QUEUE LSB_JOBNAME
    LSB_SUB_USER FLUX_JOB_ID PALS_APID PALS_NODEID
    """
)
"""Kept in a plain capture, and named in an anonymised one only by their shape: who, where, under which name."""

KEPT_VARIABLES = words_of(
    """
    SLURM_*CPU* SLURM_*MEM* SLURM_*NTASKS* SLURM_*TASKS* SLURM_NPROCS SLURM_*NUM_NODES SLURM_NNODES SLURM_PROCID
    SLURM_LOCALID SLURM_NODEID SLURM_DISTRIBUTION SLURM_*GPU* SLURM_*GRES* SLURM_HINT SLURM_THREADS_PER_CORE SLURM_CORE_SPEC
    SLURM_MPI_TYPE SLURM_TOPOLOGY_ADDR_PATTERN SLURM_EXACT SLURM_JOB_NUM_NODES SLURM_STEP_NUM_* SLURM_WHOLE SLURM_OVERLAP
    SLURM_EXCLUSIVE PBS_NP PBS_NUM_NODES PBS_NUM_PPN PBS_ENVIRONMENT NCPUS LSB_DJOB_NUMPROC LSB_BIND_CPU_LIST
    LSB_MAX_NUM_PROCESSORS LSB_DJOB_HB_INTERVAL FLUX_JOB_SIZE FLUX_JOB_NNODES FLUX_TASK_RANK FLUX_TASK_LOCAL_ID OMPI_MCA_*
    OMPI_COMM_WORLD_* OMPI_UNIVERSE_SIZE PRTE_MCA_* PMIX_MCA_* PMIX_RANK PMIX_VERSION PMI_RANK PMI_SIZE PMI_LOCAL_RANK
    PMI_LOCAL_SIZE PALS_RANKID PALS_LOCAL_RANKID PALS_LOCAL_SIZE I_MPI_ADJUST* I_MPI_PIN* I_MPI_FABRICS* I_MPI_OFI*
    I_MPI_DEBUG* I_MPI_SHM* I_MPI_STATS* I_MPI_HYDRA_BOOTSTRAP I_MPI_HYDRA_TOPOLIB I_MPI_PERHOST I_MPI_OFFLOAD* I_MPI_NUM*
    I_MPI_MULTIRAIL I_MPI_JOB_RESPECT_PROCESS_PLACEMENT I_MPI_THREAD_SPLIT I_MPI_ASYNC_PROGRESS* I_MPI_COLL* HYDRA_BINDING
    HYDRA_MAPPING HYDRA_TOPOLIB HYDRA_RMK HYDRA_BOOTSTRAP MV2_* MVP_* MPICH_* FI_* UCX_* HCOLL_* NCCL_* OMP_* GOMP_* KMP_*
    CRAY_OMP_* CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ZE_AFFINITY_MASK GPU_DEVICE_ORDINAL
    """
)
"""Names of variables whose values say how a job is placed and what its messages take."""

SLURM_CONF, SLURM_KEYS = "/etc/slurm/slurm.conf", ("PropagateResourceLimits", "PropagateResourceLimitsExcept", "Include")
"""Of slurm.conf these lines are kept: others hold names of people, hosts and databases, and AccountingStoragePass."""

BOOT_OPTIONS = words_of(
    """
    ro rw quiet nosmt nosmp numa numa_balancing numa_zonelist_order noirqbalance irqaffinity isolcpus nohz nohz_full
    rcu_nocbs rcu_nocb_poll skew_tick tsc clocksource nowatchdog nmi_watchdog nosoftlockup softlockup_panic hpet maxcpus
    nr_cpus possible_cpus highres threadirqs processor.max_cstate processor.nocst intel_idle.* idle cpuidle.* cpufreq.*
    intel_pstate* amd_pstate* acpi_cpufreq* amd_prefcore nvidia.NVreg_EnableStreamMemOPs iommu* intel_iommu* amd_iommu*
    intremap x2apic* nox2apic x2apic_phys apic noapic nolapic acpi pci pcie_aspm* pcie_ports pcie_bus_* pcie_acs_override
    transparent_hugepage* thp_* hugepages hugepagesz default_hugepagesz hugetlb* hugetlb_free_vmemmap mitigations
    spectre_v2* spec_store_bypass_disable spec_rstack_overflow retbleed nospectre_v1 nospectre_v2 l1tf mds tsx
    tsx_async_abort srbds mmio_stale_data pti nopti kpti gather_data_sampling reg_file_data_sampling spectre_bhi
    init_on_alloc init_on_free page_poison page_alloc.shuffle slub_debug slab_nomerge kfence.* audit selinux apparmor
    security lsm psi cgroup_disable cgroup_enable cgroup_no_v1 systemd.unified_cgroup_hierarchy systemd.cpu_affinity
    systemd.numa_policy systemd.numa_mask systemd.legacy_systemd_cgroup_* swapaccount mem memmap movable_node movablecore
    kernelcore efi crashkernel kexec_* lockdown workqueue.* rcutree.* rcupdate.* kthread_cpus preempt sched_*
    split_lock_detect mce mem_encrypt kvm* kvm_amd.* kvm_intel.* hv_* xen* virtio* edac_core.* ghes.disable erst_disable
    msr.* cma cma_pernuma numa_cma dax* memory_hotplug.* vm_debug vsyscall nokaslr kaslr randomize* rdt resctrl*
    cpu0_hotplug topology nohibernate noresume nomodeset enforcing fips ima_* clearcpuid
    """
)
"""Boot options whose values say how the kernel treats processors, memory, devices and power; no other is kept."""

_OPTION = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
_WORD = re.compile(r'(?:"[^"]*(?:"|$)|[^\s"])+')
_VALUE = re.compile(r"[A-Za-z0-9_,.:;+*/%=@!^()\[\]-]{0,400}")
_NAMED = (
    r"(?:passw(?:or)?d|passphrase|passcode|secret|token(?!s\b|iz|s?[ _]per)|jwt|credentials?|(?:\b|_)psk|(?<!syn)cookie"
    r"|(?:api|private|access|secret|license|munge|luks)[_-]?key)"
    r"(?![_-]?(?:files?|count|length|policy|enabled?|status|min\w*|max\w*|expir\w*|age|complexity|jumper|lock)(?![a-z]))"
)
"""Words that name a credential, and what behind them names something about one."""
_VALUE_OF = r"(\"(?:[^\"\\\n]|\\.)*\"?|\\\"[^\"\n]*\"?|'[^'\n]*'?|[^\s,;&<>\"']+)"
_JSON_VALUE = r"(?![{\[]|(?:null|true|false)\b)" + _VALUE_OF.replace("\"']+)", "\"'}\\]]+)")
_PLACEHOLDER = rf"(?!{WITHHELD}\b|\(not shown\)|[\"']?\$|<|PASS(?:WORD)?\b|TOKEN\b|SECRET\b)"
"""What stands for a credential, and is none: a shell's variable, a word of a manual."""
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_SECRET = (
    # Header, content and signature of a JSON Web Token (RFC 7519), each in base64url; {" begins as eyJ.
    (re.compile(r"(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"), WITHHELD),
    (_KEY_BLOCK, WITHHELD),
    (re.compile(r"(\b[A-Za-z][\w+.-]{1,20}://)(?!withheld@|USER)[^\s/@\"']{1,400}@"), rf"\1{WITHHELD}@"),
    (re.compile(r"(?i)([?&](?:sig|signature|auth|key|code|sas|x-amz-[\w-]{1,40})=)(?!withheld)[^\s&\"']+"), rf"\1{WITHHELD}"),
    (re.compile(r"(?i)(\biscsi:)(?!withheld)[^\s@\"']{1,200}@"), rf"\1{WITHHELD}@"),
    (re.compile(r"(?i)\b(authorization[\"']?\s{0,4}[=:])(?! ?withheld)[^\n\"']+"), rf"\1 {WITHHELD}"),
    (re.compile(r"(?i)\b(bearer\s{1,4})[\w.+/=-]{8,}"), rf"\1{WITHHELD}"),
    (re.compile(r"MUNGE:[\w+/=]+:?"), WITHHELD),
    # crypt(5): a hash of a password is as good as one that is weak.
    (re.compile(r"\$(?:1|2[abxy]|5|6|7|y|gy)\$[\w./$,=-]{12,}"), WITHHELD),
    (
        re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}|\bhf_\w{20,}"),
        WITHHELD,
    ),
    # "name": "value", which stays JSON: an object, a list and null are none, and quotes are kept.
    (
        re.compile(rf"(?i)({_NAMED}\w{{0,20}}([\"'])\s{{0,4}}:\s{{0,4}}){_PLACEHOLDER}{_JSON_VALUE}"),
        rf"\1\2{WITHHELD}\2",
    ),
    # name=value, name:value; at the beginning of a line or a clause name: value, as YAML is written.
    (
        re.compile(rf"(?i)({_NAMED}\w{{0,20}}(?:\s{{0,4}}=\s{{0,4}}|:(?=\S))){_PLACEHOLDER}{_VALUE_OF}"),
        rf"\1{WITHHELD}",
    ),
    (
        re.compile(
            rf"(?im)((?:^|[{{,;(\[|#])[ \t]*-?[ \t]*[\w.]{{0,30}}{_NAMED}\w{{0,20}}:[ \t]{{1,4}})"
            rf"{_PLACEHOLDER}{_VALUE_OF}"
        ),
        rf"\1{WITHHELD}",
    ),
    # with blanks inside a sentence only what looks like one: letters and digits, eight of them.
    (
        re.compile(rf"(?i)({_NAMED}\w{{0,20}}:?\s{{1,2}}){_PLACEHOLDER}(?=[^\s\d]*\d)(?=\S{{8}}){_VALUE_OF}"),
        rf"\1{WITHHELD}",
    ),
    # --some-password value, and netrc's login name password value
    (re.compile(rf"(?i)((?<![\w-])--?[\w-]*{_NAMED}[\w-]*\s+){_PLACEHOLDER}(?!-){_VALUE_OF}"), rf"\1{WITHHELD}"),
    (re.compile(rf"(?i)(\blogin\s+\S{{1,100}}\s+password\s+){_PLACEHOLDER}(\S+)"), rf"\1{WITHHELD}"),
    # ipmi.pass=, DbdPass=, rd.luks.key=, sec_munge_key=, MV2_CRED=, no bypass= and no monkey=
    (
        re.compile(
            r"(?i)((?:\b(?:[\w.-]*[._-])?(?:pass|pwd(?=\s?=\s?[^/ ])|creds?)|\b[\w.-]*[._-](?:key|auth)|(?-i:[a-z]Pass)) ?= ?)"
            rf"{_PLACEHOLDER}{_VALUE_OF}"
        ),
        rf"\1{WITHHELD}",
    ),
    (
        re.compile(rf"((?:OMPI|PMIX|PRTE|I_MPI|MV2)_\w*(?i:_key|_cred|_auth)([\"']?): ?){_PLACEHOLDER}{_JSON_VALUE}"),
        rf"\1\2{WITHHELD}\2",
    ),
)
_PAIRED = r"--?(?:mca|gmca|omca|prtemca|pmixmca|genv|env|setenv)"
"""Options of launchers that take a name and a value, two words."""
_HINT_TEXTS = (
    "pass|secret|token|jwt|cred|key|psk|cookie|authoriz|auth=|auth =|auth:|auth'|auth\"|bearer|eyj|pwd|sig=|"
    "signature=|x-amz|sas=|code=|://|iscsi:|munge|akia|asia|ghp_|gho_|ghu_|ghs_|ghr_|glpat|xox| hf_|=hf_|:hf_|'hf_|"
    '"hf_|$|_uri'
)
_HINTS = tuple(_HINT_TEXTS.split("|"))
"""One of these, in small letters, is in every text that the patterns above change. A million ranks have none: looked for as
texts, for a pattern of all of them takes a hundred times as long."""
_WHOLE = 1 << 16
"""Characters up to which a text is taken whole; of a longer one the lines that have a hint."""


_MANY_LINES = 2048
"""Characters from which a text's equal lines are looked through once."""

_SLURM_LINE = re.compile(rf"(?i)\s*(?:(?:{'|'.join(SLURM_KEYS)})\s*=|include\s)")


def is_slurm_line(line: str) -> bool:
    """Tell whether a line of slurm.conf is one of those that are kept."""
    return _SLURM_LINE.match(line) is not None


def any_of(name: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether a name matches one of the patterns."""
    return _matcher(patterns).match(name) is not None


@cache
def _matcher(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression for all patterns: a boot line has thirty words, and each is looked for among a hundred."""
    return re.compile("|".join(map(translate, patterns)))


def is_credential_variable(name: str) -> bool:
    """Tell whether a variable of this name holds a credential, written in capitals or not.

    >>> [is_credential_variable(name) for name in ("OMPI_MCA_oob_secret", "PMIX_MCA_sec_munge_key", "MONKEY", "UCX_IB_PKEY")]
    [True, True, False, False]
    """
    return any_of(name.upper(), CREDENTIAL_VARIABLES)


def keeps_variable(name: str) -> bool:
    """Tell whether a capture keeps a variable of this name."""
    return any_of(name, PLACED_VARIABLES) or (not any_of(name.upper(), NEVER_VARIABLES) and any_of(name, KEPT_VARIABLES))


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


def screened_boot_line(cmdline: str) -> str:
    """Return the kernel's command line as a Machine holds it: of options that are not known their names alone.

    >>> screened_boot_line('root=UUID=7 ro iommu=pt rd.iscsi.password="a b" unheard isolcpus=1-3 -- word')
    'root=withheld ro iommu=pt rd.iscsi.password=withheld isolcpus=1-3'
    """
    known, words = set(boot_options(cmdline)), []
    for word in _WORD.findall(cmdline):
        if word == "--":
            break
        key, equals, _ = word.partition("=")
        if word in known:
            words.append(word)
        elif equals and _OPTION.fullmatch(key):
            words.append(f"{key}={WITHHELD}")
    return " ".join(words)


def screened_boot_options(options: Any) -> Any:
    """Return boot options (name, value) as screened_boot_line leaves them; of anything else, the same."""
    if not options:
        return options
    kept = []
    for key, value in options:
        line = screened_boot_line(f'{key}="{value}"' if value is not None else key)
        if line:
            kept.append((key, None if value is None else value if line.partition("=")[2].strip('"') == value else WITHHELD))
    return tuple(kept)


def screened_settings(settings: Any) -> Any:
    """Return settings of a firmware, name -> value, without the values of those that are called as credentials are."""
    if not settings:
        return settings
    return {name: WITHHELD if value and is_secret_name(name) else screened(value) for name, value in settings.items()}


def screened_bytes(data: bytes) -> bytes:
    """Return what is to be written without credentials: a document by its names and values, another text by its words."""
    if b"\0" in data[:8192] or data[:2] == b"\x1f\x8b":
        return data
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    if not _hinted(text):
        return data
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _screened_json(text).encode()
        except (ValueError, RecursionError):
            with suppress(ValueError, RecursionError):
                return "\n".join(_screened_json(line) if line.strip() else line for line in text.split("\n")).encode()
    return without_secrets(text).encode()


def _screened_json(text: str) -> str:
    """Return a document with what it withholds; the same text where that is nothing."""
    document = json.loads(text)
    kept = screened(document)
    if kept == document:
        return text
    inner = text.strip()
    indent = len(inner.split("\n")[1]) - len(inner.split("\n")[1].lstrip()) if "\n" in inner else None
    return json.dumps(kept, indent=indent, ensure_ascii=False) + ("\n" if text.endswith("\n") else "")


_IS_NAMED = re.compile(rf"(?i){_NAMED}")


def is_secret_name(name: str) -> bool:
    """Tell whether a name of a document or of a firmware is one of a credential.

    >>> [is_secret_name(name) for name in ("SysPassword", "api_key", "PasswordStatus", "key", "keyutils", "tokens per second")]
    [True, True, False, False, False, False]
    """
    return _IS_NAMED.search(name) is not None


def screened(value: Any) -> Any:
    """Return a value of a document (texts, lists, objects) without credentials: in texts, under names, after options."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {key: screened(screened_at(str(key), inner)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(each, str) for each in value):
            return type(value)(screened_words(value))
        return [screened(each) for each in value] if isinstance(value, list) else tuple(screened(each) for each in value)
    return value


def screened_at(key: str, value: Any) -> Any:
    """Return a text, or a list of texts, without credentials as it stands under a key; anything else as it is."""
    if isinstance(value, str):
        return WITHHELD if value and is_secret_name(key) else without_secrets(value)
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return list(screened_words(value))
    return value


_ASSIGNED = re.compile(r"([A-Za-z_][\w.]*)=([^,\s\"']+)")


def screened_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command line without credentials: in NAME=value, after an option, after --mca NAME.

    >>> " ".join(screened_words(("mpirun", "--mca", "oob_secret", "abc", "-x", "MV2_CRED=1", "--password", "x")))
    'mpirun --mca oob_secret withheld -x MV2_CRED=withheld --password withheld'
    >>> " ".join(screened_words(("srun", "--export=PASSWORD=x,A=b", "./app")))
    'srun --export=PASSWORD=withheld,A=b ./app'
    """
    kept: list[str] = []
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        named = at > 1 and re.fullmatch(_PAIRED, words[at - 2]) and (is_credential_variable(before) or is_secret_name(before))
        option = re.fullmatch(r"--?[A-Za-z][\w-]*", before) and is_secret_name(before)
        if word and (named or (option and not word.startswith("-"))):
            kept.append(WITHHELD)
        else:
            kept.append(without_secrets(_ASSIGNED.sub(_unassigned, word)))
    return tuple(kept)


def _unassigned(found: re.Match[str]) -> str:
    return f"{found[1]}={WITHHELD}" if is_credential_variable(found[1]) and not found[2].startswith("$") else found[0]


_PAIR = re.compile(rf"((?<![\w-]){_PAIRED}\s+)([A-Za-z_][\w.]*)(\s+){_PLACEHOLDER}{_VALUE_OF}")


def _unpaired(found: re.Match[str]) -> str:
    is_credential = is_credential_variable(found[2]) or is_secret_name(found[2])
    return f"{found[1]}{found[2]}{found[3]}{WITHHELD}" if is_credential else found[0]


def _hinted(text: str) -> bool:
    small = text.lower()
    if len(small) > _MANY_LINES:
        small = "\n".join(set(small.split("\n")))  # no hint goes over a line's end, and /proc/cpuinfo repeats its lines
    return any(map(small.__contains__, _HINTS))


def without_secrets(text: str) -> str:
    """Return a text without what is written as a credential is.

    >>> without_secrets("mpirun -genv MV2_CRED abc --mca btl ^tcp --token x ./app")
    'mpirun -genv MV2_CRED withheld --mca btl ^tcp --token withheld ./app'
    """
    if not _hinted(text):
        return text
    if len(text) > _WHOLE:
        pieces = _KEY_BLOCK.sub(WITHHELD, text).split("\n")
        return "\n".join(without_secrets(piece) if len(piece) <= _WHOLE else _matched(piece) for piece in pieces)
    return _matched(text)


def _matched(text: str) -> str:
    text = _PAIR.sub(_unpaired, text)
    for pattern, instead in _SECRET:
        text = pattern.sub(instead, text)
    return text
