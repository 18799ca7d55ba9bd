"""The probe: the shell script that a rank runs to say where it is."""

from typing import Final

from advisor.model.observed_binding import GPU_VARIABLES, LOCAL_VARIABLES, RANK_VARIABLES, SIZE_VARIABLES

NAME: Final = "advisor-probe"
_NUMBERS = (("rank", RANK_VARIABLES), ("size", SIZE_VARIABLES), ("local", LOCAL_VARIABLES))


def probe_script(template: str) -> str:
    """Return the script, with the launchers' variables in it."""
    from jinja2 import Environment, StrictUndefined

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
    return environment.from_string(template).render(numbers=[(name, " ".join(names)) for name, names in _NUMBERS], gpus=gpus)


def probe_words(template: str) -> tuple[str, ...]:
    """Return the probe as words of a command line: no file of it has to lie on the hosts. Comments are left out."""
    lines = probe_script(template).splitlines()
    return ("sh", "-c", "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#")), NAME)
