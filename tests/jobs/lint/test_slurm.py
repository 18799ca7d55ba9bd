"""srun: what slurm.conf decides is not guessed, and what a line says is read as srun reads it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from advisor.jobs.slurm import KEY, read, shape
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine, SlurmNode
from advisor.machine.topology import Core, Package, SharedL2, Topology
from tests.jobs.lint.oracle import described, odd_of, rows, told
from tests.jobs.place.samples import machine

ROME, NAPLES_SMT = "b-c6525-2x7702-nps4", "a-r7425-2x7601-dell-smt"
PLAIN = "TaskPlugin=task/affinity\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"


def made(line: str, conf: str | None = None, name: str = ROME, **files: str) -> Prediction:
    """Return what a line does in Slurm 22.05."""
    return predict(parse([line], "slurm-22.05.8"), machine(name), files | ({KEY: conf} if conf is not None else {}))


def cpus(done: Prediction) -> list[str]:
    """Return the CPUs of the ranks as text."""
    return [str(rank.cpus) for rank in done.ranks or ()]


def test_what_srun_does_by_itself_is_not_told_without_slurm_conf() -> None:
    """Bound or not, over which sockets: that is the site's."""
    assert "--slurm-conf" in str(made("srun -n 8 ./a").unclear)
    assert "--slurm-conf" in str(made("srun -n 8 --cpu-bind=cores ./a").unclear)
    assert cpus(made("srun -n 2 -m block:block --cpu-bind=cores ./a")) == ["0", "1"]


def test_the_controller_tells_how_many_cpus_a_node_has() -> None:
    """Where scontrol was asked, no line that names its binding is left open, and none is told otherwise than it was seen."""
    every = [row for row in rows("seen_srun.txt") if KEY not in row.files and not odd_of(row)]
    found = []
    for row in every:
        node = described(row.machine)
        count = len(node.topology.pus) if node.topology else 0
        known = node.model_copy(update={"slurm_nodes": (SlurmNode(source="scontrol show node", cpus=count),)})
        found.append(told(row, known)[0])
    assert len(every) > 30
    assert found == [row.seen for row in every]


def test_slurm_conf_tells_the_default_distribution() -> None:
    """Over the sockets in turn, unless CR_CORE_DEFAULT_DIST_BLOCK."""
    line = "srun -n 3 --cpu-bind=cores ./a"
    assert cpus(made(line, PLAIN)) == ["0", "64", "1"]
    assert cpus(made(line, PLAIN.replace("CR_Core", "CR_Core,CR_CORE_DEFAULT_DIST_BLOCK"))) == ["0", "1", "2"]


@pytest.mark.parametrize(
    "conf", ["TaskPlugin=task/none\n", "SelectType=select/cons_tres\n", "", "TaskPluginParam=autobind=cores\n"]
)
def test_slurm_without_a_plugin_for_affinity_binds_nothing(conf: str) -> None:
    """Nor does it say so; a slurm.conf that names no plugin means none, here as where a machine's own is read."""
    assert [rank.cpus for rank in made("srun -n 2 --cpu-bind=cores ./a", conf).ranks or ()] == [None, None]


@pytest.mark.parametrize(
    ("conf", "why"),
    [
        ("TaskPlugin=task/cgroup\n", "only task/cgroup"),
        ("SelectType=select/linear\n", "SelectType=select/linear"),
        ("SelectTypeParameters=CR_CPU\n", "counts CPUs, not cores"),
        ("SlurmdParameters=l3cache_as_socket\n", "L3 groups or NUMA nodes into sockets"),
        ("NodeName=n[1-4] Sockets=4 CoresPerSocket=32\n", "sockets or cores for this node"),
        ("NodeName=a CPUs=64 Sockets=2 CoresPerSocket=64\nNodeName=b CPUs=128\n", "defines several kinds of nodes"),
    ],
)
def test_a_setup_that_is_not_worked_out_is_named(conf: str, why: str) -> None:
    """What gives CPUs in other ways is left open."""
    assert why in str(made("srun -n 8 ./a", conf if "TaskPlugin" in conf else f"TaskPlugin=task/affinity\n{conf}").unclear)


