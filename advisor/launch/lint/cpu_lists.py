"""Warnings about lists: of cores, of CPUs, of masks, and rankfiles. Most of what is wrong in them is wrong silently."""

import re
from collections.abc import Iterator

from advisor.errors import BadValue
from advisor.launch.lint.predict import Prediction, ranks_here
from advisor.launch.lint.rewrite import rebound
from advisor.launch.registry import of_lines
from advisor.model.cpuset import CpuSet
from advisor.model.placement import LintWarning

MOST = 8192
"""Cores of a list: Linux has no more CPUs."""

_SLOT = re.compile(r"rank\s+(\d+)\s*=\s*(\S+)\s+slots?\s*=\s*(.*?)\s*(?:#.*)?", re.ASCII)


def lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about the lists of a line and of its files."""
    own = of_lines()[case.line.family].lists
    if own:
        yield from own(case)


def open_mpi_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about pe-lists and rankfiles."""
    yield from _pe_list(case)
    yield from _rankfile(case)


def expanded(text: str) -> str:
    """Return a list without ranges."""
    numbers = CpuSet.parse(text)
    if len(numbers) > MOST:
        raise BadValue(f"it names {len(numbers)} cores", cure="no machine has as many")
    return ",".join(map(str, numbers))


def _pe_list(case: Prediction) -> Iterator[LintWarning]:
    want = case.want
    if want.level != "pe-list" or not want.cpus:
        return
    try:
        full = expanded(want.cpus)
    except BadValue as error:
        yield _warning("list", f"the list {want.cpus[:60]} cannot be read", "It is not a list of cores.", error.problem)
        return
    if case.four and want.ordered and full != want.cpus:
        why = "4.x binds the ranks to the listed cores by rising CPU number, whatever their order (seen in 4.1.4)."
        yield _warning(
            "order-ignored", "the order of the list is ignored", why, f"the list is {want.cpus[:80]}", "--rankfile FILE", bad=True
        )
    elif case.five and want.ordered and "-" in want.cpus:
        listed = f"pe-list={full}:ordered"
        why = "5.x expands no ranges in an ordered list: it counts 0-3 as one CPU (seen in 5.0.11)."
        better = rebound(case.line, ("--map-by", listed, "--bind-to", "core"))
        yield _warning(
            "ranges-not-expanded",
            f"{want.cpus[:60]} is one CPU to it, not four",
            why,
            f"the list is {want.cpus[:80]}",
            better,
            bad=True,
        )
    elif case.five and want.ordered and len(want.cpus.split(",")) < (ranks_here(case) or 0):
        yield _warning(
            "list-short",
            "there are more ranks than entries",
            "Each rank takes one entry.",
            f"{len(want.cpus.split(','))} entries",
        )


def _rankfile(case: Prediction) -> Iterator[LintWarning]:
    want, line = case.want, case.line
    if not want.rankfile:
        return
    if case.five and want.hwthreads and (line.release is None or (5, 0, 0) <= line.release <= (5, 0, 5)):
        why = "5.0.0 to 5.0.5 take the numbers of hardware threads for cores (open-mpi/ompi#12967); 5.0.11 was seen to be right."
        cores, cpus = len(case.topology.cores), len(case.topology.pus)
        here = f"{line.version or 'the version is not known'}; {cores} cores, {cpus} CPUs here"
        yield _warning(
            "hwthread-rankfile",
            "ranks run on other cores than the rankfile says",
            why,
            here,
            "a rankfile of logical cores, without hwtcpus",
            bad=True,
        )
    if len(want.hosts) > 1 and case.five and not line.first.has("--hetero-nodes"):
        why = "5.x looks numbers up on the first node for all with as many objects, however they are numbered."
        yield _warning(
            "hetero-nodes",
            "nodes that number their CPUs otherwise are bound wrongly",
            why,
            f"a rankfile over {len(want.hosts)} hosts",
            "add --hetero-nodes",
        )
    text = case.files.get(want.rankfile)
    if text is None:
        yield _warning(
            "rankfile-unread",
            f"the rankfile {want.rankfile[:80]} was not read",
            "So it is not known where ranks go.",
            "no such file here",
        )
        return
    yield from _rows(case, text)


def _rows(case: Prediction, text: str) -> Iterator[LintWarning]:
    longest, host, colon = "", "", ""
    for row in text.splitlines()[:65536]:
        match = _SLOT.fullmatch(row.strip()[:8192])
        if not match:
            continue
        if len(match[3]) > len(longest):
            longest, host = match[3], match[2]
        if ":" in match[3] or "p" in match[3].lower():
            colon = colon or match[3]
    most = 63 - len(host) - 6 if case.four else 63
    if len(longest) > most:
        what = "its end is dropped" if case.five else "mpirun writes past its buffer and may die"
        why = f"Slot lists are read into 64 bytes: {most} letters fit here."
        yield _warning(
            "slot-too-long",
            what,
            why,
            f"a slot list of {len(longest)} letters: {longest[:50]}...",
            "write ranges: 0-15 instead of 0,1,2,...",
            bad=True,
        )
    if colon:
        why = (
            "Versions read socket:core pairs and p differently: 4.1 wants 0:0,0:1, 5.x counts over sockets as if all were alike."
        )
        yield _warning(
            "socket-pairs",
            f"slot={colon[:40]} means different cores to 4.x and 5.x",
            why,
            f"slot={colon[:40]} in the rankfile",
            "logical cores: slot=0-3",
            bad=True,
        )
    elif case.ranks is None and case.unclear and not case.refused and len(longest) <= most:
        why = "What is written there is not what both versions read alike; they mistake such lines silently."
        yield _warning("rankfile-dialect", "the rankfile is not safe", why, case.unclear[:160], "advisor bind --exact writes one")


