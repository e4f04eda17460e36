"""Configuration that cannot be meant is refused in one line that names the key."""

import copy
import datetime
from pathlib import Path

import pytest
import yaml

from clqa.configs import read_catalogue, read_yaml, resolved, validated
from clqa.errors import InputError
from clqa.files import write_json
from clqa.formulas import parse
from clqa.run_configs import read_run
from clqa.shards import MAX_BYTES, asked_count, shards, size
from document_config import documented

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "workflow" / "schemas"
METHODS = {path.stem: path for path in (ROOT / "scripts" / "models").glob("*.py")}
DEFAULT = read_yaml(ROOT / "config" / "config.yaml")


def refusal(function, *arguments) -> str:
    with pytest.raises(InputError) as caught:
        function(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def yaml_file(folder: Path, text: str, name: str = "run.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def run_with(files=(), **changes):
    return read_run({**copy.deepcopy(DEFAULT), **changes}, files, ROOT / "config", METHODS)


# Reading


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", "run.yaml, line 3: the key a is given twice"),
        ("x:\n  - {a: 1, a: 2}\n", "run.yaml, line 2: the key a is given twice"),
        ("2023_02: {}\n", "run.yaml, line 1: YAML reads the key 2023_02 as 202302; quote it"),
        ("x:\n  no: 1\n", "run.yaml, line 2: YAML reads the key no as False; quote it"),
        ("[1, 2]\n", "run.yaml: expected a mapping of keys to values, found [1, 2]"),
        ("a: [\n", "run.yaml: not YAML in UTF-8"),
        ("a: 2020-13-45\n", "run.yaml: not YAML in UTF-8"),
        (f"a: {'9' * 5000}\n", "run.yaml: not YAML in UTF-8"),
        ("a: !!int ''\n", "run.yaml: not YAML in UTF-8"),
        ("a: !!bool x\n", "run.yaml: not YAML in UTF-8"),
        (f"a: {'[' * 3000}{']' * 3000}\n", "run.yaml: not YAML in UTF-8"),
    ],
)
def test_yaml_that_says_two_things_is_refused(tmp_path, text, expected):
    assert expected in refusal(read_yaml, yaml_file(tmp_path, text))


