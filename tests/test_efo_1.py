"""CSV files of EFO-1-QA: what they mean, how they are read, what is refused."""

import copy
import csv
import json
import lzma
import random

import pytest

import list_shapes
from clqa.canonical_forms import canonical
from clqa.configs import matching, read_yaml
from clqa.errors import InputError
from clqa.formulas import parse as parse_formula
from clqa.formulas import to_text as formula_text
from clqa.grounded_operators import filled, settled
from clqa.operator_strings import FORMS, Operator, in_order, parse, to_formula
from clqa.published_entries import ROLES, check_published
from clqa.published_sets import read_published
from clqa.query_sets import read_answers, read_queries
from clqa.releases import READERS
from clqa.run_configs import read_run
from conftest import ROOT
from published_files import imported, write_small_graph
from split_answers import split_answers

TRAIN = [(0, 0, 1), (0, 0, 2), (1, 2, 3), (3, 0, 4), (4, 2, 5), (2, 2, 5), (1, 0, 0), (5, 0, 3)]
TEST = [(2, 2, 4), (0, 0, 5), (3, 2, 1), (5, 2, 0)]
# Types of one, two and three entities: chains, unions under projections, complements, differences.
STRINGS = {
    "type0000": "(p,(e))",
    "type0001": "(p,(p,(e)))",
    "type0005": "(p,(u,(p,(e)),(p,(e))))",
    "type0009": "(i,(n,(p,(p,(e)))),(p,(e)))",
    "type0012": "(i,(i,(n,(p,(e))),(p,(e))),(n,(p,(e))))",
    "type0020": "(p,(i,(n,(u,(p,(e)),(p,(e)))),(p,(e))))",
    "type0021": "(i,(n,(p,(u,(p,(e)),(p,(e))))),(p,(e)))",
}


def edges(triples):
    return {edge for h, r, t in triples for edge in ((h, r, t), (t, r ^ 1, h))}


def answers(query, graph):
    """Answers of a query as its JSON spells it, by the definition of each operator."""
    sign, arguments = query["o"], query["a"]
    if sign == "e":
        return set(arguments)
    if sign == "p":
        (relation,), inner = arguments
        found = answers(inner, graph)
        return {t for h, r, t in graph if r == relation and h in found}
    if sign == "n":
        return set(range(6)) - answers(arguments, graph)
    first, *others = (answers(one, graph) for one in arguments)
    if sign in "iI":
        return first.intersection(*others)
    return first.union(*others) if sign in "uU" else first.difference(*others)


def written(operator):
    """An operator with ids as JSON has it."""
    sign, parts, number = operator
    if sign == "e":
        return {"o": "e", "a": [number]}
    inner = [written(part) for part in parts]
    if sign == "p":
        return {"o": "p", "a": [[number], *inner]}
    return {"o": sign.lower() if sign in "IU" else sign, "a": inner[0] if sign == "n" else inner}


def numbered(text):
    return in_order(parse(text))


def rows_of(text, n_rows, seed=0):
    """Random queries with hard answers, in all forms."""
    random_ids, rows, seen = random.Random(seed), [], set()
    observed, full = edges(TRAIN), edges(TRAIN + TEST)
    original = parse(text)
    for _ in range(5000):
        entities = [random_ids.randrange(6) for _ in range(text.count("e"))]
        relations = [random_ids.randrange(4) for _ in range(text.count("p"))]
        query = written(filled(original, entities, relations))
        easy = answers(query, observed)
        hard = answers(query, full) - easy
        if hard and str(query) not in seen and len(rows) < n_rows:
            seen.add(str(query))
            forms = {
                form: json.dumps(written(filled(rewrite(original), entities, relations)))
                for form, rewrite in FORMS.items()
            }
            rows.append({"easy_answers": sorted(easy), "hard_answers": sorted(hard), **forms})
    assert len(rows) == n_rows
    return rows


