import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hosts.base import Ran, Why
from advisor.machine.machine import Machine, Tool
from advisor.machine.sources import scheduler as software
from tests.collect.os_host import FakeHost, printed

HYDRA = """HYDRA build details:
    Version:                                 5.0.2
    Release Date:                            Fri Sep 25 20:45:26 UTC 2026
    CC:                              cc
    Configure options:                       --with-device=ch4:ucx,ofi --with-pm=hydra:gforker
    Process Manager:                         pmi
"""
HYDRA_OF_MVAPICH = """HYDRA build details:
    Version:                                 3.2.1
    Configure options:                       '--prefix=/opt/mvapich2/2.3.7' '--with-device=ch3:mrail'
"""
OPENMPI = "mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n"
MPICHVERSION = "MPICH Version:      5.0.2\nMPICH Release date: Fri Sep 25 20:45:26 UTC 2026\nMPICH Device:       ch4:ucx ofi\n"
MPIRUN, MPIEXEC = ("mpirun", "--version"), ("mpiexec", "--version")

# Printed by the programs themselves: Open MPI 5, ompi_info, PRRTE, MPICH 4 and 5, Intel MPI 2021, slurm-wlm, UCX 1.13, hwloc.
# From others' transcripts: mpirun of Open MPI 4, MVAPICH's mpichversion, Flux, PBS, UCX 1.17, libfabric.
# Written after the form the rest has: Intel MPI 2018, mpiname, MVAPICH's Hydra, Slurm 23.
SEEN = [
    ("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n", "openmpi", "4.1.4"),
    (OPENMPI, "openmpi", "5.0.11"),
    ("mpiexec (Open MPI) 5.0.11\n", "openmpi", "5.0.11"),
    ("Open MPI v4.1.4\n\nhttp://www.open-mpi.org/community/help/\n", "openmpi", "4.1.4"),
    ("prterun (PRRTE) 3.0.14\n\nReport bugs to: https://github.com/openpmix/prrte\n", "prrte", "3.0.14"),
    (HYDRA, "mpich", "5.0.2"),
    (MPICHVERSION, "mpich", "5.0.2"),
    ("MPICH Version:    \t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n", "mpich", "4.0.2"),
    (
        "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)\nCopyright 2003-2026\n",
        "intelmpi",
        "2021.18.1",
    ),
    ("Intel(R) MPI Library for Linux* OS, Version 2018 Update 3 Build 20180411 (id: 18329)\n", "intelmpi", "2018 Update 3"),
    ("MVAPICH2 Version:       2.3.7\nMVAPICH2 Release date:  Wed March 02 22:00:00 EST 2022\n", "mvapich", "2.3.7"),
    ("MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022 ch3:mrail\n", "mvapich", "2.3.7"),
    (HYDRA_OF_MVAPICH, "mvapich", None),
    ("slurm-wlm 22.05.8\n", "slurm", "22.05.8"),
    ("slurm 23.11.4\n", "slurm", "23.11.4"),
    ("commands:    \t\t0.50.0\nlibflux-core:\t\t0.50.0\nlibflux-security:\t0.9.0\n", "flux", "0.50.0"),
    ("pbs_version = 2022.1.1\n", "pbs", "2022.1.1"),
    ("pbs_version = PBSPro_11.1.0.111761\n", "pbs", "11.1.0.111761"),
    ("# Version 1.13.1\n# Git branch '<unknown>', revision 0000000\n", "ucx", "1.13.1"),
    ("# Library version: 1.17.0\n# Library path: /lib64/libucs.so.0\n", "ucx", "1.17.0"),
    ("fi_info: 1.17.0\nlibfabric: 1.17.0\nlibfabric api: 1.17\n", "libfabric", "1.17.0"),
    ("lstopo-no-graphics 2.9.0\n", "hwloc", "2.9.0"),
]


