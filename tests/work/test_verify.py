"""Launch lines with the probe in place of the command."""

from pathlib import Path

import pytest

from advisor.errors import BadInput
from advisor.jobs.verify import STANDS_FOR, line_in, line_of


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("mpirun -np 2 --map-by core ./app x", "mpirun -np 2 --map-by core {}"),
        ("mpirun -np 1 ./a : -np 1 -x A=b ./c d e", "mpirun -np 1 {} : -np 1 -x A=b {}"),
        ("mpirun -np 2 --bind-to none sh /job/bind-wrapper.sh ./app", "mpirun -np 2 --bind-to none sh /job/bind-wrapper.sh {}"),
        ("mpirun -np 2 numactl -m 0 ./app", "mpirun -np 2 numactl -m 0 {}"),
        ("mpirun -np 2 env -u A B=1 ./app C=2", "mpirun -np 2 env -u A B=1 {}"),
        ("mpirun -np 2 env A=1 numactl -m 0 env B=2 ./app", "mpirun -np 2 env A=1 numactl -m 0 env B=2 {}"),
        ("srun -n 2 --cpu-bind=cores ./app --help", "srun -n 2 --cpu-bind=cores {}"),
        ("anything {} at all", "anything {} at all"),
    ],
)
def test_the_command_of_a_line_gives_way_to_the_probe(line: str, kept: str) -> None:
    """Options, segments, variables and what binds stay; the application is left out."""
    assert line_of(line.split()).argv == tuple(kept.split())


def test_the_script_of_bind_is_read_and_not_run(tmp_path: Path) -> None:
    """Its variables, its folder and its line are read; what somebody added to it is refused."""
    script = tmp_path / "launch.sh"
    head = '#!/bin/sh\n# two\nhere=$(cd "$(dirname "$0")" && pwd) || exit\nexport A=\'x y\'\n'
    script.write_text(f"{head}exec mpirun --rankfile \"$here\"/rankfile ./app 'a $b\n c'\n")
    line = line_in(tmp_path)
    assert (line.argv, line.variables) == (("mpirun", "--rankfile", f"{tmp_path}/rankfile", STANDS_FOR), {"A": "x y"})
    for added in (
        "module load x\nexec mpirun ./app",
        "exec mpirun $N ./app",
        "exec mpirun ./app; rm x",
        "export A=$(id)",
        "# none",
    ):
        script.write_text(f"{head}{added}\n")
        with pytest.raises(BadInput, match=r"LINE, with \{\} in place of the command"):
            line_in(tmp_path)
