"""One set of versions everywhere, each pinned by hash, with no address of any host."""

import fnmatch
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted(ROOT.glob("requirements*.lock"))
ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
PIN = re.compile(r"^([a-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
CONDA_ONLY = {"python", "pip"}


def pins(lock: Path) -> dict[str, str]:
    """The pinned version of each package; of several for different Pythons, the first."""
    found: dict[str, str] = {}
    for name, version in PIN.findall(lock.read_text(encoding="utf-8")):
        found.setdefault(name, version)
    return found


def requirements(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"]]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return {re.match(r"[A-Za-z0-9._-]+", line)[0] for line in lines}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_package_of_a_lock_has_a_version_and_hashes(lock):
    text = lock.read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert entries
    for entry in entries:
        assert PIN.match(entry), entry.splitlines()[0]
        assert "--hash=sha256:" in entry, entry.splitlines()[0]


@pytest.mark.parametrize("path", [*LOCKS, *ENVIRONMENTS], ids=lambda path: path.name)
def test_no_address_of_a_host_is_kept(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"://|index-url|find-links|\.(org|com|io)\b", text)


def test_a_wheel_has_every_package_of_the_library():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = project["tool"]["setuptools"]["packages"]["find"]
    assert found["where"] == ["scripts"]
    scripts = ROOT / "scripts"
    folders = {path.parent for path in (scripts / "clqa").rglob("*.py")}
    assert {scripts / "clqa", scripts / "clqa" / "layouts"} <= folders
    for folder in folders:
        # What setuptools finds: folders with an __init__.py whose dotted names fit a pattern.
        assert (folder / "__init__.py").is_file()
        name = ".".join(folder.relative_to(scripts).parts)
        assert any(fnmatch.fnmatchcase(name, pattern) for pattern in found["include"]), name


def test_the_lock_has_what_the_project_asks_for():
    assert requirements("test") <= pins(ROOT / "requirements.lock").keys()


def test_cluster_plugins_are_in_a_lock_of_their_own_and_agree_with_the_main_one():
    main, slurm = pins(ROOT / "requirements.lock"), pins(ROOT / "requirements-slurm.lock")
    assert not [name for name in main if name.startswith("snakemake-executor-plugin-")]
    assert requirements("slurm") <= slurm.keys()
    assert {name: slurm[name] for name in slurm if name in main}.items() <= main.items()


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.name)
def test_conda_environments_have_the_versions_of_the_lock(path):
    environment = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert environment["channels"] == ["conda-forge", "bioconda", "nodefaults"]
    locked = pins(ROOT / "requirements.lock")
    for line in environment["dependencies"]:
        name, _, version = line.partition(" ")
        if name not in CONDA_ONLY:
            assert version == f"={locked[name]}", name


def test_the_conda_environment_has_what_the_stages_import():
    environment = yaml.safe_load((ROOT / "envs" / "clqa.yaml").read_text(encoding="utf-8"))
    listed = {line.partition(" ")[0] for line in environment["dependencies"]}
    assert listed - CONDA_ONLY == requirements() - {"snakemake"}


def test_every_rule_has_a_conda_environment_that_exists():
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        rules = re.split(r"^rule ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for rule in rules:
            match = re.search(r'conda:\s+"(.+)"', rule)
            assert match, f"{path.name}: {rule.partition(':')[0]}"
            assert (path.parent / match[1]).is_file()