@pytest.mark.parametrize(("output", "name", "version"), SEEN)
def test_a_tool_is_told_by_what_it_prints(output: str, name: str, version: str | None) -> None:
    """Every MPI calls its launcher mpirun: only the output tells them apart."""
    assert Tool(name=name, version=version) == software.classify(output)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "Sorry!  You were supposed to get help about:\n    version\nBut I couldn't open the help file:\n",
        "srun: fatal: Could not establish a configuration source\n",
        'usr/bin/mpirun: Error: unknown option "--version"\n',
    ],
)
def test_a_complaint_is_no_tool(output: str) -> None:
    """A program that cannot say its version is left out."""
    assert software.classify(output) is None


def test_one_mpi_under_two_names_is_one_tool() -> None:
    """The first program found stands for it."""
    host = FakeHost(
        commands={
            MPIRUN: printed(OPENMPI, path="/opt/ompi/bin/mpirun"),
            MPIEXEC: printed(OPENMPI.replace("mpirun", "mpiexec"), path="/opt/ompi/bin/mpiexec"),
        }
    )
    machine = software.collect_software(host)
    assert (Tool(name="openmpi", version="5.0.11", path="/opt/ompi/bin/mpirun"),) == machine.tools
    expected = [("tools.openmpi", "mpirun --version")]
    assert expected == [(source.fact, source.where) for source in machine.sources]
    assert set(host.ran) == set(software.SOFTWARE_COMMANDS)


def test_the_hydra_of_mvapich_is_no_mpich() -> None:
    """The launcher beside MVAPICH's own programs is MVAPICH's, whatever version of Hydra it prints."""
    beside: dict[tuple[str, ...], Ran] = {
        MPIRUN: printed(HYDRA, path="/opt/mv/bin/mpirun"),
        ("mpiname", "-a"): printed("MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022 ch3:mrail\n", path="/opt/mv/bin/mpiname"),
    }
    apart = beside | {MPIRUN: printed(HYDRA, path="/opt/mpich/bin/mpirun")}
    names = [[tool.name for tool in software.collect_software(FakeHost(commands=given)).tools or ()] for given in (beside, apart)]
    expected = [["mvapich"], ["mpich", "mvapich"]]
    assert expected == names


def test_a_version_found_later_is_added() -> None:
    """MVAPICH's mpirun hides the version that its mpiname tells."""
    commands: dict[tuple[str, ...], Ran] = {
        MPIRUN: printed(HYDRA_OF_MVAPICH, path="/opt/mv/bin/mpirun"),
        ("mpiname", "-a"): printed("MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022 ch3:mrail\n", path="/opt/mv/bin/mpiname"),
    }
    assert (Tool(name="mvapich", version="2.3.7", path="/opt/mv/bin/mpirun"),) == software.collect_software(
        FakeHost(commands=commands)
    ).tools


def test_a_version_on_the_error_stream_counts() -> None:
    """Some programs print their version there."""
    found = software.collect_software(FakeHost(commands={MPIRUN: Ran(err=OPENMPI.encode())})).tools
    assert (Tool(name="openmpi", version="5.0.11"),) == found


@pytest.mark.parametrize(("why", "expected", "gaps"), [(Why.ABSENT, (), []), (Why.NOT_KEPT, None, ["tools"])])
def test_none_found_is_not_none_asked(why: Why, expected: tuple[Tool, ...] | None, gaps: list[str]) -> None:
    """A machine without the programs has no tools; an input without their answers does not say."""
    machine = software.collect_software(FakeHost(otherwise=why))
    assert (expected, gaps) == (machine.tools, [gap.fact for gap in machine.gaps])


@pytest.mark.parametrize("why", [Why.TIMEOUT, Why.FAILED, Why.REFUSED])
def test_a_program_that_does_not_answer_is_named(why: Why) -> None:
    """A launcher that hangs, prints without end or may not be run is no absent one: it leaves a gap."""
    machine = software.collect_software(FakeHost(commands={MPIRUN: Ran(why=why)}, otherwise=Why.ABSENT))
    assert [(gap.fact, gap.why) for gap in machine.gaps] == [("tools.mpirun", f"mpirun --version: {why}")]


@given(st.text() | st.lists(st.sampled_from([text for text, _, _ in SEEN]), max_size=3).map("".join))
def test_any_output_is_survived(output: str) -> None:
    """No output stops the classifier or the source."""
    assert isinstance(software.collect_software(FakeHost(commands={MPIRUN: printed(output)})), Machine)