def write_type(folder, name, rows):
    folder.mkdir(exist_ok=True)
    with (folder / f"data-{name}.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return {name: f"data-{name}.csv"}


@pytest.fixture
def small(tmp_path):
    write_small_graph(tmp_path, TRAIN, test=TEST)
    return tmp_path


def read(small, files, shapes, **options):
    imported(small, small / "release", files, shapes, layout="efo-1", **options)
    return read_queries(small / "queries.parquet").shapes


def formula_of(text):
    return formula_text(to_formula(numbered(text)))


def refusal(small, files, shapes, **options):
    with pytest.raises(InputError) as caught:
        read(small, files, shapes, **options)
    assert "\n" not in str(caught.value)
    assert not list(small.glob("*.parquet"))
    return str(caught.value)


def test_answers_of_each_type_are_those_of_its_operators(small):
    files, asked = {}, {}
    for name, text in STRINGS.items():
        files |= write_type(small / "release", name, rows_of(text, 5))
        asked[name] = formula_of(text)
    read(small, files, asked)
    split_answers(small / "graph.npz", small / "queries.parquet", small / "answers.parquet", "test")
    found, published = (
        read_answers(small / "answers.parquet"),
        read_published(small / "published.parquet"),
    )
    assert set(published) == set(STRINGS)
    for name in STRINGS:
        for kind in ("easy", "hard"):
            own, other = getattr(found.shapes[name], kind), published[name][kind]
            assert own.offsets.tolist() == other.offsets.tolist()
            assert own.values.tolist() == other.values.tolist()


def test_a_query_is_read_as_it_is_written(small):
    # Relation 3 of (entity 4 by relation 1) united with (entity 2 by relation 0); arguments turned.
    union = {
        "o": "u",
        "a": [
            {"o": "p", "a": [[0], {"o": "e", "a": [2]}]},
            {"o": "p", "a": [[1], {"o": "p", "a": [[2], {"o": "e", "a": [4]}]}]},
        ],
    }
    row = {"easy_answers": "[0]", "hard_answers": "[3, 1]", "original": json.dumps(union)}
    files = write_type(small / "release", "type0007", [row])
    rows = read(small, files, {"union": "r1(s1,f)|r2(s2,e1)&r3(e1,f)"})["union"]
    assert rows.anchors.tolist() == [[2, 4]]
    assert rows.relations.tolist() == [[0, 2, 1]]
    assert read_published(small / "published.parquet")["union"]["hard"].values.tolist() == [1, 3]


def test_another_form_can_be_read(small):
    files = write_type(small / "release", "type0005", rows_of(STRINGS["type0005"], 4))
    shapes = {"own": formula_of("(u,(p,(p,(e))),(p,(p,(e))))")}
    rows = read(small, files, shapes, form="DNF")["own"]
    assert rows.relations.shape == (4, 4)
    # Both branches end in the projection that the original form has once.
    assert all(rows.relations[:, 1] == rows.relations[:, 3])
    assert "no file has queries of" in refusal_of_original(small, files, shapes)


def refusal_of_original(small, files, shapes):
    for path in small.glob("*.parquet"):
        path.unlink()
    return refusal(small, files, shapes)


def test_types_of_one_formula_are_told_apart_by_the_roles_of_their_files(small):
    texts = {
        "type0038": "(i,(i,(p,(e)),(p,(e))),(p,(p,(e))))",
        "type0047": "(i,(i,(p,(e)),(p,(p,(e)))),(p,(e)))",
    }
    files = {}
    for seed, (name, text) in enumerate(texts.items()):
        files |= write_type(small / "release", name, rows_of(text, 2 + seed, seed))
    formula = formula_of(texts["type0038"])
    text = refusal(small, files, {"own": formula})
    assert (
        "several files have queries of this formula (data-type0038.csv, data-type0047.csv)" in text
    )
    found = read(small, files, {"type0038": formula, "type0047": formula})
    assert [len(rows.anchors) for rows in found.values()] == [2, 3]


def broken(rows, place, **cells):
    return [{**row, **cells} if number == place else row for number, row in enumerate(rows)]


ONE = STRINGS["type0005"]
P = {"o": "p", "a": [[0], {"o": "e", "a": [1]}]}


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"original": json.dumps(P)}, "query 1: it is (p,(e)), and not (p,(u,(p,(e)),(p,(e))))"),
        ({"original": json.dumps({"o": "q", "a": [P]})}, "query 1: unknown operator 'q'"),
        ({"original": "{'o': 'e'}"}, "query 1: expected operators as JSON"),
        ({"original": json.dumps({"o": "e", "a": [1, 2]})}, "a list of one id for each e and p"),
        ({"original": json.dumps({"o": "p", "a": [["4"], P]})}, "a list of one id"),
        ({"original": json.dumps({"o": "i", "a": [P]})}, "operator 'i' with 1 arguments"),
        ({"original": '{"o":"n","a":' * 60 + json.dumps(P) + "}" * 60}, "in each other"),
        ({"diff": json.dumps(P)}, "query 1: the form diff is not the original one rewritten"),
        ({"easy_answers": "set()"}, "query 1: expected a list of ids as easy_answers"),
        ({"hard_answers": '["4"]'}, "answers must be ids (int)"),
        ({"hard_answers": "[99]"}, "query 1: answer 99: ids are 0 to 5"),
        ({"hard_answers": "[]"}, "query 1: has no hard answer"),
        (
            {"hard_answers": "[1]", "easy_answers": "[1]"},
            "query 1: the answer 1 is both hard and easy",
        ),
    ],
)
def test_a_bad_row_is_named(small, cells, words):
    files = write_type(small / "release", "type0005", broken(rows_of(ONE, 3), 1, **cells))
    text = refusal(small, files, {"type0005": formula_of(ONE)})
    assert text.startswith("data-type0005.csv")
    assert "type0005, query 1" in text
    assert words in text