BOMBS = {
    "lists": ("[1, 1]", "[{0}, {0}]"),
    "mappings": ("{x: 1}", "{{a: {0}, b: {0}}}"),
    "merged": ("{x: 1}", "{{<<: [{0}, {0}]}}"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_aliases_that_stand_for_too_much_are_refused_at_once(tmp_path, kind):
    first, step = BOMBS[kind]
    lines = [
        f"a0: &a0 {first}",
        *(f"a{n}: &a{n} {step.format(f'*a{n - 1}')}" for n in range(1, 60)),
    ]
    text = refusal(read_yaml, yaml_file(tmp_path, "\n".join(lines)))
    assert "run.yaml: its aliases (*) stand for too many values" in text


def test_aliases_may_spare_writing(tmp_path):
    text = "a: &a [1, 2]\n" + "".join(f"b{n}: {{x: *a, y: *a}}\n" for n in range(500))
    assert read_yaml(yaml_file(tmp_path, text))["b499"] == {"x": [1, 2], "y": [1, 2]}


def test_a_missing_file_is_named(tmp_path):
    assert "run.yaml: cannot be read" in refusal(read_yaml, tmp_path / "run.yaml")


def test_merge_keys_may_be_overridden(tmp_path):
    path = yaml_file(tmp_path, "a: &base {x: 1}\nb:\n  <<: *base\n  x: 2\n")
    assert read_yaml(path) == {"a": {"x": 1}, "b": {"x": 2}}


def test_a_shape_may_not_have_the_name_of_a_group(tmp_path):
    yaml_file(tmp_path, "EPFO: r1(s1,f)\n", "shapes.yaml")
    path = yaml_file(tmp_path, f"name: mine\ncatalogues: ['{tmp_path}']\nshapes: [EPFO]\n")
    changes = {"name": "mine", "catalogues": [str(tmp_path)], "shapes": ["EPFO"]}
    with pytest.raises(InputError, match="'EPFO' is the name of a group"):
        read_run({**copy.deepcopy(DEFAULT), **changes}, [path], ROOT / "config", METHODS)


def test_a_number_with_a_point_is_no_integer():
    with pytest.raises(InputError, match="seed"):
        read_run({**copy.deepcopy(DEFAULT), "seed": 1.0}, [], ROOT / "config", METHODS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sets: [top@10, best@3]", "run.yaml: sets: unknown rule 'best@3' for answer sets; known"),
        ("sets: [threshold@1.5]", "run.yaml: sets: threshold@1.5: expected a number from 0 to 1"),
        ("sets: []", "run.yaml: sets: "),
        ("truths: [easy]", "run.yaml: truths[0]: unknown value easy; known: hard, full"),
        ("beta: 0", "run.yaml: beta: 0 is less than or equal to the minimum of 0"),
        ("beta: -2.5", "run.yaml: beta: -2.5 is less than or equal to the minimum of 0"),
        ("beta: .inf", "run.yaml: beta: expected a number, found inf"),
    ],
)
def test_answer_sets_that_cannot_be_made_are_refused(tmp_path, text, expected):
    path = yaml_file(tmp_path, f"name: mine\n{text}\n")
    assert expected in refusal(lambda: run_with([path], **read_yaml(path)))


def test_models_run_on_the_partner_only_if_a_rule_for_answer_sets_needs_it():
    assert run_with().tuning_sets("umls-test") == []
    for rule in ("tuned@macro", "conformal@0.9", "conformal-query@0.9"):
        run = run_with(sets=["top@10", rule])
        assert run.tuning_sets("umls-test") == ["umls-valid"]
        assert run.tuning_sets("umls-valid") == []


def test_a_catalogue_folder_that_is_not_there_is_named(tmp_path):
    path = yaml_file(tmp_path, "name: mine\ncatalogues: [nowhere]\n")
    changes = {"name": "mine", "catalogues": ["nowhere"]}
    with pytest.raises(InputError, match="catalogues: no folder nowhere"):
        read_run({**copy.deepcopy(DEFAULT), **changes}, [path], ROOT / "config", METHODS)


# Schemas


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.yaml")), ids=lambda path: path.name)
def test_schemas_describe_every_key_and_refuse_others(path):
    root = read_yaml(path)

    def check(schema, place):
        if "properties" in schema:
            # Settings of a method of one's own are checked against its source.
            is_open = place.endswith(".settings")
            assert schema.get("additionalProperties") is is_open, place
        for key, value in schema.get("properties", {}).items():
            assert "description" in resolved(value, root), f"{place}.{key}"
        for key in schema.keys() - {"allOf", "if", "then"}:
            parts = schema[key] if isinstance(schema[key], list) else [schema[key]]
            for part in parts:
                if isinstance(part, dict):
                    check(part, f"{place}.{key}")

    check(root, path.name)


def test_defaults_are_filled_in_in_the_order_of_the_schema():
    schema = read_yaml(SCHEMAS / "query_sets.schema.yaml")
    given = {"a": {"sampling": {"tries": 5, "count": 2}, "split": "test", "graph": "g"}}
    sampling = validated(given, schema, "file")["a"]["sampling"]
    assert list(sampling)[:2] == ["count", "negated_count"]
    assert (sampling["count"], sampling["draw"], sampling["tries"]) == (2, "answers", 5)
    assert given["a"]["sampling"] == {"tries": 5, "count": 2}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"metric": ["mrr"]}, "unknown key metric (did you mean metrics?); known: name, "),
        ({"name": 202302}, "name: expected text, found 202302 (YAML does not read it as text"),
        ({"name": False}, "name: expected text, found False (YAML does not read it as text"),
        ({"name": "a/b"}, "name: 'a/b' is not allowed; expected: Letters, digits and"),
        ({"name": ""}, "name: '' is not allowed"),
        ({"models": [1]}, "models[0]: expected text, found 1"),
        ({"ties": ["optimist"]}, "ties[0]: unknown value optimist (did you mean optimistic?)"),
        ({"filters": ["raw"]}, "filters[0]: unknown value raw; known: observed-and-full, full"),
        ({"seed": -1}, "seed: -1 is less than the minimum of 0"),
        ({"shards": "some"}, "shards: "),
        ({"shards": 0}, "shards: "),
        ({"keep_predictions": "no"}, "keep_predictions: expected true or false, found no"),
    ],
)
def test_run_files_with_wrong_keys_and_values_are_refused(changes, expected):
    assert expected in refusal(lambda: run_with(**changes))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"seed": 10**30}, "seed: expected a whole number from -9223372036854775808 to 2^64 - 1"),
        ({"seed": 1 << 20000}, "seed: expected a whole number"),
        ({"seed": float("nan")}, "seed: expected a number, found nan"),
        ({"shards": float("inf")}, "shards: expected a number, found inf"),
        ({"shards": 10**9}, "shards: "),
        ({"metrics": [f"hits@{10**20}"]}, "metrics: 'hits@100000000000000000000': K must be"),
        (
            {"metrics": ["recall@3"], "filters": ["none", "full-only"]},
            "recall@3 has no value with filters: [none, ...]",
        ),
        (
            {"metrics": ["mrr", "recall@3"], "averaging": ["answer"]},
            "recall@3 has no value with averaging: [answer, ...]",
        ),
        ({"candidates": ["tails"]}, "candidates[0]: unknown value tails; known: all, typed"),
        ({"missing": "drop"}, "missing: unknown value drop"),
        ({"metrics": ["hits@2147483648"]}, "metrics: 'hits@2147483648': K must be"),
        ({"metrics": ["hits@" + "9" * 5000]}, "metrics: 'hits@9999"),
        ({"name": "a\n"}, "name: 'a\\n' is not allowed"),
        ({"name": "a" * 101}, "has 101 characters; expected 100 at most"),
        ({"name": datetime.date(2020, 1, 1)}, "name: YAML reads it as date"),
        ({"catalogues": ["a\0b"]}, "catalogues[0]: 'a\\x00b' holds a character"),
        ({"catalogues": ["\ud800"]}, "catalogues[0]: '\\ud800' holds a character"),
    ],
)
def test_values_that_no_code_can_take_are_refused(changes, expected):
    assert expected in refusal(lambda: run_with(**changes))