@pytest.mark.parametrize(
    "conf",
    [
        "TaskPlugin=task/affinity\nSelectType=select/cons_tres\n",
        "TaskPlugin=task/affinity\nSelectType=select/cons_res\n",
        "TaskPlugin=task/affinity\nSelectTypeParameters=CR_Core_Memory\n",
        "TaskPlugin=affinity\n",
        "TaskPlugin=task/cgroup,task/affinity\n",
    ],
)
def test_setups_that_bind_by_core_are_worked_out(conf: str) -> None:
    """Both names of the plugin that gives cores, and affinity alone or beside cgroup."""
    assert cpus(made("srun -n 2 --cpu-bind=cores ./a", conf)) == ["0", "64"]


def test_a_node_with_as_many_cpus_as_cores_has_one_thread_a_core() -> None:
    """CPUs=64 on 64 cores with 128 hardware threads."""
    conf = f"{PLAIN}NodeName=DEFAULT Sockets=2 CoresPerSocket=32\nNodeName=node[001-004] CPUs=64 ThreadsPerCore=2\n"
    assert cpus(made("srun -n 2 -c 2 --cpu-bind=threads ./a", conf, NAPLES_SMT)) == ["0,16", "1,17"]
    assert cpus(made("srun -n 2 -c 2 --cpu-bind=threads ./a", PLAIN, NAPLES_SMT)) == ["0,64", "1,65"]


def test_lists_outside_of_what_a_step_has_are_refused() -> None:
    """--cpus-per-task gives a step its own CPUs alone."""
    assert "outside of job step allocation" in str(made("srun -n 2 -c 1 --cpu-bind=map_cpu:90,91 ./a", PLAIN).refused)
    assert cpus(made("srun -n 2 --cpu-bind=map_cpu:90,91 ./a", PLAIN)) == ["90", "91"]


def test_more_threads_than_a_core_has_are_refused() -> None:
    """What --overcommit with of them was rarely observed."""
    assert "cores here have 1" in str(made("srun -n 2 --threads-per-core=2 ./a", PLAIN).refused)
    assert cpus(made("srun -n 2 -c 2 --threads-per-core=1 ./a", PLAIN, NAPLES_SMT)) == ["0,16", "1,17"]
    assert "--overcommit and more threads" in str(made("srun -n 2 -O --threads-per-core=2 ./a", PLAIN).unclear)


def test_a_variable_of_slurm_that_is_not_known_leaves_a_line_open() -> None:
    """SLURM_EXCLUSIVE may change everything, SLURM_LABELIO nothing; 22.05 does not read SLURM_NTASKS_PER_CORE."""
    assert "combination of --hint and SLURM_CPU_BIND is not predicted" in str(
        made("SLURM_CPU_BIND=cores srun -n 2 --hint=nomultithread ./a", PLAIN).unclear
    )
    line = "{}=1 srun -n 2 --cpu-bind=cores ./a"
    names = ("SLURM_EXCLUSIVE", "SLURM_NTASKS_PER_CORE", "SLURM_DIST_PLANESIZE", "SLURM_LABELIO")
    assert [bool(made(line.format(name), PLAIN).unclear) for name in names] == [True, True, True, False]


def test_an_arbitrary_distribution_is_that_of_its_file() -> None:
    """One host a rank, in the file's order."""
    line = "SLURM_HOSTFILE=hosts srun -n 3 -m arbitrary --cpu-bind=map_cpu:4,5 ./a"
    done = made(line, PLAIN, hosts="n2\nn1\nn2\n")
    assert [(rank.host, str(rank.cpus)) for rank in done.ranks or ()] == [("n2", "4"), ("n1", "4"), ("n2", "5")]


@pytest.mark.parametrize(
    "option",
    [
        "--gpus-per-socket=2",
        "--gres=nic:1",
        "--gpus-per-node=a100:4",
        "-x n1",
        "-w n1 -x n2",
        "-B 2:4:1",
        "--ntasks-per-gpu=1",
        "-m plane=2",
        "-r 1",
        "-N 1-4",
        "-w n[1",
        "-w ./hosts",
    ],
)
def test_options_that_change_the_cpus_in_other_ways_leave_a_line_open(option: str) -> None:
    """Never read as if they were not there."""
    assert made(f"srun {option} -n 4 --cpu-bind=map_cpu:0,1,2,3 ./a", PLAIN).unclear