def test_an_id_beyond_the_graph_is_refused(small):
    rows = rows_of("(p,(e))", 2)
    far = json.dumps({"o": "p", "a": [[0], {"o": "e", "a": [6]}]})
    rows = [{**rows[0], **dict.fromkeys(FORMS, far)}]
    files = write_type(small / "release", "type0000", rows)
    text = refusal(small, files, {"type0000": "r1(s1,f)"})
    assert "data-type0000.csv, type0000, query 0: entity ids must be 0 to 5" in text


def test_swapped_columns_are_told_from_the_graph(small):
    rows = [row for row in rows_of("(p,(e))", 6) if row["easy_answers"]]
    turned = [
        {**row, "easy_answers": row["hard_answers"], "hard_answers": row["easy_answers"]}
        for row in rows
    ]
    files = write_type(small / "release", "type0000", turned)
    assert "swapped" in refusal(small, files, {"type0000": "r1(s1,f)"})


def test_the_queries_of_a_file_must_be_of_its_shape(small):
    files = write_type(small / "release", "type0005", rows_of(ONE, 2))
    text = refusal(small, files, {"type0005": "r1(s1,f)"})
    assert "data-type0005.csv, type0005: its queries are of (" in text
    assert text.endswith("not of r1(s1,f) (on_bad_shape: skip goes on without this shape)")


def test_the_published_list_of_types_is_held_against_the_files(small):
    files = write_type(small / "release", "type0005", rows_of(ONE, 2))
    with (small / "release" / "list.csv").open("w", newline="") as stream:
        table = csv.DictWriter(stream, ["formula_id", *FORMS])
        table.writeheader()
        table.writerow({"formula_id": "type0005", **dict.fromkeys(FORMS, "(p,(e))")})
    files["formulas"] = "list.csv"
    text = refusal(small, files, {"type0005": formula_of(ONE)})
    assert f"its queries are {ONE} where the list of types has (p,(e))" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "lacks the columns original, easy_answers, hard_answers"),
        (b"easy_answers,hard_answers,original\n", "has no queries"),
        (b'easy_answers,hard_answers,original\n[],[1],"{""o"": ', "cut short, damaged, or not CSV"),
        (b"easy_answers,hard_answers,original\n[],[1]\n", "query 0: too many or too few cells"),
        (b"easy_answers,hard_answers,original\n\xff,[1],2\n", "not CSV"),
    ],
)
def test_what_is_no_such_file_is_skipped_if_that_is_asked_for(small, content, words):
    files = write_type(small / "release", "type0001", rows_of("(p,(p,(e)))", 2))
    (small / "release" / "data-type0000.csv").write_bytes(content)
    files["type0000"] = "data-type0000.csv"
    shapes = {"type0000": "r1(s1,f)", "type0001": "r1(s1,e1)&r2(e1,f)"}
    text = refusal(small, files, shapes)
    assert text.startswith("type0000: ")
    assert words in text
    found = read(small, files, shapes, on_bad_shape="skip")
    assert [len(rows.anchors) for rows in found.values()] == [0, 2]
    report = json.loads((small / "report.json").read_text())
    assert words in report["type0000"]["skipped"]
    assert "skipped" not in report["type0001"]


