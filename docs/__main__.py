"""Writes the pages (docs/generate.py), as `make docs` does; a slip that keeps the product from loading is one line."""

import sys
from pathlib import Path

from advisor.errors import AdvisorError, did_you_mean

ROOT = Path(__file__).parents[1]


def slip(error: Exception) -> str:
    """Return one line that names the file of the project in which it was raised last, its line, and a name that is near."""
    trace, place = error.__traceback__, "docs"
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(ROOT) and ".venv" not in file.parts:
            place = f"{file.relative_to(ROOT)}: line {trace.tb_lineno}"
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{Path(error.filename).relative_to(ROOT)}: line {error.lineno}"
    name, thing = getattr(error, "name", None), getattr(error, "obj", None)
    if isinstance(error, AttributeError) and getattr(thing, "__file__", None):  # a module lacks it: that is where it belongs
        place = str(Path(thing.__file__).relative_to(ROOT))
    known = [each for each in dir(thing) if not each.startswith("_")]
    cure = did_you_mean(str(name), known, "correct it") if isinstance(error, AttributeError) else "correct it"
    return f"{place}: cannot be loaded: {type(error).__name__}: {' '.join(str(error).split())}; {cure}\n"


def main() -> int:
    """Write the pages and return 0; return 2 after a line on a sheet that is wrong or a module that cannot be used."""
    try:
        from docs.generate import main as generate

        return generate()
    except AdvisorError as error:
        sys.stderr.write(f"{error}\n")
    except (SyntaxError, ImportError, NameError, AttributeError, TypeError, ValueError, LookupError) as error:
        sys.stderr.write(slip(error))
    return 2


if __name__ == "__main__":
    sys.exit(main())