def srun_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about lists of srun."""
    bind, count, line = case.want.bind or "", ranks_here(case) or 1, case.line
    kind, _, text = bind.partition(":")
    entries = [entry for word in text.split(",") for entry in _repeated(word)] if text else []
    if kind in ("map_cpu", "mask_cpu", "map_ldom", "mask_ldom") and entries and len(entries) < count:
        why = f"srun starts again from the first of {len(entries)} entries: ranks share what they name."
        yield _warning(
            "short-list",
            f"{count} ranks on a node, {len(entries)} entries in {kind}",
            why,
            bind[:100],
            f"{count} entries",
            bad=True,
        )
    if kind == "mask_cpu" and any(re.fullmatch(r"(0x)?0+", entry) for entry in entries):
        why = "A mask without CPUs leaves the rank unbound, and nothing says so."
        yield _warning("empty-mask", "ranks with the mask 0x0 are not bound", why, bind[:100], "a mask with CPUs in it", bad=True)
    inherited = "SLURM_CPUS_PER_TASK" in line.words.environment or (case.want.threads or 1) > 1
    young = line.release is None or (22, 5) <= line.release[:2] < (23, 11)
    if inherited and young and not case.want.pe and kind not in ("map_cpu", "mask_cpu", "map_ldom", "none"):
        threads = case.want.threads or line.words.environment.get("SLURM_CPUS_PER_TASK", "N")
        why = "srun 22.05 to 23.02 does not take --cpus-per-task from sbatch: each rank gets one CPU, and its threads share that."
        version = f"Slurm {line.version}" if line.version else "the version of Slurm is not known"
        yield _warning(
            "cpus-not-inherited",
            f"the {threads} threads of a rank may share one CPU",
            why,
            version,
            f"srun --cpus-per-task={threads} ...",
            bad=True,
        )


def _repeated(word: str) -> list[str]:
    entry, star, times = word.partition("*")
    return [entry] * min(int(times), 65536) if star and re.fullmatch(r"\d{1,5}", times, re.ASCII) else [word]


def intel_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about the masks of Intel MPI."""
    for segment in case.line.segments:
        pins = dict(case.want.exports)
        own = {
            said.values[0]: said.values[1] for said in segment.options if said.name in ("-env", "-genv") and len(said.values) > 1
        }
        pins |= own
        domain, processors = pins.get("I_MPI_PIN_DOMAIN", ""), pins.get("I_MPI_PIN_PROCESSOR_LIST", "")
        count = ranks_here(case) if len(case.line.segments) == 1 else None
        if domain.startswith("["):
            yield from _masks(domain, count)
        elif re.fullmatch(r"[0-9][0-9,-]*", processors, re.ASCII):
            yield from _processors(processors, count)


def _masks(domain: str, count: int | None) -> Iterator[LintWarning]:
    masks = domain.strip("[]").split(",")
    bare = next((mask for mask in masks if not mask.lower().startswith("0x")), None)
    if bare is not None:
        better = f"I_MPI_PIN_DOMAIN=[{','.join('0x' + mask.lower().removeprefix('0x') for mask in masks[:64])}]"
        why = "Without 0x the list is not understood: Intel MPI pins in its own way instead, and ends with success."
        yield _warning("mask-without-0x", "the masks are not used", why, f"{bare[:40]} in {domain[:60]}", better, bad=True)
    elif count and len(masks) != count:
        why = "Where masks and local ranks are not as many, Intel MPI pins in its own way instead."
        yield _warning(
            "mask-count", f"{len(masks)} masks for {count} ranks on a node", why, domain[:80], f"{count} masks", bad=True
        )
    if len(masks) > 112:
        yield _warning(
            "too-many-masks",
            "Intel MPI dies",
            "2021.18 writes past an array from 115 masks on.",
            f"{len(masks)} masks",
            "I_MPI_PIN_PROCESSOR_LIST",
        )


def _processors(text: str, count: int | None) -> Iterator[LintWarning]:
    try:
        entries = len(text.split(",")) if "-" not in text else len(CpuSet.parse(text))
    except BadValue:
        return
    if count and (entries != count or "-" in text):
        why = "Only with exactly one entry a local rank is the order kept; otherwise the list is a set, and short ones wrap."
        yield _warning(
            "list-count",
            f"{entries} CPUs are listed for {count} ranks on a node",
            why,
            f"I_MPI_PIN_PROCESSOR_LIST={text[:60]}",
            f"{count} single CPUs",
            bad=True,
        )


def user_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about Hydra's lists."""
    bind = case.want.bind or ""
    count = len(case.here)
    open_ends = sum(cpus is None for cpus in case.here)
    if bind.startswith("user:") and open_ends and not case.line.inner:
        why = "Hydra leaves ranks without an entry unbound, silently."
        yield _warning(
            "user-list-short",
            f"{open_ends} of {count} ranks on a node are not bound",
            why,
            f"{count - open_ends} entries in {bind[:60]}",
            f"{count} entries",
            bad=True,
        )


def _warning(name: str, what: str, why: str, evidence: str, better: str | None = None, *, bad: bool = False) -> LintWarning:
    return LintWarning(id=name, what=what, why=why, evidence=evidence, better=better, misbinds=bad)