def test_differences_settle_into_one_form():
    a, b, c = (Operator("p", (Operator("e", (), k),), k) for k in range(3))
    several = Operator("D", (a, b, c))
    chained = Operator("d", (Operator("d", (a, c)), b))
    complement = Operator("n", (Operator("u", (b, c)),))
    assert settled(several) == settled(chained)
    assert settled(several) == ("i", (("n", settled(b)), ("n", settled(c)), settled(a)))
    assert settled(Operator("n", (complement,))) == settled(Operator("U", (c, b)))
    assert settled(Operator("d", (b, a))) != settled(Operator("d", (a, b)))


@pytest.fixture
def listed(data, tmp_path):
    path = data / "queries/efo1-formulas/test_generated_formula_anchor_node=3.csv.xz"
    (tmp_path / "list.csv").write_bytes(lzma.decompress(path.read_bytes()))
    return tmp_path / "list.csv"


def test_the_shapes_of_the_catalogue_are_the_published_types(listed):
    own = read_yaml(ROOT / "config/efo-1-qa/shapes.yaml")
    with listed.open() as stream:
        rows = {row["formula_id"]: row["original"] for row in csv.DictReader(stream)}
    assert list(own) == list(rows)
    assert matching(read_yaml(ROOT / "config/efo-1-qa.yaml")["shapes"], own) == list(own)
    for name, text in rows.items():
        assert canonical(parse_formula(own[name]))[0] == canonical(to_formula(parse(text)))[0]


def test_a_list_of_types_is_printed_as_shapes(listed, capsys):
    assert list_shapes.main([str(listed)]) == 0
    printed = capsys.readouterr().out
    assert printed in (ROOT / "config/efo-1-qa/shapes.yaml").read_text()
    listed.write_text(
        ",formula_id,formula,f_num\n"
        '0,type0000,"(r1(s1,f1))&(!r2(s2,f1))",1\n'
        '1,type0001,"(r1(s1,f1))&(r2(f1,f2))",2\n'
        '2,type0002,"(r1(s1,f1))&(!r2(f1,f2))",2\n'
    )
    assert list_shapes.main([str(listed)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ('type0000: "r1(s1,f)&!r2(s2,f)"\ntype0001: "r1(s1,f1)&r2(f1,f2)"\n')
    assert "left out type0002: formula 'r1(s1,f1)&!r2(f1,^f2)', column 18: f2" in captured.err
    listed.write_text("a,b\n")
    assert list_shapes.main([str(listed)]) == 1
    assert "expected the columns formula_id" in capsys.readouterr().err


def test_the_schema_knows_the_forms():
    schema = read_yaml(ROOT / "workflow/schemas/query_sets.schema.yaml")
    published = schema["additionalProperties"]["properties"]["published"]["properties"]
    assert set(published["form"]["enum"]) == set(FORMS)
    assert set(published["layout"]["enum"]) == set(READERS) == set(ROLES)


ENTRY = {
    "graph": "toy",
    "split": "test",
    "shapes": ["1p", "2p"],
    "published": {
        "layout": "efo-1",
        "source": {"kind": "path", "folder": "mine"},
        "files": {"{shape}": "data-{shape}.csv", "formulas": "list.csv"},
    },
}


def test_one_line_stands_for_a_file_of_each_shape():
    entry = copy.deepcopy(ENTRY)
    check_published("mine", entry)
    assert entry["published"]["files"] == {
        "1p": "data-1p.csv",
        "2p": "data-2p.csv",
        "formulas": "list.csv",
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"files": {"../x": "x.csv"}}, "published.files.../x: not a role of efo-1; known: "),
        ({"files": {"{shape}": "x.csv"}}, "expected a path that holds {shape}"),
        ({"layout": "efok-json", "form": "DNF"}, "published.form: only the layout efo-1 has it"),
        ({"layout": "beta-e", "fields": "labels"}, "published.fields: only the layout neutral"),
        (
            {"layout": "neutral", "fields": "labels", "files": {"queries": "a", "entities": "b"}},
            "with fields: labels the dictionaries are the graph's",
        ),
    ],
)
def test_keys_that_do_not_go_together_are_refused(change, words):
    entry = copy.deepcopy(ENTRY)
    entry["published"] |= change
    with pytest.raises(InputError) as caught:
        check_published("mine", entry)
    assert words in str(caught.value)


