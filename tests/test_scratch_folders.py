"""Where dumps that are not kept lie: a folder of the environment, for each working directory."""

import pytest

from clqa.errors import InputError
from clqa.scratch_folders import scratch_folder


@pytest.mark.parametrize("environment", [{}, {"CLQA_SCRATCH": ""}, {"TMPDIR": "/local"}])
def test_without_the_variable_there_is_none(environment):
    assert scratch_folder(environment, "/home/one") is None


@pytest.mark.parametrize("given", ["/local/me", "/local//me/", "/local/other/../me"])
def test_a_working_directory_has_its_own_below_it(given):
    folders = {scratch_folder({"CLQA_SCRATCH": given}, path) for path in ("/one", "/two", "/one")}
    assert len(folders) == 2
    assert {folder.rpartition("/")[0] for folder in folders} == {"/local/me"}


@pytest.mark.parametrize("given", ["scratch", "$TMPDIR", "~/x", "/a/{model}", "/a\nb"])
def test_what_is_no_plain_absolute_path_is_refused(given):
    with pytest.raises(InputError, match=r"^CLQA_SCRATCH: expected the absolute path .*; ") as told:
        scratch_folder({"CLQA_SCRATCH": given}, "/one")
    assert "\n" not in str(told.value)


def test_what_is_no_folder_is_refused(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(InputError, match=r"^CLQA_SCRATCH: '.*file' is no folder; "):
        scratch_folder({"CLQA_SCRATCH": str(path)}, "/one")
    assert scratch_folder({"CLQA_SCRATCH": str(tmp_path)}, "/one").startswith(str(tmp_path))