def test_gpus_change_nothing_of_the_cpus_where_a_step_has_the_whole_node() -> None:
    """--cpus-per-gpu, which Slurm 22.05 passes over in a step, leaves a line open."""
    line = "srun -n 3 --gpus-per-task=1 --cpu-bind=cores ./a"
    assert cpus(made(line, PLAIN)) == ["0", "64", "1"]
    assert cpus(made("srun -n 2 --gpus-per-task=1 -c 64 --cpu-bind=cores ./a", PLAIN)) == ["0-63", "64-127"]
    assert "--cpus-per-gpu" in str(made(line.replace("-n 3", "-n 3 --cpus-per-gpu=8"), PLAIN).unclear)


@pytest.mark.parametrize("gpus", ["--gpus=2", "--gpus-per-node=2", "--gpus-per-task=1", "--gres=gpu:2", "-G 2"])
def test_a_part_of_a_node_beside_gpus_is_not_told(gpus: str) -> None:
    """Slurm takes the cores that gres.conf has for the GPUs: 0-7 and 8-15 of a socket were seen, and one of each socket."""
    assert "gres.conf" in str(made(f"srun {gpus} -n 2 -c 8 --cpu-bind=cores ./a", PLAIN).unclear)
    for none in ("--gpus-per-node=0", "--gres=none"):
        assert cpus(made(f"srun {none} -n 2 -c 2 --cpu-bind=cores ./a", PLAIN)) == ["0-1", "64-65"]


def test_more_gpus_than_nodes_are_known_to_have_leave_a_line_open() -> None:
    """Four where the machine shows none: with more than a node has nothing starts."""
    for words in ("-n 5 --gpus-per-task=1", "-n 2 --gpus-per-node=6", "-n 2 --gpus=10", "-n 2 --gres=gpu:5"):
        assert "is unknown whether" in str(made(f"srun {words} --cpu-bind=cores ./a", PLAIN).unclear)


@pytest.mark.parametrize("words", ["--exclusive --overlap", "--quiet --verbose", "--pty -o out", "--pty -e err", "-i in --pty"])
def test_options_that_srun_does_not_take_together_are_refused(words: str) -> None:
    """As srun 22.05.8 says itself; nothing starts."""
    assert "srun takes only one of" in str(made(f"srun -n 2 {words} ./a", PLAIN).refused)


def test_an_exclusive_step_has_its_own_cpus_where_no_word_stands_behind_it() -> None:
    """--exclusive=user gives a step whole nodes, was seen; beside others it is left open."""
    assert cpus(made("srun -n 1 --exclusive --cpu-bind=sockets ./a", PLAIN)) == ["0"]
    assert "--exclusive=user" in str(made("srun -n 1 --exclusive=user --cpu-bind=sockets ./a", PLAIN).unclear)


def test_a_list_of_nodes_is_taken_apart() -> None:
    """n[1-2,07], in the order of Slurm."""
    hosts = [rank.host for rank in made("srun -w n[07,1-2],a1 -n 4 -m cyclic --cpu-bind=cores ./a", PLAIN).ranks or ()]
    assert hosts == ["a1", "n1", "n2", "n07"]


def test_memory_domains_are_those_of_the_kernel() -> None:
    """--cpu-bind=ldoms widens what is placed, beyond what the step has; numbers of nodes begin again after the last."""
    assert cpus(made("srun -n 2 -c 4 --cpu-bind=ldoms ./a", PLAIN)) == ["0-15", "64-79"]
    assert cpus(made("srun -n 3 --cpu-bind=rank_ldom ./a", PLAIN)) == ["0-15", "16-31", "32-47"]
    assert cpus(made("srun -n 2 --cpu-bind=map_ldom:9,0 ./a", PLAIN)) == ["16-31", "0-15"]
    assert cpus(made("srun -n 2 --cpu-bind=mask_ldom:0x3,0x80 ./a", PLAIN)) == ["0-31", "112-127"]
    assert "whole node" in str(made("srun -n 2 -c 4 --cpu-bind=map_ldom:1 ./a", PLAIN).refused)


def with_nodes(*numbers: int) -> Machine:
    """Return a machine whose NUMA nodes have other numbers."""
    node = machine(ROME)
    assert node.topology is not None
    nodes = [each.model_copy(update={"os_index": number}) for each, number in zip(node.topology.nodes, numbers, strict=True)]
    more = {"nodes": tuple(nodes), "allowed_nodes": CpuSet(numbers)}
    return node.model_copy(update={"topology": node.topology.model_copy(update=more)})


