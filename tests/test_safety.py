"""What the code may not do with what comes from elsewhere, looked up in its source."""

import ast
import re

import pytest

from clqa.errors import InputError
from clqa.published_entries import check_published
from conftest import ROOT

SOURCES = sorted((ROOT / "scripts").rglob("*.py"))
RULES = [*sorted(ROOT.glob("workflow/**/*.smk")), ROOT / "Snakefile", ROOT / "workflow/Snakefile"]

# Names that are not called at all, and those that only the modules named here call.
NEVER = {
    *("eval", "exec", "compile", "__import__", "system", "popen", "Popen", "getoutput"),
    *("check_output", "check_call", "extractall", "mktemp"),
    *("full_load", "unsafe_load", "load_all", "unsafe_load_all", "input"),
}
ONLY_IN = {
    "Unpickler": {"pickles", "tensor_files"},
    "ZipFile": {"unpacking", "array_files", "graphs"},
    "TarFile": set(),
    "memmap": {"outside_scores"},
    "import_module": {"models"},
    "fromfile": set(),
}
# Programs that are started, always as lists of arguments.
PROGRAMS = {"downloads": "pip", "manifests": "git"}


def calls(tree):
    """Calls of a module, each with the dotted name of what is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def keyword(node, name):
    return next((ast.unparse(one.value) for one in node.keywords if one.arg == name), None)


def faults(text: str, module: str) -> list[str]:
    """What a module does that it may not."""
    found = []
    for name, node in calls(ast.parse(text)):
        last = name.rpartition(".")[2]
        what = f"{module}:{node.lineno}: {name}"
        if last in NEVER and not name.startswith("re."):
            found.append(what)
        if last in ONLY_IN and module not in ONLY_IN[last]:
            found.append(what)
        if name in ("np.load", "numpy.load") and keyword(node, "allow_pickle") != "False":
            found.append(what)
        if last == "read_array":
            found += [what] * (keyword(node, "allow_pickle") != "False")
        if name in ("yaml.load", "yaml.load_all", "yaml.Loader"):
            found.append(what)
        if name in ("pickle.load", "pickle.loads", "torch.load", "joblib.load", "pd.read_pickle"):
            found.append(what)
        if keyword(node, "shell") not in (None, "False"):
            found.append(what)
        if name.startswith("subprocess.") and module not in PROGRAMS:
            found.append(what)
        if name == "tarfile.open" and keyword(node, "mode") != "'r:'":
            found.append(what)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_nothing_from_elsewhere_is_run(path):
    assert faults(path.read_text(encoding="utf-8"), path.stem) == []


@pytest.mark.parametrize(
    "text",
    [
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "np.lib.format.read_array(stream)",
        "yaml.load(text, Loader=yaml.Loader)",
        "pickle.load(stream)",
        "pickle.loads(text)",
        "pickle.Unpickler(stream).load()",
        "subprocess.run('ls', shell=True)",
        "subprocess.run(['ls'])",
        "os.system(name)",
        "eval(text)",
        "exec(text)",
        "archive.extractall()",
        "tarfile.open(path)",
        "zipfile.ZipFile(path)",
    ],
)
def test_each_of_it_would_be_found(text):
    assert faults(text, "some_module")


def sections(text: str) -> list[str]:
    """The text of each `output:` and `log:` of the rules of a file."""
    return re.findall(r"^    (?:output|log):\n((?:        .*\n)+)", text, re.MULTILINE)


def test_rules_start_scripts_and_no_shell():
    for path in RULES:
        found = re.findall(r"^\s+(shell|run|wrapper|notebook):", path.read_text(), re.MULTILINE)
        assert found == [], path.name


def test_rules_write_into_the_folder_of_results():
    names = [
        name
        for path in RULES
        for section in sections(path.read_text(encoding="utf-8"))
        for name in re.findall(r'"([^"]+)"', section)
        if "/" in name and not name.startswith("../report/")  # not the words about an output
    ]
    assert len(names) > 50
    for name in names:
        assert name.startswith("results/"), name
        assert ".." not in name


def test_every_wildcard_is_one_of_the_names_that_were_checked():
    text = (ROOT / "workflow/Snakefile").read_text(encoding="utf-8")
    constrained = set(re.findall(r"^    (\w+)=one_of\(", text, re.MULTILINE))
    outputs = "".join(section for path in RULES for section in sections(path.read_text()))
    names = re.findall(r'"results/[^"]*"', outputs)
    assert set(re.findall(r"{(\w+)}", "".join(names))) <= constrained


@pytest.mark.parametrize("role", ["../a", "/a", "a/b", ".a", "", "a\n", "a" + chr(0)])
@pytest.mark.parametrize("layout", ["efo-1", "efok-json", "beta-e"])
def test_roles_of_files_make_no_paths(role, layout):
    source = {"kind": "path", "folder": "."}
    files = {"queries": "q", role: "a"} if layout == "beta-e" else {role: "a"}
    entry = {"published": {"layout": layout, "files": files, "source": source}}
    with pytest.raises(InputError, match="not a role of"):
        check_published("mine", entry)


def test_the_promises_are_written_down():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for word in ("pickle", "archive", "YAML", "Parquet", "report"):
        assert word in text
