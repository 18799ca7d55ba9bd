"""What an existing launch line says, what it will do on a machine, what will go wrong, and how other launchers say it."""

from pydantic import Field

from advisor.model.cpuset import CpuSet
from advisor.model.value import Value


class LintOption(Value):
    """One option of the line, or a variable before it."""

    text: str = Field(description="its words as they stand")
    says: str = Field(description="what it means, in one clause")
    known: bool = True


class LintRank(Value):
    """Where one rank will be."""

    rank: int
    host: str | None = Field(description="None where the line has no hosts")
    cpus: CpuSet | None = Field(description="the kernel's CPU numbers; None where the rank is not bound")


class LintWarning(Value):
    """Something that will go wrong."""

    id: str
    what: str = Field(description="what will happen")
    why: str = Field(description="why it happens, and what it costs")
    evidence: str = Field(description="what of the line and of this machine shows it")
    better: str | None = Field(default=None, description="the line, or the words in it, that should stand there")
    misbinds: bool = Field(default=False, description="whether ranks will not be where the line's own words put them")


class LintTranslation(Value):
    """The same for another launcher."""

    launcher: str
    line: str | None = Field(description="None where it not known")
    files: dict[str, tuple[str, ...]] = Field(default={}, description="files beside the line, and their lines")
    lost: tuple[str, ...] = Field(default=(), description="what could not be translated")


class Lint(Value):
    """A line read, explained and judged on one machine."""

    launcher: str = Field(description="its name: openmpi4, mpich, srun (docs/reference/launchers.md)")
    version: str | None
    known_from: str = Field(description="how the launcher and its version are known")
    line: str
    options: tuple[LintOption, ...]
    command: tuple[str, ...]
    ranks: tuple[LintRank, ...] | None = Field(description="None where it is not known exactly")
    binding: str = Field(description="what the line does, in words")
    threads: int | None = Field(description="threads of each rank, where the line says so")
    warnings: tuple[LintWarning, ...]
    translations: tuple[LintTranslation, ...]
