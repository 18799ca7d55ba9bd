"""The options of a launch line, of every launcher, with the words where they stand, and the program behind them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from advisor.jobs.launcher import Dialect, of_lines
from advisor.jobs.line import canonical, hyphened
from advisor.jobs.scripts import directives
from advisor.jobs.scripts.expansion import Word, is_known, names_in, words

SRUN_VALUED: Final = words(
    "nodes ntasks cpus-per-task ntasks-per-node tasks-per-node ntasks-per-socket ntasks-per-core ntasks-per-gpu "
    "nodelist exclude distribution cpu-bind cpu_bind mem-bind mem_bind hint threads-per-core extra-node-info "
    "sockets-per-node cores-per-socket mpi partition account qos reservation time job-name constraint mem mem-per-cpu "
    "mem-per-gpu gres gpus gpus-per-node gpus-per-task gpus-per-socket cpus-per-gpu gpu-bind gpu-freq export chdir "
    "output error input relative network jobid wait cpu-freq accel-bind tres-per-task tres-bind het-group threads "
    "pack-group core-spec signal container-image container-mounts container-name container-workdir container mem-per-cpu tmp "
    "licenses clusters comment dependency begin deadline wckey profile acctg-freq open-mode epilog prolog task-epilog "
    "task-prolog slurmd-debug uid gid switches mincpus time-min gres-flags bcast-exclude immediate kill-on-bad-exit "
    "cluster-constraint uenv view priority"
)
_SRUN_FLAGGED: Final = frozenset({"kill-on-bad-exit", "immediate"})
_SRUN_SHORT: Final = {
    **directives.SHORT, "K": "kill-on-bad-exit", "l": "label", "u": "unbuffered", "r": "relative", "X": "disable-status",
    "T": "threads", "Z": "no-allocate", "E": "preserve-env", "I": "immediate", "k": "no-kill", "W": "wait", "P": "", "R": "",
}  # fmt: skip
_SRUN_SHORT_FLAGS: Final = frozenset("KluvQOsHXZEkVhI")


@dataclass(frozen=True)
class Option:
    """An option of a launch line."""

    name: str
    value: str
    word: Word
    value_word: Word | None = None


@dataclass
class Segment:
    """What starts one program of a line."""

    options: list[Option] = field(default_factory=list)
    program: list[Word] = field(default_factory=list)
    open: list[Word] = field(default_factory=list)
    """Words that may be any options: a variable that is not known."""

    def find(self, *names: str) -> Option | None:
        """Return the last option of some names."""
        return next((each for each in reversed(self.options) if each.name in names), None)

    def value(self, *names: str) -> str | None:
        """Return the last value of an option of some names."""
        found = self.find(*names)
        return found.value if found else None

    def has(self, *names: str) -> bool:
        """Whether an option is there."""
        return self.find(*names) is not None


def parts(words: Sequence[Word]) -> list[list[Word]]:
    """Return the parts of a line that start a program each, which a colon parts."""
    found: list[list[Word]] = [[]]
    for word in words:
        if word.text == ":" and word.literal and found[-1]:
            found.append([])
        else:
            found[-1].append(word)
    return [part for part in found if part]


@cache
def _mpi_options() -> dict[str, int]:
    """Return how many words follow each option of all mpirun's and mpiexec's; the first that knows it counts."""
    found: dict[str, int] = {}
    for spoken in of_lines().values():
        if any(program in ("mpirun", "mpiexec") for program in spoken.programs):
            for name, (count, _) in spoken.options.items():
                found.setdefault(name, count)
            for alias, name in spoken.aliases.items():
                if name in spoken.options:
                    found.setdefault(alias, spoken.options[name][0])
    more = (
        "-n -np --np --n -ppn --ppn -perhost --perhost -hosts --hosts -f -hostfile --hostfile -machinefile --machinefile "
        "-host --host -H -wdir -wd --map-by -map-by -bind-to --bind-to -rank-by --rank-by -npernode --npernode -N "
        "-npersocket --npersocket -x -rf -rankfile --rankfile --depth -d --cpu-bind -cpu-bind --mem-bind --gpu-bind "
        "--cpu-set --cpu-list -bootstrap -iface -genvlist -envlist -prefix --prefix -stdout-proc -stderr-proc -stdout "
        "-stdin -of-proc -ofout-proc --env -arch -configfile --app -app --tune -rmk -launcher -launcher-exec "
        "-prepend-rank0 --line-buffer0 --nic-bind "
    )
    for name in more.split():
        found[name] = 0 if name.endswith("0") else 1
    return {
        **found,
        "--mca": 2,
        "-mca": 2,
        "--gmca": 2,
        "-gmca": 2,
        "-genv": 2,
        "--genv": 2,
        "--prtemca": 2,
        "--pmixmca": 2,
        "--omca": 2,
        "-env": 2,
    }


_MPI_NAMES: Final = {
    "-np": "-n", "--np": "-n", "--n": "-n", "-ppn": "--ppn", "-perhost": "--ppn", "--perhost": "--ppn", "-npernode": "--npernode",
    "-map-by": "--map-by", "-bind-to": "--bind-to", "-rank-by": "--rank-by", "-binding": "--bind-to",
    "-rankfile": "--rankfile", "-hosts": "--hosts", "-hostfile": "--hostfile",
    "-machinefile": "--hostfile", "--machinefile": "--hostfile", "-f": "--hostfile", "-host": "--host", "-H": "--host",
    "-mca": "--mca", "-env": "--env", "--genv": "-genv",
    "-cpu-bind": "--cpu-bind", "-oversubscribe": "--oversubscribe", "-pernode": "--pernode", "-npersocket": "--npersocket",
}  # fmt: skip


def walked(words: Sequence[Word], launcher: str, family: str | None) -> Segment:
    """Return the options and the program of one part of a line."""
    if launcher == "srun":
        return _of_srun(words)
    segment = Segment()
    kind = launcher.split(" ", maxsplit=1)[0]
    spoken = next((each for each in of_lines().values() if kind in each.programs), None)
    at = 0
    while at < len(words):
        word = words[at]
        text = hyphened(word.text) if is_known(word.text) else word.text
        if not text.startswith(("-", "+")) or (text in ("-", "--")):
            if (
                not is_known(text)
                and not word.quoted
                and word.variable
                and len(names_in(text)) == 1
                and text[0] == "\ue000"
                and text[-1] == "\ue001"
            ) and (any(each.text.startswith("-") for each in words[at + 1 :]) or _OPTIONS.search(word.variable)):
                segment.open.append(word)
                at += 1
                continue
            at += text == "--"
            break
        plain, count, equals, value = _form(text, kind, family, spoken)
        if plain in ("--env", "-genv") and at + 1 < len(words) and "=" in words[at + 1].text:
            count = 1  # -genv NAME=VALUE is as good as NAME VALUE
        if not count and not equals and _has_value(words, at, plain, kind):
            count = 1
        taken = words[at + 1 : at + 1 + count]
        parts = [value] * bool(equals) + [each.text for each in taken]
        segment.options.append(
            Option(
                plain,
                "=".join(parts) if plain in ("--mca", "--env", "-genv") else parts[0] if parts else "",
                word,
                taken[0] if taken else None,
            )
        )
        at += 1 + count
    segment.program = list(words[at:])
    return segment


def _has_value(words: Sequence[Word], at: int, plain: str, kind: str) -> bool:
    """Whether the word behind an option that is in no table is its value: another option follows it."""
    if plain in _mpi_options() or kind not in ("mpirun", "mpiexec") or at + 2 >= len(words):
        return False
    value = words[at + 1].text
    return bool(re.fullmatch(r"\d+|\.{0,2}/.*", value)) and words[at + 2].text.startswith("-")


def _form(text: str, kind: str, family: str | None, spoken: Dialect | None) -> tuple[str, int, str, str]:
    """Return an option's usual name, how many words follow it, and the value in the same word behind a sign."""
    name, equals, value = text.partition("=")
    if not name.startswith("--") and kind not in ("flux", "jsrun", "aprun", "srun", "torchrun"):
        name, equals, value = (text, "", "") if name not in ("-d", "-n", "-ppn") else (name, equals, value)
    if kind in ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "ibrun", "mpprun", "ccc_mprun"):
        count, plain = _mpi_arity(name, family)
        if match := re.fullmatch(r"(-np|-n|-N|-ppn)(\d+)", name):
            plain, count, equals, value = _MPI_NAMES.get(match[1], match[1]), 0, "=", match[2]
    elif kind == "charmrun":
        count, plain = (1 if re.match(r"\+\+?(p|ppn|nodelist|n|np)$|\+p$", name) else 0), name
        if match := re.fullmatch(r"\+\+?(p|n)(\d+)", name):
            plain, equals, value = "++p", "=", match[2]
    elif kind in ("deepspeed", "accelerate"):
        flag = name.replace("multi-gpu", "multi_gpu") in (
            "--multi_gpu",
            "--cpu",
            "--use_deepspeed",
            "--bind_cores_to_rank",
            "--enable_cpu_affinity",
            "--no_python",
            "--use_fsdp",
            "--no_ssh",
            "--force_multi",
            "--module",
            "-m",
        )
        count, plain = int(not flag), name if kind == "deepspeed" else re.sub(r"(?<=\w)-(?=\w)", "_", name)
    elif kind == "torchrun":
        count, plain = (
            (0 if name in ("--standalone", "--no-python", "--no_python", "-m", "--module", "--run-path") else 1),
            name.replace("_", "-"),
        )
    elif spoken:
        plain, count, equals, value = _spoken(text, name, equals, value, spoken)
    else:
        count, plain = 0, name
    return plain, count - (bool(equals) and count > 0), equals, value