def test_what_is_ranked_beside_the_usual_is_what_was_asked_for():
    run = run_with(filters=["none", "observed-and-full-and-test"], candidates=["typed", "all"])
    assert run.further_filters() == ["observed-and-full-and-test"]
    assert run.competitions()[0] == "none,typed"
    assert len(run.competitions()) == 4


def test_a_list_that_holds_itself_is_refused(tmp_path):
    content = read_yaml(yaml_file(tmp_path, "models: &a [*a]\n"))
    assert "holds itself" in refusal(lambda: run_with(**content))


USER_SCHEMAS = ("config", "graphs", "query_sets", "models", "shapes")


@pytest.mark.parametrize("name", USER_SCHEMAS)
def test_every_number_of_a_schema_is_bounded_on_both_sides(name):
    def check(schema, place):
        kinds = schema.get("type", ())
        if {"integer", "number"} & ({kinds} if isinstance(kinds, str) else {*kinds}):
            if place.endswith("triple.items"):  # ids as a file has them, compared as text
                return
            assert {"minimum", "exclusiveMinimum"} & schema.keys(), place
            assert abs(schema["maximum"]) < 2**64, place
        for key, value in schema.items():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, dict):
                    check(part, f"{place}.{key}")

    check(read_yaml(SCHEMAS / f"{name}.schema.yaml"), name)