def test_gaps_in_the_numbers_of_numa_nodes_leave_lines_that_bind_to_them_open() -> None:
    """Slurm stops asking at the first number without a node (seen on a POWER9 with nodes 0 and 8)."""
    line = parse(["srun -n 2 --cpu-bind=ldoms ./a"], "slurm-22.05.8")
    assert "NUMA library" in str(predict(line, with_nodes(0, *range(8, 15)), {KEY: PLAIN}).unclear)


def test_a_numa_node_of_memory_alone_binds_nothing_and_nothing_starts() -> None:
    """Its mask is empty, which the kernel refuses."""
    assert "none of the CPUs" in str(made("srun -n 1 --cpu-bind=map_ldom:8 ./a", PLAIN, "hbm-flat").refused)


def test_a_node_whose_cpus_are_off_or_whose_sockets_are_not_alike_is_left_open() -> None:
    """Slurm counts such CPUs in an order of its own, and slurm.conf may describe such sockets otherwise."""
    line = parse(["srun -n 2 ./a"], "slurm-22.05.8")
    assert "are off" in str(predict(line, described("off"), {KEY: PLAIN}).unclear)
    assert "sockets or cores of this machine differ" in str(predict(line, machine("offline"), {KEY: PLAIN}).unclear)


def test_cores_that_slurm_keeps_for_the_system_leave_a_line_open() -> None:
    """CoreSpecCount and CpuSpecList, of slurm.conf or as the controller says."""
    line = parse(["srun -n 2 --cpu-bind=cores ./a"], "slurm-22.05.8")
    for said in ("CoreSpecCount=2", "CpuSpecList=0,64"):
        assert "for the system" in str(predict(line, machine(ROME), {KEY: f"{PLAIN}NodeName=n1 {said}\n"}).unclear)
    kept = machine(ROME).model_copy(update={"slurm_nodes": (SlurmNode(source="scontrol show node", core_spec=2),)})
    assert "for the system" in str(predict(line, kept, {KEY: PLAIN}).unclear)


def test_memory_of_a_node_that_is_not_there_is_refused() -> None:
    """A node that is not there ends a task before it begins."""
    refused = made("srun -n 2 --mem-bind=map_mem:0,9 ./a", PLAIN).refused
    assert refused == "srun fails: --mem-bind names NUMA nodes 9, which do not exist"
    assert len(cpus(made("srun -n 2 --mem-bind=verbose,local ./a", PLAIN))) == 2


def test_srun_of_22_05_does_not_read_slurm_cpus_per_task() -> None:
    """From 22.05 to 23.02 it reads SRUN_CPUS_PER_TASK alone, as was seen of 22.05 and stands in its release notes."""
    line = "SLURM_CPUS_PER_TASK=8 srun -n 2 --cpu-bind=cores ./a"
    assert cpus(made(line, PLAIN)) == ["0", "64"]
    assert cpus(made(line.replace("SLURM", "SRUN"), PLAIN)) == ["0-7", "64-71"]
    assert len(cpus(predict(parse([line], "slurm-24.05"), machine(ROME), {KEY: PLAIN}))[0]) > 2
    unknown = replace(parse([line], "slurm-22.05.8"), release=None)
    assert "depends on its version" in str(predict(unknown, machine(ROME), {KEY: PLAIN}).unclear)


def test_a_task_for_each_core_with_more_cpus_than_a_core_has_is_refused() -> None:
    """64 cores of two threads: 64 tasks of two CPUs fit, of three they do not (seen)."""
    line = "srun -N1 --ntasks-per-node=64 -c {} --cpu-bind=cores ./a"
    assert len(cpus(made(line.format(2), PLAIN, NAPLES_SMT))) == 64
    assert "nothing starts" in str(made(line.format(3), PLAIN, NAPLES_SMT).refused)


def test_tasks_that_fit_all_nodes_together_and_not_each_are_left_open() -> None:
    """128 cores a node: 76 tasks of five cores on three nodes start (16 of 3 on nodes of 16 were seen), 77 do not."""
    line = "srun -N 3 -n {} -c 5 -m cyclic --cpu-bind=cores ./a"
    assert "on the nodes in total" in str(made(line.format(76), PLAIN).unclear)
    assert "nothing starts" in str(made(line.format(77), PLAIN).refused)


def test_a_slurm_conf_that_includes_others_is_not_read_alone() -> None:
    """What is included may say anything."""
    assert "includes other files" in str(made("srun -n 2 ./a", PLAIN + "  Include nodes.conf\n").unclear)


