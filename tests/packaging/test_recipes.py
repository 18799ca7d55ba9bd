"""What packages are made from: whole, of one version, sending nobody to a name that is not ours."""

import os
import re
import subprocess
import sys
import tomllib

import pytest
import yaml

from advisor import __version__
from tests.packaging.test_start import ROOT, script

PACKAGING = ROOT / "packaging"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKED = {each.name: each for each in script("sbom").releases((PACKAGING / "lock.txt").read_text(encoding="utf-8"))}
TEXTS = sorted(
    path for path in PACKAGING.rglob("*") if path.is_file() and path.suffix != ".pyc" and not path.name.startswith("lock")
)


def numbers(version: str) -> list[int]:
    """Return a version as numbers."""
    return [int(part) for part in re.findall(r"\d+", version)]


def test_the_lock_has_all_that_the_project_needs() -> None:
    """Each dependency is named, not older than its floor, with a hash for each of its files; `make lock` writes it."""
    needs = [need.lower().split(">=") for need in PROJECT["project"]["dependencies"]]
    assert [name for name, floor in needs if numbers(LOCKED[name].version) < numbers(floor)] == []
    assert [each.name for each in LOCKED.values() if not each.hashes or not each.needed_by] == []


def test_the_wheel_has_every_folder_that_is_read_beside_the_code() -> None:
    """Rules, templates and kernels in the package; manual pages, other pages and completions where each is looked for."""
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(wheel["force-include"]) == {"rules", "templates", "kernels"}
    assert [source for source in (*wheel["force-include"], *wheel["shared-data"]) if not (ROOT / source).exists()] == []
    assert wheel["shared-data"] == {
        "docs": "share/doc/advisor",
        "docs/man": "share/man/man1",
        "packaging/completions/_advisor": "share/zsh/site-functions/_advisor",
        "packaging/completions/advisor.bash": "share/bash-completion/completions/advisor",
        "packaging/completions/advisor.fish": "share/fish/vendor_completions.d/advisor.fish",
    }


@pytest.mark.parametrize(("shell", "name"), [("bash", "advisor.bash"), ("fish", "advisor.fish")])
def test_the_completions_are_those_that_advisor_prints(shell: str, name: str) -> None:
    """What packages install does what --install-completion would; the test of the Tab key tries that for zsh."""
    asked = {**os.environ, "_ADVISOR_COMPLETE": f"source_{shell}"}
    run = [sys.executable, "-m", "advisor"]
    printed = subprocess.run(run, env=asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (PACKAGING / "completions" / name).read_text(encoding="utf-8").split() == printed.split()


def test_no_recipe_asks_an_index_for_a_name_of_ours() -> None:
    """Nobody registered our name: what installs advisor takes a file, and what it needs comes by its hash."""
    asked = [
        (path.name, line.strip())
        for path in TEXTS
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"pipx? install|pip download", line) and not re.search(r"--no-index|--require-hashes|\.whl|\.pyz", line)
    ]
    assert asked == []


def test_no_recipe_has_a_version_of_its_own() -> None:
    """`make recipes` fills in the version and the checksum of what was built, so that none can be stale."""
    recipes = (
        PACKAGING / "easybuild/hpc-advisor.eb",
        PACKAGING / "spack/packages/hpc_advisor/package.py",
        PACKAGING / "advisor.def",
    )
    found = [re.findall("@VERSION@|@SHA256@", path.read_text(encoding="utf-8")) for path in recipes]
    assert [sorted(set(each)) for each in found] == [["@SHA256@", "@VERSION@"]] * 3
    assert [path.name for path in TEXTS if __version__ in path.read_text(encoding="utf-8")] == []


def test_a_bill_names_each_package_who_needs_it_and_the_same_bytes_twice() -> None:
    """Of a lock of three releases: what each is, on what each depends, its hashes; Windows is left out."""
    lock = (
        "a==1.0 \\\n    --hash=sha256:" + "1" * 64 + "\n    # via hpc-advisor (pyproject.toml)\n"
        "b-c==2 ; python_full_version < '3.14' \\\n    --hash=sha256:"
        + "2"
        * 64
        + "\n    # via\n    #   a\n    #   hpc-advisor (x)\n"
        "d==3 ; sys_platform == 'win32' \\\n    --hash=sha256:" + "3" * 64 + "\n    # via a\n"
    )
    bill = script("sbom").bill
    made = bill(lock, "9", {"a": "MIT"}, 0)
    assert [(each["purl"], "licenses" in each) for each in made["components"]] == [
        ("pkg:pypi/a@1.0", True),
        ("pkg:pypi/b-c@2", False),
    ]
    assert made["dependencies"] == [
        {"ref": "pkg:generic/advisor@9", "dependsOn": ["pkg:pypi/a@1.0", "pkg:pypi/b-c@2"]},
        {"ref": "pkg:pypi/a@1.0", "dependsOn": ["pkg:pypi/b-c@2"]},
        {"ref": "pkg:pypi/b-c@2"},
    ]
    assert (made["metadata"]["timestamp"], made) == ("1970-01-01T00:00:00Z", bill(lock, "9", {"a": "MIT"}, 0))


def test_the_page_names_every_way_to_install() -> None:
    """docs/install.md has the command of each folder and file here, and of each target of the Makefile."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    targets = ("wheel", "pyz", "deb", "rpm", "sbom", "recipes", "dist", "lock", "test-pythons")
    assert [name for name in targets if f"make {name}" not in page] == []
    assert [name for name in ("EasyBuild", "recipes/spack", "recipes/advisor.def", "pipx install .") if name not in page] == []


def test_the_sheets_of_other_tools_are_read() -> None:
    """What is YAML, TOML or Python here, as recipes of EasyBuild and Spack are, can be read as such."""
    for path in (*PACKAGING.glob("easybuild/*.eb"), *PACKAGING.glob("spack/**/*.py")):
        compile(path.read_text(encoding="utf-8"), path, "exec")
    tomllib.loads((PACKAGING / "rpmlint.toml").read_text(encoding="utf-8"))
    assert [path.name for path in TEXTS if path.suffix == ".yaml" and yaml.safe_load(path.read_text()) is None] == []


@pytest.mark.parametrize(
    ("extra", "locks"),
    [("", ()), ("plots", ("plots",)), ("test", ("plots", "test")), ("lint", ("lint",)), ("package", ("plots", "package"))],
)
def test_what_make_installs_is_locked(extra: str, locks: tuple[str, ...]) -> None:
    """Each package that pyproject.toml names has a release with hashes in the files that prepare.sh gives to pip."""
    project = PROJECT["project"]
    named = project["optional-dependencies"][extra] if extra else project["dependencies"]
    wanted = {re.split(r"[^\w-]", need)[0].lower() for need in named}
    files = ("lock.txt", *(f"lock-{name}.txt" for name in locks))
    locked = [each for file in files for each in script("sbom").releases((PACKAGING / file).read_text(encoding="utf-8"))]
    assert (wanted - {each.name for each in locked}, [each.name for each in locked if not each.hashes]) == (set(), [])