@pytest.mark.parametrize("name", ["a\n", "", "a/b", "../a", ".a", "a b", "ä", "a" * 101])
@pytest.mark.parametrize("kind", ["graphs", "query_sets", "models", "shapes"])
def test_names_that_make_no_folder_are_refused_in_every_catalogue(tmp_path, kind, name):
    entry = yaml.safe_load((ROOT / "config" / f"{kind}.yaml").read_text(encoding="utf-8"))
    (tmp_path / f"{kind}.yaml").write_text(yaml.safe_dump({name: next(iter(entry.values()))}))
    assert f"{kind}.yaml: " in refusal(lambda: run_with(catalogues=[str(tmp_path)]))


@pytest.mark.parametrize(
    "sampling",
    [
        {"count": 10**30},
        {"count": 10**8},
        {"max_hard": 2**31},
        {"max_easy": 10**19},
        {"max_retracted": 10**30},
        {"min_links": 256},
        {"tries": 10**10},
        {"tries": "many"},
        {"quotas": {"answers": 10**8}},
        {"quotas": {"max_share": float("nan")}},
        {"quotas": {"share_from": float("inf")}},
    ],
    ids=str,
)
def test_numbers_of_a_sampling_are_bounded(tmp_path, sampling):
    entry = {"graph": "umls", "split": "test", "sampling": sampling}
    yaml_file(tmp_path, yaml.safe_dump({"mine": entry}), "query_sets.yaml")
    text = refusal(lambda: run_with(catalogues=[str(tmp_path)]))
    assert "query_sets.yaml: mine.sampling." in text


@pytest.mark.parametrize("name", [".", "..", "a/b", "a\n", ""])
def test_an_archive_is_kept_under_a_plain_name(tmp_path, name):
    archive = {"name": name, "urls": ["https://example.org/a.zip"], "checksum": "unknown"}
    entry = {
        "source": {"kind": "urls", "archive": archive},
        "files": {"train": "a", "valid": "b", "test": "c"},
    }
    yaml_file(tmp_path, yaml.safe_dump({"mine": entry}), "graphs.yaml")
    text = refusal(lambda: run_with(catalogues=[str(tmp_path)]))
    assert "mine.source.archive.name: " in text


@pytest.mark.parametrize(
    "formula", ["(" * 450 + "r1(s1,f)" + ")" * 450, "r1(s1,f)" + "&r1(s1,f)" * 200]
)
def test_formulas_that_are_too_deep_or_too_long_are_refused(tmp_path, formula):
    yaml_file(tmp_path, yaml.safe_dump({"odd": formula}), "shapes.yaml")
    text = refusal(lambda: run_with(catalogues=[str(tmp_path)], shapes=["1p", "odd"]))
    assert "shapes.yaml: odd: " in text


@pytest.mark.parametrize(
    ("method", "settings", "expected"),
    [
        ("constant", {"value": "high"}, "settings.value: expected a number, found 'high'"),
        ("constant", {"value": True}, "settings.value: expected a number, found True"),
        ("constant", {"value": float("nan")}, "mine.settings.value: expected a number, found nan"),
        ("random", {"seed": "one"}, "settings.seed: expected a whole number, found 'one'"),
        ("random", {"seed": 1.5}, "settings.seed: expected a whole number, found 1.5"),
        ("random", {"seed": datetime.date(2020, 1, 1)}, "settings.seed: YAML reads it as date"),
    ],
)
def test_settings_have_the_type_that_the_method_says(tmp_path, method, settings, expected):
    yaml_file(
        tmp_path, yaml.safe_dump({"mine": {"method": method, "settings": settings}}), "models.yaml"
    )
    assert expected in refusal(lambda: run_with(catalogues=[str(tmp_path)]))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"settings": {}}, "mine: expected one of the keys method and imported"),
        ({"method": "random", "imported": {"scores": "a.npy"}}, "mine: expected one of the keys"),
        ({"imported": {}}, "mine.imported: the key scores is missing"),
        ({"imported": {"scores": "a.csv"}}, "imported.scores: 'a.csv' ends in none of .npy"),
        ({"imported": {"scores": "a.tsv"}}, "imported.unlisted is missing"),
        ({"imported": {"scores": "a.npy", "unlisted": 0}}, "imported.unlisted: only of lists"),
        ({"imported": {"scores": "a.npz", "unlisted": "?"}}, "mine.imported.unlisted: '?' is"),
        ({"imported": {"scores": "{set}.npy"}}, "imported.scores: {set} is not filled in"),
        (
            {"imported": {"scores": "{shape}.npy", "queries": "a.txt"}},
            "imported.queries: expected {shape}, as scores has it",
        ),
        ({"imported": {"scores": "a.npy"}, "seeds": [1, 2]}, "mine: seeds: not for scores from"),
    ],
    ids=str,
)
def test_keys_of_scores_from_files_are_checked(tmp_path, entry, expected):
    yaml_file(tmp_path, yaml.safe_dump({"mine": entry}), "models.yaml")
    assert expected in refusal(lambda: run_with(catalogues=[str(tmp_path)]))


