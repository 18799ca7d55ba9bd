"""Starts the command line, after the folders are gone from which nothing of it may be loaded.

``python -I`` does better: what Python loads before this, such as sitecustomize, is not stopped here (docs/security.md).
"""

import os
import sys


def main() -> None:
    """Run the command line; the current folder, the script's and those of PYTHONPATH have no say in what is loaded."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is not loaded yet
    sys.path[:] = kept_folders(sys.path, os.environ.get("PYTHONPATH", ""), own, safe=bool(sys.flags.safe_path))
    try:
        from advisor.cli.main import main as run
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"advisor: {error.name} is not installed with advisor, and PYTHONPATH is ignored; install it alongside advisor\n"
        )
        sys.exit(2)
    run()


def kept_folders(folders: list[str], named: str, own: str, *, safe: bool) -> list[str]:
    """Return where modules may come from: not from folders of PYTHONPATH, nor, unless ``safe``, from the first one.

    The first is the script's own, or the current one of ``python -m``. Where the product itself lies stays.

    >>> kept_folders(["/bin", "/x", "/lib", "/own"], "/x:/own", "/own", safe=False)
    ['/lib', '/own']
    """
    foreign = {os.path.abspath(folder) for folder in named.split(os.pathsep)} if named else set()  # noqa: PTH100 - likewise
    if not safe:
        foreign |= {os.path.abspath(folder) for folder in folders[:1]}  # noqa: PTH100 - likewise
    return [folder for folder in folders if os.path.abspath(folder) == own or os.path.abspath(folder) not in foreign]  # noqa: PTH100 - resolve() would follow links
