"""What sources take of files that are another on each node."""

from advisor.collect.views import arm_parts, memory_total, of_family_15h, of_knights_landing

BULLDOZER = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 21\nmodel\t\t: 1\n"
KNIGHTS_LANDING = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 87\n"
GRACE = (
    "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
)


def test_a_cpuinfo_says_which_processors_need_another_reading() -> None:
    """AMD's compute units and Intel's Knights are told by vendor, family and model; no other is taken for one."""
    found = [(of_family_15h(text), of_knights_landing(text)) for text in (BULLDOZER, KNIGHTS_LANDING, GRACE, "")]
    assert found == [(True, False), (False, True), (False, False), (False, False)]


def test_cpus_of_arm_stand_by_their_part() -> None:
    """Implementer and part, with the CPUs of each; () of other processors."""
    assert (arm_parts(GRACE), arm_parts(BULLDOZER)) == ((((0x41, 0xD4F), (0, 1)),), ())


def test_only_the_total_of_a_meminfo_counts() -> None:
    """Free memory is another at each look."""
    texts = ("MemTotal: 4 kB\nMemFree: 2 kB\n", "MemTotal: 4 kB\nMemFree: 1 kB\n", "nothing")
    assert [memory_total(text) for text in texts] == [4096, 4096, None]