def test_cut_lists_stand_for_the_models_of_two_bounds(tmp_path):
    entries = {
        "cut": {"imported": {"scores": "{shape}.npz", "unlisted": "bounds"}},
        "whole": {
            "imported": {"scores": "{queries}.npy", "queries": "rows.txt", "entities": "a.tsv"}
        },
    }
    yaml_file(tmp_path, yaml.safe_dump(entries), "models.yaml")
    run = run_with(
        catalogues=[str(tmp_path)], models=["whole", "cut", "random"], shapes=["1p", "2p"]
    )
    assert run.settings["models"] == ["whole", "cut.best", "cut.worst", "random"]
    assert (run.outside(bounded=False), run.outside(bounded=True)) == (["whole"], ["cut"])
    shard = next(iter(run.shards["umls-test"]))
    paths = {
        key: [str(tmp_path / name) for name in names]
        for key, names in (("scores", ["1p.npz", "2p.npz"]), ("rows", ["1p.json", "2p.json"]))
    }
    assert run.score_files("cut", "umls-test", shard) == paths
    assert run.score_files("whole", "umls-test", shard) == {
        "scores": [str(tmp_path / "umls-test.npy")],
        "rows": [str(tmp_path / "rows.txt")],
        "own_entities": str(tmp_path / "a.tsv"),
    }


def test_a_missing_key_is_named_with_its_meaning():
    schema = read_yaml(SCHEMAS / "query_sets.schema.yaml")
    message = refusal(validated, {"mine": {"split": "test"}}, schema, "query_sets.yaml")
    assert message.startswith("query_sets.yaml: mine: the key graph is missing (The graph that")


def test_a_misspelt_key_is_told_before_the_missing_one_that_it_stands_for():
    schema = read_yaml(SCHEMAS / "query_sets.schema.yaml")
    message = refusal(validated, {"mine": {"grpah": "UMLS", "split": "test"}}, schema, "file")
    assert message.startswith("file: mine: unknown key grpah (did you mean graph?)")


def test_names_in_catalogues_are_checked(tmp_path):
    yaml_file(tmp_path, '"a/b": r1(s1,f)\n', "shapes.yaml")
    schema = read_yaml(SCHEMAS / "shapes.schema.yaml")
    message = refusal(read_catalogue, "shapes", [str(tmp_path)], schema)
    assert "shapes.yaml: 'a/b' is not allowed; expected: Name of the shape" in message


@pytest.mark.parametrize("name", ["FB15k-237-betae", "NELL.v2_x", "m_1-2.3", "0", "a+b"])
def test_names_may_have_dots_dashes_and_underscores(name):
    assert run_with(name=name).settings["name"] == name


# Names


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"query_sets": ["umls-tset"]}, "unknown query set 'umls-tset' (did you mean umls-test?)"),
        ({"shapes": ["1p", "9p"]}, "unknown shape '9p'"),
        ({"models": ["oracel"]}, "unknown model oracel (did you mean oracle?); known: "),
        ({"metrics": ["mmr"]}, "no metric 'mmr'; known are mrr, mr, hits@K"),
        ({"metrics": ["hits@0"]}, "hits@0"),
    ],
)
def test_unknown_names_stop_with_the_known_ones(changes, expected):
    assert expected in refusal(lambda: run_with(**changes))


