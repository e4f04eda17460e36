"""What tests of several stages share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is, and what was compiled before. The same
# commit draws the same examples, so that a failure is one of the commit; CLQA_FUZZ draws others.
settings.register_profile(
    "clqa", deadline=None, derandomize="CLQA_FUZZ" not in os.environ, database=None
)
settings.load_profile("clqa")

ROOT = Path(__file__).resolve().parents[1]
# Clones that tests make and run share the machine code of this one.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "scripts" / "clqa" / "__pycache__"))


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of published graphs and query sets: CLQA_DATA, or `../shared/data` beside the tree.

    It is too large to come with the code; where it is not at hand, what needs it is skipped.
    """
    folder = Path(os.environ.get("CLQA_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "manifest.json").is_file():
        pytest.skip(f"no published data in {folder}; set CLQA_DATA to a folder that has them")
    return folder


@pytest.fixture(scope="session")
def toy() -> Path:
    """Folder of the toy graph with its catalogues and run configuration."""
    return ROOT / "tests" / "toy"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The file that takes longest goes first, so that parallel workers end together."""
    items.sort(key=lambda item: item.path.name != "test_workflow.py")
