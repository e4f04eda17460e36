"""The pages of docs/: what they show is run, and what they list is what there is.

A fenced block is a file that begins with its own name (`# mine/run.yaml`) and is written there;
commands (`sh`), which are run in a clone; a session of Python (`>>>`); or, after commands, lines of
their output. A block with `<!-- not run: why -->` before it is left alone.
"""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

import document_library
import document_metrics
from clqa.configs import read_yaml
from clqa.reports import Row
from test_workflow import ROOT, clone

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^(<!-- not run: .+ -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"# ([\w.-]+(?:/[\w.-]+)+)(, at its end)?(?::.*)?\n")
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
# Environments are there already, and take minutes.
PASSED_OVER = ("make environment", ". .venv/bin/activate")


def blocks(path: Path, section: str = "") -> list[tuple[str, str]]:
    """Kind and text of the blocks of a page, or of a section of it, that are to be run."""
    text = path.read_text(encoding="utf-8")
    if section:
        text = re.split(r"^## ", text.split(f"## {section}\n", 1)[1], flags=re.MULTILINE)[0]
    found = BLOCK.findall(text)
    return [(kind, body) for is_left_alone, kind, body in found if not is_left_alone]


def run_commands(tree: Path, text: str) -> str:
    """Run commands as they stand there, with the programs of this environment; their output."""
    lines = [line for line in text.splitlines() if line not in PASSED_OVER]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)],
        cwd=tree,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, text + (done.stdout + done.stderr)[-3000:]
    return done.stdout


def run_page(tree: Path, path: Path, section: str = "") -> None:
    output = ""
    for kind, text in blocks(path, section):
        name = NAME.match(text)
        if name:
            target = tree / name[1]
            target.parent.mkdir(parents=True, exist_ok=True)
            before = target.read_text(encoding="utf-8") if name[2] else ""
            target.write_text(f"{before}\n\n{text}" if before else text, encoding="utf-8")
        elif kind == "sh":
            output = run_commands(tree, text)
        elif kind == "text":
            shown = [line.rstrip() for line in text.splitlines()]
            told = [line.rstrip() for line in output.splitlines()]
            assert follow_each_other(shown, told), f"{path.name} shows\n{text}\nnot\n{output}"
        elif text.startswith(">>> "):
            session = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
            doctest.DocTestRunner().run(session, out=(failures := []).append)
            assert failures == []


def follow_each_other(shown: list[str], told: list[str]) -> bool:
    """Whether the shown lines are in an output, in order; a line may go on beyond what is shown."""
    rest = iter(told)
    return all(any(line.startswith(one) for line in rest) for one in shown)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A clone in which the tutorial has been followed."""
    folder = clone(tmp_path_factory.mktemp("docs") / "clone")
    run_page(folder, DOCS / "tutorial.md")
    return folder


def test_the_tutorial_ends_with_a_table_of_the_model(tree):
    table = (tree / "results/runs/mine/tables/mrr-people-test.md").read_text(encoding="utf-8")
    assert "| ways | **13.6** |" in table


@pytest.mark.parametrize("name", ["metrics.md", "formats.md"])
def test_pages_show_what_comes_out(tree, monkeypatch, name):
    monkeypatch.chdir(tree)
    run_page(tree, DOCS / name)


def test_what_is_added_is_in_the_run(tree):
    run_page(tree, ROOT / "config/README.md", "A model of your own")
    run_page(tree, DOCS / "adding.md")
    head = (tree / "results/runs/more/tables/log_rank-checked-test.tsv").read_text().splitlines()[0]
    assert head.split("\t")[5:] == ["1p", "two-chains", "EPFO"]


def test_the_query_that_is_explained_at_the_front_is_one_of_the_default_run(tree):
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    command = next(line for line in lines if "scripts/explain.py" in line)
    run_commands(tree, "snakemake --cores 2 results/answers/umls-test/all.parquet")
    told = run_commands(tree, command.replace(" --model qto", ""))  # which takes a predictor
    assert "hard answers (1): virus" in told
    assert "(mammal) -interacts_with^-1-> (virus)  observed" in told


def listed(path: Path) -> dict[str, set[str]]:
    """The names in the first column of the table below each heading that names a file."""
    found = {}
    for part in re.split(r"^### ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        heading, _, rest = part.partition("\n")
        cells = re.findall(r"^\| (`.+?) \|", rest.split("\n## ")[0], re.MULTILINE)
        found[heading.strip("`")] = {
            name for cell in cells for name in re.findall("`([^`]+)`", cell)
        }
    return found


def test_the_columns_of_result_files_are_those_that_are_listed(tree):
    tables = listed(DOCS / "formats.md")
    assert tables.pop("runs/{run}/metrics.tsv") == {*Row._fields}
    values = {"queries": "people-test", "model": "ways", "shard": "all"}
    for pattern, names in tables.items():
        if names:
            table = pq.read_table(tree / "results" / pattern.format(**values))
            assert {name for name in table.column_names if "[" not in name} == names, pattern


def test_the_table_of_metrics_is_made_from_the_metrics():
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    assert document_metrics.documented(page) == page
    assert "| `ndcg@K` | NDCG@K | queries |" in page


def test_the_map_of_the_library_has_every_module_once():
    page = (DOCS / "library.md").read_text(encoding="utf-8")
    assert document_library.documented(page) == page
    modules = {path.stem for path in document_library.LIBRARY.glob("*.py")} - {"__init__"}
    assert sorted(document_library.listed(page)) == sorted(modules)


def test_every_named_run_and_every_published_table_is_on_the_page():
    page = (DOCS / "reproducing.md").read_text(encoding="utf-8")
    asked = {
        path.name: {*(read_yaml(path) or {}).get("query_sets", ())}
        for path in (ROOT / "config").glob("*.yaml")
    }
    # Runs over queries of the default run are for trying the workflow out.
    runs = {name for name, query_sets in asked.items() if query_sets - asked["config.yaml"]}
    assert set(re.findall(r"\(\.\./config/([\w.-]+\.yaml)\)", page)) == runs
    tables = read_yaml(ROOT / "workflow/resources/references.yaml")
    rows = re.findall(r"^\| .+? \| (`.*`) \|$", page.split("## What is published")[1], re.MULTILINE)
    assert {name for row in rows for name in re.findall("`([^`]+)`", row)} == tables.keys()


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files_and_headings(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if path.startswith("http"):
            continue
        linked = (DOCS / path).resolve() if path else DOCS / name
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


def anchors(path: Path) -> set[str]:
    """The anchors of the headings of a page, as they are made from its text."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.mark.parametrize("name", PAGES)
def test_blocks_are_of_a_kind_that_is_run_or_said_not_to_be(name):
    kinds = {kind for kind, _ in blocks(DOCS / name)}
    assert kinds <= {"sh", "text", "python", "yaml", "json"}
    for kind, text in blocks(DOCS / name):
        if kind == "yaml":
            yaml.safe_load(text)


@pytest.mark.parametrize("name", PAGES)
def test_the_readme_leads_to_the_page(name):
    assert f"docs/{name}" in (ROOT / "README.md").read_text(encoding="utf-8")