def test_the_message_names_the_file_that_has_the_key(tmp_path):
    path = yaml_file(tmp_path, "name: mine\nmodels: [nobody]\n")
    message = refusal(lambda: run_with([path], name="mine", models=["nobody"]))
    assert message.startswith(f"{path}: models: unknown model nobody")
    message = refusal(lambda: run_with([path], name="mine", shapes=["9p"]))
    assert message.startswith("--config: shapes: unknown shape")


def test_a_run_without_a_name_of_its_own_is_refused(tmp_path):
    path = yaml_file(tmp_path, "models: [oracle]\n")
    assert "run.yaml: the key name is missing" in refusal(lambda: run_with([path]))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("{graph: ulms, split: test}", "mine.graph: unknown graph ulms (did you mean umls?)"),
        ("{graph: umls, split: test, shapes: [9p]}", "mine.shapes: unknown shape '9p'"),
        ("{graph: umls, split: test, valid: no}", "mine.valid: expected text, found False"),
        ("{graph: umls, split: test, valid: umls}", "mine.valid: unknown query set umls (did"),
        ("{graph: umls, split: test, valid: umls-test}", "expected the split valid of umls"),
        ("{graph: umls, split: tests}", "mine.split: unknown value tests (did you mean test?)"),
        ("{graph: umls, split: test, sampling: {n: 3}}", "mine.sampling: unknown key n; known: "),
    ],
)
def test_query_sets_that_do_not_fit_together_are_refused(tmp_path, entry, expected):
    yaml_file(tmp_path, f"mine: {entry}\n", "query_sets.yaml")
    assert expected in refusal(lambda: run_with(catalogues=[str(tmp_path)]))


def test_a_catalogue_of_ones_own_adds_names_but_replaces_none(tmp_path):
    yaml_file(tmp_path, "mine: {graph: umls, split: test, seed: 5}\n", "query_sets.yaml")
    run = run_with(catalogues=[str(tmp_path)], query_sets=["mine", "umls-test"])
    assert (run.query_sets["mine"]["seed"], run.query_sets["umls-test"]["seed"]) == (5, 0)
    yaml_file(tmp_path, "umls-test: {graph: umls, split: test}\n", "query_sets.yaml")
    assert "is taken" in refusal(lambda: run_with(catalogues=[str(tmp_path)]))


def test_the_default_run_has_every_embedded_graph_and_its_valid_partner():
    run = run_with([ROOT / "config" / "config.yaml"])
    assert run.partners() == ["kinships-valid", "nations-valid", "umls-valid"]
    assert all(list(run.shards[name]) == ["all"] for name in run.settings["query_sets"])
    assert run.formulas("umls-test", "all") == {
        shape: run.shapes[shape] for shape in run.settings["shapes"]
    }


NAMED = [path for path in sorted((ROOT / "config").glob("*.yaml")) if "name" in read_yaml(path)]


@pytest.mark.parametrize("path", NAMED, ids=lambda path: path.stem)
def test_named_runs_ask_for_what_there_is(path):
    run = run_with([path], **read_yaml(path))
    assert run.settings["name"] == path.stem.replace("config", "default")
    asked = [*run.settings["query_sets"], *run.partners()]
    assert {run.query_sets[name]["graph"] for name in asked} <= run.graphs.keys()
    for name in run.published(asked):
        wanted = set(run.settings["shapes"]) & set(run.query_sets[name]["shapes"])
        assert wanted == {shape for shapes in run.shards[name].values() for shape in shapes}