@pytest.mark.parametrize(
    "line", ["srun -N 60000 -n 65536 -m cyclic", "srun -n 65536 -O", "srun -n 4 --cpu-bind=mask_cpu:0x1*999999"]
)
def test_large_lines_have_an_answer(line: str) -> None:
    """As many ranks and nodes as are worked out one by one."""
    assert len(made(f"{line} ./a", PLAIN).ranks or ()) in (4, 65536)


def test_slurm_conf_is_read_with_comments_defaults_and_joined_lines() -> None:
    """As slurmctld reads it."""
    said, nodes = read(
        "# x\nTaskPlugin=task/affinity # y\nNodeName=DEFAULT \\\n CPUs=8\nNodeName=a Sockets=2\nNodeName=b CPUs=4\n"
    )
    assert said == {"taskplugin": "task/affinity"}
    assert [(node["nodename"], node["cpus"]) for node in nodes] == [("a", "8"), ("b", "4")]


WORDS = st.one_of(
    st.sampled_from(
        ["-n", "-N", "-c", "-m", "-w", "2", "3", "block:cyclic", "plane=2", "cyclic", "--exact", "--cpu-bind=cores", "-O"]
    ),
    st.sampled_from(["n[1-3,07]", "n[1-99999999]", "--overlap"]),
    st.sampled_from(
        ["--hint=nomultithread", "--threads-per-core=1", "--ntasks-per-core=1", "--cpu-bind=none", "--cpu-bind=threads"]
    ),
    st.sampled_from(
        ["--gpus=4", "--gpus-per-task=1", "--ntasks-per-gpu=2", "--cpus-per-gpu=4", "--gres=gpu:2", "-m block:block:cyclic"]
    ),
    st.from_regex(r"--cpu-bind=(map|mask)_(cpu|ldom):[0-9a-fx*,-]{0,12}", fullmatch=True),
    st.text(alphabet="-=:,*0123456789abnmcx", min_size=1, max_size=10),
)


@given(
    st.lists(WORDS, max_size=8), st.sampled_from([None, PLAIN, f"{PLAIN}TaskPluginParam=autobind=cores\n"]), st.text(max_size=40)
)
def test_any_words_of_srun_are_told_refused_or_left_open(words: list[str], conf: str | None, more: str) -> None:
    """No other end, whatever slurm.conf says."""
    text = None if conf is None else conf + more
    try:
        line = parse(["srun", *words, "./a"], "slurm-22.05.8")
    except ValueError:
        return
    done = predict(line, machine(NAPLES_SMT), {KEY: text} if text is not None else {})
    assert done.ranks or done.refused or done.unclear


def test_cores_that_share_a_cache_of_level_2_are_in_slurms_order() -> None:
    """What slurmd 22.05.8 logged of a Xeon E5345: it keeps no such caches in hwloc's tree, and counts cores by their numbers."""
    cores = tuple(Core(os_index=cpu, cpuset=CpuSet([cpu])) for cpu in range(4))
    shared = tuple(SharedL2(cpuset=CpuSet([cpu, cpu + 2])) for cpu in range(2))
    package = Package(os_index=0, cpuset=CpuSet(range(4)))
    made = Topology(packages=(package,), cores=cores, shared_l2=shared, pus=CpuSet(range(4)), allowed=CpuSet(range(4)))
    assert shape(made).cpus == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [("map_cpu:4,5,verbose", ["4", "5"]), ("rank", ["0", "1"]), ("map_cpu=4,5", ["4", "5"]), ("map_cpu:4,,5", ["4", "5"])],
)
def test_the_words_of_cpu_bind_are_told_apart_as_slurm_does(said: str, wanted: list[str]) -> None:
    """Words that only print may stand before and behind a list."""
    assert cpus(made(f"srun -n 2 --cpu-bind={said} ./a", PLAIN)) == wanted


def test_a_word_of_cpu_bind_that_takes_no_list_is_refused_with_one() -> None:
    """Also with an empty one; several words are left open."""
    assert made("srun -n 2 --cpu-bind=rank,cores ./a", PLAIN).unclear
    assert [bool(made(f"srun -n 2 --cpu-bind={said} ./a", PLAIN).refused) for said in ("rank:3", "cores:")] == [True, True]


def test_which_thread_one_thread_gives_is_not_told() -> None:
    """Slurm knows the word, and its manual does not."""
    assert "one_thread" in str(made("srun -n 2 --cpu-bind=one_thread ./a", PLAIN).unclear)
