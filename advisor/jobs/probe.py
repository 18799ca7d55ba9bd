"""The probe that each rank runs: says where it sits, with the launchers' variables for its number."""

from typing import Final

from jinja2 import Environment, StrictUndefined

from advisor.jobs.observed_binding import GPU_VARIABLES
from advisor.jobs.registry import rank_variables

NAME: Final = "advisor-probe"


def probe_script(template: str) -> str:
    """Return the script, with the launchers' variables in it."""
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - a shell script of constants
        comment_start_string="{##",  # ${#cpus} is the shell's
        comment_end_string="##}",
    )
    gpus = "".join(f"${{{name}:-" for name in GPU_VARIABLES) + "}" * len(GPU_VARIABLES)
    numbers = {"rank": rank_variables("rank"), "size": rank_variables("size"), "local": rank_variables("local")}
    told = [(name, " ".join(names)) for name, names in numbers.items()]
    return environment.from_string(template).render(numbers=told, gpus=gpus)


def probe_words(template: str) -> tuple[str, ...]:
    """Return the probe as words of a command line: no file of it has to lie on the hosts. Comments are left out."""
    lines = probe_script(template).splitlines()
    return ("sh", "-c", "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#")), NAME)
