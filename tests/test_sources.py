"""A digest follows the content of our own code, wherever it is imported, and nothing else."""

import json
from pathlib import Path

import pytest

import clqa.sources
from clqa.errors import InputError
from clqa.files import sha256_of
from clqa.sources import _keep, _known, _read, digest


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A stage, a package of three modules, and a module that only a function imports."""
    write(tmp_path, "stage.py", "import json\n\nfrom library import near\n\nnear.value()\n")
    write(tmp_path, "library/__init__.py", "")
    write(tmp_path, "library/near.py", "from .far import base\n\ndef value():\n    return base()\n")
    write(tmp_path, "library/far.py", "def base():\n    import lazy\n    return lazy.ONE\n")
    write(tmp_path, "library/unused.py", "X = 1\n")
    write(tmp_path, "lazy.py", "ONE = 1\n")
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    _read.cache_clear()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stage.py", "import json\n\nfrom library import near\n\nnear.value() + 1\n"),
        ("library/near.py", "from .far import base\n\ndef value():\n    return -base()\n"),
        ("library/far.py", "def base():\n    import lazy\n    return lazy.TWO\n"),
        ("lazy.py", "ONE = 1.0\n"),
        ("lazy.py", "ONE = '1'\n"),
        ("library/__init__.py", "import lazy\n"),
    ],
)
def test_a_change_of_imported_code_changes_the_digest(scripts, name, text):
    before = digest(scripts / "stage.py")
    write(scripts, name, text)
    assert digest(scripts / "stage.py") != before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lazy.py", "# a comment\n\n\nONE    =   (1)\n"),
        ("lazy.py", '"""What it is."""\n\nONE = 1\n'),
        ("library/near.py", 'from .far import base\ndef value():\n  "Value."\n  return base()\n'),
        ("library/unused.py", "X = 2\n"),
        ("other.py", "import library.unused\n"),
    ],
)
def test_comments_docstrings_layout_and_other_modules_do_not_count(scripts, name, text):
    before = digest(scripts / "stage.py")
    write(scripts, name, text)
    assert digest(scripts / "stage.py") == before


def test_the_digest_does_not_depend_on_the_place(scripts, tmp_path_factory):
    before = digest(scripts / "stage.py")
    moved = scripts.rename(tmp_path_factory.mktemp("other") / "clone")
    assert digest(moved / "stage.py") == before


def test_a_method_beside_the_script_counts(scripts):
    write(scripts, "methods/one.py", "def scores():\n    return 1\n")
    before = digest(scripts / "stage.py", scripts / "methods/one.py")
    write(scripts, "methods/one.py", "def scores():\n    return 2\n")
    assert digest(scripts / "stage.py", scripts / "methods/one.py") != before


def test_modules_that_import_each_other_are_read_once(scripts):
    write(scripts, "library/far.py", "from library import near\n")
    assert digest(scripts / "stage.py") == digest(scripts / "stage.py")


def test_every_python_version_gives_the_same_digest(tmp_path):
    """The value was made with Python 3.11, 3.12 and 3.13."""
    text = 'def f(x, /, *, y=None):\n    return {**x, None: ...}, f"{y!r:>{x}}"\n'
    write(tmp_path, "stage.py", text)
    assert digest(tmp_path / "stage.py").startswith("9985337423516942")


def test_a_missing_script_and_broken_code_are_named(tmp_path):
    with pytest.raises(InputError, match=r"stage\.py: cannot be read"):
        digest(tmp_path / "stage.py")
    write(tmp_path, "stage.py", "def f(:\n")
    with pytest.raises(InputError, match=r"stage\.py, line 1: not valid Python"):
        digest(tmp_path / "stage.py")


def test_what_is_kept_of_syntax_trees_goes_by_content_and_by_this_version(scripts):
    before = digest(scripts / "stage.py")
    kept = scripts / "__pycache__" / "digests.json"
    trees = dict(_known(kept))
    assert len(trees) == 5
    own = sha256_of(clqa.sources.__file__)
    _keep(kept, own, trees, 0)
    changed = {key: ["0" * 64, imports] for key, (_, imports) in trees.items()}
    whole = kept.read_text(encoding="utf-8")
    for text, is_used in [
        (whole, False),
        (json.dumps({"by": own, "trees": changed}), True),
        (json.dumps({"by": "another version", "trees": changed}), False),
        (whole[:40], False),
        ("[]", False),
    ]:
        kept.write_text(text, encoding="utf-8")
        _read.cache_clear()
        _known.cache_clear()
        assert (digest(scripts / "stage.py") != before) == is_used, text
