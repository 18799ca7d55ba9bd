"""HPL: how large a system, on which grid, in which blocks; HPL.dat and the output of other builds; the BLAS that was taken."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Final

from advisor.errors import BadInput
from advisor.jobs.network_results import misplaced
from advisor.jobs.observed_binding import PlannedRank
from advisor.machine.cpu import Cpu
from advisor.measure.contract import object_of, results_of
from advisor.measure.measurement import HPL_CHECK, HPL_ROW, Result, Task

KERNEL: Final = "hpl"
BLOCKS: Final = (128, 192, 256)
"""What guides and vendors' HPL.dat use: 192 and 232 or 384 of large nodes; --nb takes any."""
QUICK_SECONDS: Final = 14.0
SEARCH_SECONDS: Final = 2.5
FULL_SHARE: Final = 0.85
QUICK_SHARE: Final = 0.5
"""Of the free memory, at most."""
_SMALLEST: Final = 1000
_EXPECTED: Final = 0.75
"""Of what dgemm gives, with which the time is estimated."""
_MODERN: Final = {
    "avx512f": ("SkylakeX", {"skylakex", "cooperlake", "sapphirerapids", "zen4", "zen5"}),
    "avx2": ("Haswell", {"haswell", "zen", "skylakex", "cooperlake", "sapphirerapids", "zen4", "zen5", "excavator"}),
}
"""OpenBLAS's kernels that use these instructions, and the one to ask for."""


@dataclass(frozen=True)
class Size:
    """One run: equations, columns of a block, and the grid."""

    n: int
    nb: int
    p: int
    q: int

    @property
    def arguments(self) -> tuple[str, ...]:
        """As our own kernel takes them."""
        return ("--n", str(self.n), "--nb", str(self.nb), "--p", str(self.p), "--q", str(self.q))

    @property
    def work(self) -> float:
        """Floating-point operations, as HPL counts them."""
        return 2 / 3 * self.n**3 + 1.5 * self.n**2


def grid(ranks: int) -> tuple[int, int]:
    """Return the squarest P x Q with P <= Q.

    >>> grid(64), grid(48), grid(7)
    ((8, 8), (6, 8), (1, 7))
    """
    p = next(p for p in range(isqrt(ranks), 0, -1) if ranks % p == 0)
    return p, ranks // p