_OPTIONS: Final = re.compile(r"(?i)opt|arg|flag|param")


def _mpi_arity(name: str, family: str | None) -> tuple[int, str]:
    if name in ("-c", "--c"):
        return 1, "-n"
    if name == "-d":
        return (1, "--depth") if family == "pals" else (0, "-d")
    table = _mpi_options()
    return table.get(name, 0), _MPI_NAMES.get(name, name)


def _spoken(text: str, name: str, equals: str, value: str, spoken: Dialect) -> tuple[str, int, str, str]:
    if spoken.glued and (match := spoken.glued.fullmatch(text)) and not text.startswith("--"):
        name, equals, value = match[1], "=", match[3]
    known = canonical(name, spoken)
    return (known, spoken.options[known][0], equals, value) if known else (name, 0, equals, value)


def _of_srun(words: Sequence[Word]) -> Segment:  # noqa: C901 - a case a form of option
    segment = Segment()
    at = 0
    while at < len(words):
        word = words[at]
        text = hyphened(word.text) if is_known(word.text) else word.text
        if not text.startswith("-"):
            lone = len(names_in(text)) == 1 and text[0] == "\ue000" and text[-1] == "\ue001"
            ahead = any(each.text.startswith("-") for each in words[at + 1 : at + 2]) or bool(
                word.variable and _OPTIONS.search(word.variable)
            )
            if lone and not word.quoted and word.variable and ahead:
                segment.open.append(word)
                at += 1
                continue
            break
        at += 1
        if text == "--":
            break
        taken: Word | None = None
        if text.startswith("--"):
            name, equals, value = text[2:].partition("=")
            name = _srun_long(name)
            if not equals and name in SRUN_VALUED - _SRUN_FLAGGED and at < len(words):
                taken = words[at]
        else:
            letter = text[1:2]
            name, value, equals = _SRUN_SHORT.get(letter, letter), text[2:].removeprefix("="), "=" if len(text) > 2 else ""
            if letter in _SRUN_SHORT_FLAGS:
                for other in text[2:] if text[2:].isalpha() else "":
                    segment.options.append(Option(_SRUN_SHORT.get(other, other), "", word))
            elif not equals and at < len(words):
                taken = words[at]
        if taken is not None:
            value = taken.text
            at += 1
        segment.options.append(Option(name, value, word, taken))
    segment.program = list(words[at:])
    return segment


def _srun_long(name: str) -> str:
    name = {"tasks-per-node": "ntasks-per-node", "cpu_bind": "cpu-bind", "mem_bind": "mem-bind"}.get(name, name)
    if name in SRUN_VALUED or name in directives.OF_SRUN or name in directives.FLAGS:
        return name
    fitting = {each for each in SRUN_VALUED if each.startswith(name)} if len(name) > 3 else set()
    return _srun_long(fitting.pop()) if len(fitting) == 1 else name