def test_plus_h_evaluates_both_filters_of_the_release():
    run = run_with([ROOT / "config" / "plus-h.yaml"], **read_yaml(ROOT / "config" / "plus-h.yaml"))
    filters = {name: run.reading(name, "2in")["filter"] for name in run.settings["query_sets"]}
    assert filters == {
        "fb15k-237-plus-h-test": "corrected",
        "fb15k-237-plus-h-test-released": "released",
        "nell995-plus-h-test": "corrected",
        "nell995-plus-h-test-released": "released",
        "icews18-plus-h-test": "corrected",
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("layout: beta-e, filter: released", "published.filter: only the layout plus-h has two"),
        ("layout: plus-h, filter: real", "published.filter: unknown value real"),
        ("layout: plus-h", "published.files.easy is missing"),
        ("layout: plus-h", None),
    ],
)
def test_keys_of_the_plus_h_layout_are_checked(tmp_path, change, expected):
    files = "queries: q.pkl, easy: e.pkl, hard: h.pkl, reductions: folder"
    if expected and "missing" in expected:
        files = "queries: q.pkl, hard: h.pkl"
    if expected and "beta-e" in change:
        files = "queries: q.pkl"
    expected = expected or "published.files.reductions: a folder, which ends in /, is for reduct"
    text = (
        "mine:\n  graph: umls\n  split: test\n  published:\n"
        f"    {{ {change}, source: {{ kind: path, folder: . }}, files: {{ {files} }} }}\n"
    )
    yaml_file(tmp_path, text, "query_sets.yaml")
    assert expected in refusal(lambda: run_with(catalogues=[str(tmp_path)]))


def test_counts_are_of_shapes_that_there_are(tmp_path):
    text = (
        "mine:\n  graph: umls\n  split: test\n  published:\n    layout: beta-e\n"
        "    source: { kind: path, folder: . }\n    files: { queries: q.pkl }\n"
        "    counts: { 1p: 3, 1q: 4 }\n"
    )
    yaml_file(tmp_path, text, "query_sets.yaml")
    expected = "mine.published.counts: unknown shape '1q'"
    assert expected in refusal(lambda: run_with(catalogues=[str(tmp_path)]))
    listed = text.replace("1q: 4", "2p: 4").replace("  split", "  shapes: [1p]\n  split")
    yaml_file(tmp_path, listed, "query_sets.yaml")
    expected = "mine.published.counts: unknown shape '2p'"
    assert expected in refusal(lambda: run_with(catalogues=[str(tmp_path)]))


# Shards


def test_auto_fills_shards_up_to_the_bound():
    half = MAX_BYTES // 2
    sizes = {"a": half, "b": half, "c": 1, "d": half, "e": None, "f": 1}
    assert shards(sizes, "auto") == {
        "part-1": ("a", "b"),
        "part-2": ("c", "d"),
        "e": ("e",),
        "f": ("f",),
    }


def test_a_star_in_shapes_stands_for_any_text():
    settings = {**copy.deepcopy(DEFAULT), "shapes": ["2*", "1p", "2i"], "models": ["oracle"]}
    run = read_run(settings, [], ROOT / "config", METHODS)
    listed = [name for name in run.shapes if name.startswith("2")]
    assert run.settings["shapes"] == [*listed, "1p"]
    assert {"2p", "2i", "2in", "2u", "2u-DM"} <= set(listed)


def test_a_pattern_that_fits_no_shape_is_refused():
    settings = {**copy.deepcopy(DEFAULT), "shapes": ["efok*"]}
    with pytest.raises(InputError, match=r"shapes: unknown shape 'efok\*'"):
        read_run(settings, [], ROOT / "config", METHODS)


def test_models_over_links_ask_for_trees_of_sets():
    settings = {**copy.deepcopy(DEFAULT), "shapes": ["1p", "2m"], "models": ["constant"]}
    assert read_run(settings, [], ROOT / "config", METHODS).settings["shapes"] == ["1p", "2m"]
    settings["models"] = ["constant", "fit"]
    assert read_run(settings, [], ROOT / "config", METHODS).settings["models"][1] == "fit"
    settings["models"] = ["constant", "qto"]
    words = r"shapes\.yaml: 2m: .* is no tree of sets .* as the model qto needs"
    with pytest.raises(InputError, match=words):
        read_run(settings, [], ROOT / "config", METHODS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r1(s1,f)", 7),
        ("r1(s1,f)&!r2(s2,f)", 3),
        ("!(!r1(s1,f)&!r2(s2,f))", 7),
        ("!(r1(s1,e1)&r2(e1,f))&r3(s2,f)", 3),
    ],
)
def test_shapes_with_a_negation_may_have_a_count_of_their_own(text, expected):
    assert asked_count({"count": 7, "negated_count": 3}, parse(text)) == expected
    assert asked_count({"count": 7, "negated_count": None}, parse(text)) == 7


