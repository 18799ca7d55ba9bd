"""The options of a launch line, of every launcher, with the words where they stand, and the program behind them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from advisor.jobs.launcher import Dialect, of_lines
from advisor.jobs.line import canonical, hyphened
from advisor.jobs.scripts.expansion import Word, is_known, unknown_name


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


_MPI_NAMES = {
    "-np": "-n", "--np": "-n", "--n": "-n", "-ppn": "--ppn", "-perhost": "--ppn", "--perhost": "--ppn", "-npernode": "--npernode",
    "-map-by": "--map-by", "-bind-to": "--bind-to", "-rank-by": "--rank-by", "-binding": "--bind-to",
    "-rankfile": "--rankfile", "-hosts": "--hosts", "-hostfile": "--hostfile",
    "-machinefile": "--hostfile", "--machinefile": "--hostfile", "-f": "--hostfile", "-host": "--host", "-H": "--host",
    "-mca": "--mca", "-env": "--env", "--genv": "-genv",
    "-cpu-bind": "--cpu-bind", "-oversubscribe": "--oversubscribe", "-pernode": "--pernode", "-npersocket": "--npersocket",
}  # fmt: skip


def walked(words: Sequence[Word], launcher: str, family: str | None) -> Segment:
    """Return the options and the program of one part of a line."""
    segment = Segment()
    kind = launcher.split(" ", maxsplit=1)[0]
    spoken = next((each for each in of_lines().values() if kind in each.programs), None)
    at = 0
    while at < len(words):
        word = words[at]
        text = hyphened(word.text) if is_known(word.text) else word.text
        if not text.startswith(("-", "+")) or (text in ("-", "--")):
            if (unknown_name(text) is not None and not word.quoted and word.variable) and (
                any(each.text.startswith("-") for each in words[at + 1 :][: 1 if kind == "srun" else None])
                or _OPTIONS.search(word.variable)
            ):
                if not word.others or any(map(_COUNTING.search, word.others)):
                    segment.open.append(word)
                at += 1
                continue
            at += text == "--"
            break
        if kind == "srun" and spoken and (flags := _flags(text, spoken)):
            segment.options += [Option(name, "", word) for name in flags]
            at += 1
            continue
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


_COUNTING = re.compile(r"(^|\s)(?!--?(auto-resume|kill-on|label|unbuffered|verbose|mpi|container|chdir|output|error|time)\b)\S")
"""What an option may hold that changes more than how a step is watched."""
_OPTIONS = re.compile(r"(?i)opt|arg|flag|param")


def _mpi_arity(name: str, family: str | None) -> tuple[int, str]:
    if name in ("-c", "--c"):
        return 1, "-n"
    if name == "-d":
        return (1, "--depth") if family == "pals" else (0, "-d")
    table = _mpi_options()
    return table.get(name, 0), _MPI_NAMES.get(name, name)


def _spoken(text: str, name: str, equals: str, value: str, spoken: Dialect) -> tuple[str, int, str, str]:
    """Return an option by the table of its launcher; srun takes the beginning of a name too, and is read as sbatch is."""
    if spoken.glued and (match := spoken.glued.fullmatch(text)) and not text.startswith("--"):
        name, equals, value = match[1], "=", match[3]
    known, srun = canonical(name, spoken), "srun" in spoken.programs
    if srun and known is None and len(name) > 5:
        fitting = {canonical(each, spoken) for each in (*spoken.options, *spoken.aliases) if each.startswith(name)}
        known = fitting.pop() if len(fitting) == 1 else None
    plain = known or name
    return (plain.lstrip("-") if srun else plain), (spoken.options[known][0] if known else 0), equals, value


def _flags(text: str, spoken: Dialect) -> list[str]:
    """Return the options of srun that letters in one word are, such as -lu; [] of a word that is none of these."""
    if not re.fullmatch(r"-[A-Za-z]{2,}", text, re.ASCII):
        return []
    every = [canonical(f"-{letter}", spoken) for letter in text[1:]]
    names = [name for name in every if name and not spoken.options[name][0]]
    return [name.lstrip("-") for name in names] if len(names) == len(every) else []
