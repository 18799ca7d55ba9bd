"""The program `advisor`: finds the command, and turns every failure into one line and a status."""

import contextlib
import gc
import io
import os
import sys
from typing import Annotated, Any

import typer

from advisor import __version__
from advisor.cli.folder import CommandFolder
from advisor.errors import AdvisorError, one_line

app = typer.Typer(cls=CommandFolder, add_completion=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def _show_version(value: bool) -> None:  # noqa: FBT001 - typer hands a flag's value to its callback this way
    if value:
        typer.echo(f"advisor {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Audit HPC servers: what to set, why, and how that is known."""
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


def main() -> None:
    """Run the command line and end the process with its status: 0, 1 for findings, 2 for what could not be done."""
    if "_ADVISOR_COMPLETE" in os.environ:
        os.environ["COLUMNS"] = "1000"  # a description is one line of the shell's menu, however long
    _open_streams()
    gc.disable()  # a short life full of small values: collecting garbage costs more than keeping it
    ended = status(sys.argv[1:])
    gc.freeze()  # nor is it searched for once more at the end, a fifth of an audit: the kernel takes all of it back
    sys.exit(ended)


def _open_streams() -> None:
    """Give a process that was started with a closed standard stream one in its place, which refuses what is written to it.

    No other file may get its number: it would receive what is meant for the terminal.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR if name == "stderr" else os.O_RDONLY)  # the lowest number that is free
        if getattr(sys, name) is None:
            raw = io.FileIO(number, "r" if name == "stdin" else "w", closefd=False)
            stream = io.BufferedReader(raw) if name == "stdin" else io.BufferedWriter(raw)
            setattr(sys, name, io.TextIOWrapper(stream, encoding="utf-8", errors="replace"))


_INTERRUPTED = 130


def status(arguments: list[str]) -> int:
    """Return the exit status of one command line; what went wrong is one line on standard error."""
    try:
        result: Any = app(arguments, standalone_mode=False, prog_name="advisor")
        sys.stdout.flush()
    except AdvisorError as error:
        return _complain(str(error))
    except BrokenPipeError:
        _forget_output()  # the reader (head, less) has gone
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted") and _INTERRUPTED
    except OSError as error:
        if error.filename is None:
            _forget_output()
        return _complain(f"{error.filename or 'output'}: {error.strerror or error}")
    except MemoryError:
        return _complain("not enough memory; see ulimit -v and the memory limit of the job")
    except Exception as error:
        return _usage(error)
    if result == _INTERRUPTED:  # typer turns Ctrl-C into a status and says nothing
        _complain("interrupted")
    return result if isinstance(result, int) else 0


def _forget_output() -> None:
    """Let nothing more be written to where it cannot be, not even at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: Exception) -> int:
    """Return 2 after naming a wrong option or argument; anything else is a fault of ours and shows itself whole."""
    message = getattr(error, "format_message", None)
    if message is None:
        raise error
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "advisor"
    return _complain(f"{message().rstrip('.')}; see {command} --help", command)


def _complain(line: str, who: str = "advisor") -> int:
    sys.stderr.write(f"{who}: {one_line(line)}\n")
    return 2
