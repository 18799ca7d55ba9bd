import pytest

from advisor.advice.know.vendors import publications
from advisor.errors import BadValue
from advisor.measure.platform import platform_on_order, platforms, processor


@pytest.mark.parametrize(
    ("name", "platform", "cores", "dies"),
    [
        ("EPYC 7702", "rome", 64, 8),
        ("AMD EPYC 7702 64-Core Processor", "rome", 64, 8),
        ("7702", "rome", 64, 8),
        ("Gold 6248R", "cascade-lake", 24, None),
        ("EPYC 7452", "rome", 32, 4),
        ("EPYC 7773X", "milan-x", 64, 8),
        ("EPYC 9554", "genoa", 64, 8),
        ("Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "cascade-lake", 24, None),
        ("Xeon CPU Max 9480", "sapphire-rapids-max", 56, None),
        ("EPYC 9655", "turin", None, None),
        ("MI300A", "mi300a", None, None),
        ("Xeon 6980P", "granite-rapids", None, None),
        ("Xeon 6 6787P", "granite-rapids", None, None),
        ("Intel(R) Xeon(R) 6766E", "sierra-forest", None, None),
        ("Xeon Bronze 3204", "cascade-lake", None, None),
        ("GH200", "grace", None, None),
        ("NVIDIA GH200 Grace Hopper Superchip", "grace", None, None),
        ("epyc 7543p", "milan", 32, 8),
        ("xeon gold 6248r", "cascade-lake", 24, None),
    ],
)
def test_a_model_is_known_by_the_name_of_an_order(name: str, platform: str, cores: int | None, dies: int | None) -> None:
    """Its platform follows from its name; cores and dies are told where a publication has them."""
    found = processor(name)
    assert (found.platform, found.dies) == (platform, dies)
    assert cores is None or found.cores == cores


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("EPYC 7703", "EPYC 77"),
        ("EPYX 7702", "did you mean EPYC 7702?"),
        ("Xeon Glod 6148", "did you mean Xeon Gold 6148?"),
        ("EPYC 9575G", "did you mean EPYC 9575F?"),
        ("EPYC 4464P", "--platform"),
        ("Xeon Phi 7250", "--platform"),
        ("EPYC", "--platform"),
        ("Pentium", "--platform"),
        ("", "--platform"),
    ],
)
def test_an_unknown_model_is_refused_in_one_line(name: str, says: str) -> None:
    """The line names the nearest model, or the other way to say it."""
    if name == "EPYC 7703":
        assert processor(name).platform == "milan"
        return
    with pytest.raises(BadValue) as found:
        processor(name)
    assert (says in str(found.value), "\n" in str(found.value)) == (True, False)


def test_a_platform_that_contradicts_its_processor_is_refused() -> None:
    """--cpu and --platform name the same generation, or nothing."""
    assert platform_on_order("rome", "EPYC 7702")[0].id == "rome"
    with pytest.raises(BadValue, match="EPYC 7702 is rome, but --platform says milan"):
        platform_on_order("milan", "EPYC 7702")


def test_every_processor_has_a_source() -> None:
    """The sheets cite what is listed, and hold as many as they did."""
    listed = [each for sheet in platforms() for each in sheet.processors.values()]
    assert {each.source for each in listed} <= set(publications())
    assert len(listed) > 150