def test_shards_are_called_by_their_shape_or_all():
    sizes = dict.fromkeys("abcd", 1)
    assert shards(sizes, "auto") == {"all": ("a", "b", "c", "d")}
    assert shards({"a": 1}, "auto") == {"a": ("a",)}
    assert shards(sizes, "per-shape") == {shape: (shape,) for shape in "abcd"}
    assert shards(sizes, 3) == {"a": ("a",), "b": ("b",), "part-1": ("c", "d")}
    assert shards(sizes, 9) == shards(sizes, "per-shape")
    assert shards({}, 2) == {}


def test_shapes_with_other_free_variables_are_in_other_shards():
    sizes, pairs = dict.fromkeys("abcde", 1), dict.fromkeys("be", ("f1", "f2"))
    assert shards(sizes, "auto", pairs) == {"part-1": ("a", "c", "d"), "part-2": ("b", "e")}
    assert shards(sizes, "per-shape", pairs) == {shape: (shape,) for shape in "acdbe"}
    assert shards(sizes, 1, pairs) == shards(sizes, "auto", pairs)


def test_a_shape_of_unknown_size_or_above_the_bound_stays_alone():
    assert shards({"a": None, "b": None}, "auto") == {"a": ("a",), "b": ("b",)}
    assert shards({"a": 2 * MAX_BYTES, "b": 1}, "auto") == {"a": ("a",), "b": ("b",)}


def test_predictions_have_four_bytes_per_entity():
    assert size(n_queries=5000, n_entities=14505) == 290_100_000


def test_a_shape_called_like_a_shard_is_refused():
    assert "choose another" in refusal(shards, {"part-1": 1, "a": 1, "b": 1, "c": 1}, 3)


# The page about the keys


def test_the_page_has_the_words_of_the_schemas():
    page = (ROOT / "config" / "README.md").read_text(encoding="utf-8")
    assert page == documented(page, SCHEMAS), "run `make docs`"


def test_explanations_of_other_rules_are_one_line():
    schema = {"type": "object", "properties": {"a": {"minItems": 2, "type": "array"}}}
    assert "a: [] is too short" in refusal(validated, {"a": []}, schema, "file")


def test_shards_stay_when_a_file_that_was_taken_is_gone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = ("train", "valid", "test")
    for part in parts:
        (tmp_path / f"{part}.txt").write_text("a\tlikes\tb\n")
    files = ", ".join(f"{part}: {part}.txt" for part in parts)
    graph = f"mine: {{ source: {{ kind: path, folder: . }}, files: {{ {files} }} }}\n"
    yaml_file(tmp_path, graph, "graphs.yaml")
    queries = "mine-test: { graph: mine, split: test, sampling: { count: 20 } }\n"
    yaml_file(tmp_path, queries, "query_sets.yaml")
    mine = {"catalogues": [str(tmp_path)], "query_sets": ["mine-test"], "shapes": ["1p", "2p"]}
    before = run_with(**mine).shards["mine-test"]
    assert list(before) == ["all"]
    (tmp_path / "test.txt").unlink()
    assert list(run_with(**mine).shards["mine-test"]) == ["1p", "2p"]
    taken = {part: {"path": f"{part}.txt", "size": 10} for part in parts}
    (tmp_path / "results/graphs/mine").mkdir(parents=True)
    write_json(tmp_path / "results/graphs/mine/receipt.json", {"files": taken})
    assert run_with(**mine).shards["mine-test"] == before