def for_memory(free: float, share: float, nb: int) -> int:
    """Return the largest N whose matrix takes a share of the free memory, in whole blocks."""
    return max(nb, isqrt(int(free * share / 8)) // nb * nb)


def for_time(rate: float, seconds: float, nb: int) -> int:
    """Return the N that takes so long at the rate that dgemm gives."""
    n = (1.5 * rate * _EXPECTED * seconds) ** (1 / 3)
    return max(nb, _SMALLEST, int(n) // nb * nb)


def steps_to(hosts: int) -> tuple[int, ...]:
    """Return how many hosts each row of a scaling table has: doubled from one on, and all of them.

    >>> steps_to(1), steps_to(4), steps_to(6)
    ((1,), (1, 2, 4), (1, 2, 4, 6))
    """
    doubled = [1 << at for at in range(hosts.bit_length()) if 1 << at < hosts]
    return (*doubled, hosts)


def grown(n: int, times: float, nb: int) -> int:
    """Return N for so many times the memory: each host keeps its share of the matrix, in whole blocks.

    >>> grown(10000, 4, 100), grown(10000, 2, 100)
    (20000, 14100)
    """
    return max(nb, int(n * times**0.5 + 1e-6) // nb * nb)


def hpl_dat(size: Size, ahead: int = 1) -> str:
    """Return the input of netlib's, AMD's and Intel's HPL for one run: panels ahead, rings that send to the next first."""
    lines = (
        ("HPLinpack benchmark input file", ""),
        ("written by advisor measure hpl", ""),
        ("HPL.out", "output file name (if any)"),
        ("6", "device out (6=stdout,7=stderr,file)"),
        ("1", "# of problems sizes (N)"),
        (str(size.n), "Ns"),
        ("1", "# of NBs"),
        (str(size.nb), "NBs"),
        ("0", "PMAP process mapping (0=Row-,1=Column-major)"),
        ("1", "# of process grids (P x Q)"),
        (str(size.p), "Ps"),
        (str(size.q), "Qs"),
        ("16.0", "threshold"),
        ("1", "# of panel fact"),
        ("2", "PFACTs (0=left, 1=Crout, 2=Right)"),
        ("1", "# of recursive stopping criterium"),
        ("4", "NBMINs (>= 1)"),
        ("1", "# of panels in recursion"),
        ("2", "NDIVs"),
        ("1", "# of recursive panel fact."),
        ("2", "RFACTs (0=left, 1=Crout, 2=Right)"),
        ("1", "# of broadcast"),
        ("1", "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)"),
        ("1", "# of lookahead depth"),
        (str(ahead), "DEPTHs (>=0)"),
        ("2", "SWAP (0=bin-exch,1=long,2=mix)"),
        ("64", "swapping threshold"),
        ("0", "L1 in (0=transposed,1=no-transposed) form"),
        ("0", "U  in (0=transposed,1=no-transposed) form"),
        ("1", "Equilibration (0=no,1=yes)"),
        ("8", "memory alignment in double (> 0)"),
    )
    return "".join(f"{value:12} {about}".rstrip() + "\n" for value, about in lines)


def read_xhpl(task: Task, text: str) -> Result:
    """Return what an HPL of somebody else's printed: its rate and whether its result was right."""
    row, check = HPL_ROW.search(text), HPL_CHECK.search(text)
    if row is None:
        raise BadInput("xhpl printed no result", cure="run the line of --dry-run by hand, and see what it says")
    rate = _positive(row["gflops"]) * 1e9
    refused = (
        None
        if check and check["verdict"] == "PASSED"
        else "its residual test failed"
        if check
        else "it did not test the residual"
    )
    details: dict[str, float | int | str | bool] = {name: int(row[name]) for name in ("n", "nb", "p", "q")}
    return _result(task, rate, details, refused)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e12:
        raise BadInput(f"xhpl printed {text[:20]} where a rate belongs", cure="give another build with --xhpl PATH")
    return value


def _result(task: Task, rate: float, details: dict[str, float | int | str | bool], refused: str | None) -> Result:
    return Result(
        task=task.name,
        kernel=KERNEL,
        purpose="hpl",
        variant="xhpl",
        part=task.part,
        index=task.index,
        cpus=task.cpus,
        unit="flop/s",
        values=(rate,),
        details=details,
        refused=refused,
    )


def read_own(task: Task, lines: Iterable[bytes], planned: Sequence[PlannedRank], everywhere: Iterable[int]) -> Result | None:
    """Return what our kernel said, refused where a rank was elsewhere than planned; None where it said nothing."""
    wide = task.model_copy(update={"cpus": tuple(everywhere)})
    for line in lines:
        (found,) = results_of(wide, [line])
        why = misplaced(object_of(task, line).get("places"), planned)
        update = {"part": task.part, "index": task.index, "cpus": task.cpus, "refused": why}
        return found.model_copy(update=update)
    return None


def blas_doubt(core: str, cpu: Cpu | None) -> str | None:
    """Return that OpenBLAS chose a kernel without the widest instructions of this processor; None where it did not."""
    flags = set(cpu.flags or ()) if cpu else set()
    for flag, (better, good) in _MODERN.items():
        if flag in flags and core:
            if core.lower() in good:
                return None
            wide = "AVX-512" if flag == "avx512f" else "AVX2"
            return f"OpenBLAS took this processor for {core}, and it has {wide}: try OPENBLAS_CORETYPE={better}"
    return None