def test_shapes_have_to_be_listed_to_stand_for_files():
    entry = copy.deepcopy(ENTRY)
    del entry["shapes"]
    with pytest.raises(InputError, match="the query set has no list of shapes"):
        check_published("mine", entry)


def test_a_run_hands_the_options_of_a_layout_to_its_import(tmp_path):
    source = "source: { kind: path, folder: . }"
    (tmp_path / "query_sets.yaml").write_text(
        "lines: { graph: umls, split: test, published: { layout: neutral, fields: labels, "
        f"files: {{ queries: own.jsonl }}, {source} }} }}\n"
        "types: { graph: umls, split: test, shapes: [1p], published: { layout: efo-1, form: DNF, "
        f'files: {{ "{{shape}}": "{{shape}}.csv" }}, {source} }} }}\n'
    )
    config = read_yaml(ROOT / "config/config.yaml") | {"catalogues": [str(tmp_path)]}
    methods = {path.stem: path for path in (ROOT / "scripts/models").glob("[!_]*.py")}
    run = read_run(config, [ROOT / "config/config.yaml"], str(ROOT / "config"), methods)
    shard = next(iter(run.shards["lines"]))
    assert run.reading("lines", shard)["fields"] == "labels"
    assert run.reading("types", next(iter(run.shards["types"])))["form"] == "DNF"
    assert run.local_queries("types") == [(tmp_path / "1p.csv").as_posix()]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("formula_id,formula\nt0\n", "list.csv:2: expected 2 cells, as in the first line"),
        ('formula_id,formula\nt0,"r1(s1,f)",3\n', "list.csv:2: expected 2 cells"),
        (f'formula_id,formula\nt0,"{"x" * 200_000}"\n', "list.csv:2: field larger than"),
        (
            "formula_id,formula\n" + 't0,"r1(s1,f)"\n' * 2,
            "list.csv:3: the formula_id 't0' is there",
        ),
        ('formula_id,formula\n"a: b","r1(s1,f)"\n', "list.csv:2: a shape cannot be called 'a: b'"),
        ('formula_id,formula\n,"r1(s1,f)"\n', "a shape cannot be called ''"),
        ('formula_id,formula\nt\0,"r1(s1,f)"\n', "list.csv:2: "),
        ('formula_id,formula\n"t\n","r1(s1,f)"\n', "a shape cannot be called 't"),
        ("", "expected the columns formula_id"),
    ],
)
def test_a_list_of_types_that_is_none_is_refused_in_one_line(tmp_path, capsys, text, words):
    before = csv.field_size_limit(131_072)  # reading releases raises it for the whole process
    (tmp_path / "list.csv").write_text(text)
    code = list_shapes.main([str(tmp_path / "list.csv")])
    csv.field_size_limit(before)
    captured = capsys.readouterr()
    assert code == 1
    assert words in captured.err
    assert (captured.out, captured.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("formula", "(" * 3000 + "r1(s1,f)" + ")" * 3000),
        ("original", "(n," * 3000 + "(p,(e))" + ")" * 3000),
    ],
)
def test_a_type_that_is_nested_too_deeply_is_left_out(tmp_path, capsys, column, text):
    other = "(p,(e))" if column == "original" else "r1(s1,f)"
    (tmp_path / "list.csv").write_text(f'formula_id,{column}\nt0,"{text}"\nt1,"{other}"\n')
    assert list_shapes.main([str(tmp_path / "list.csv")]) == 0
    captured = capsys.readouterr()
    assert captured.out == 't1: "r1(s1,f)"\n'
    assert captured.err.startswith("left out t0: ")
    assert "in each other" in captured.err
    assert captured.err.count("\n") == 1


def test_names_of_types_are_text_in_the_shapes_that_are_printed(tmp_path, capsys):
    names = ["no", "012", "2023_02", "1e3", "null", "1p", "0x1F", "1.5"]
    lines = ["formula_id,formula", *(f'{name},"r1(s1,f)"' for name in names)]
    (tmp_path / "list.csv").write_text("\n".join(lines) + "\n")
    assert list_shapes.main([str(tmp_path / "list.csv")]) == 0
    (tmp_path / "shapes.yaml").write_text(capsys.readouterr().out)
    assert list(read_yaml(tmp_path / "shapes.yaml")) == names
