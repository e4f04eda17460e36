"""Which stage a result file belongs to, which rule makes it, and from which other files.

It says of the rules in `workflow/rules` what the manifest of a run tells of each file; a test holds
the two against each other.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

# Of the manifest: the first had no rules and no inputs of files.
FORMAT = 2
# In the order in which one depends on another.
STAGES = ("graph", "queries", "answers", "predictions", "ranks", "metrics")

_GRAPH = "graphs/{graph}/graph.npz"
_LABELS = ("graphs/{graph}/entities.tsv", "graphs/{graph}/relations.tsv")
_QUERIES = "queries/{queries}/{shard}.parquet"
_ANSWERS = "answers/{queries}/{shard}.parquet"
_PUBLISHED, _RECEIPT = "published/{queries}/{shard}.parquet", "published/{queries}/receipt.json"
_RANKS, _TOPS = "ranks/{queries}/{model}/{shard}.parquet", "tops/{queries}/{model}/{shard}.parquet"
_SCORES = "scores/{queries}/{model}.parquet"
_SETS = "sets/{queries}/{model}/{kind}.parquet"


class Kind(NamedTuple):
    """Files of one pattern: every file whose path fits, and the patterns of what it is made from.

    A wildcard that the path does not have stands for anything in a pattern of inputs, except that
    `graph` and `predictor` are those of the query set and of the model.
    """

    stage: str
    rule: str
    path: str
    inputs: tuple[str, ...] = ()


_OF_RANKS = (_ANSWERS, _GRAPH, _QUERIES, "predictions/{queries}/{lists}/{shard}.{ending}")
_OF_SETS = (_TOPS, _ANSWERS, _QUERIES, _GRAPH, _LABELS[1])
_OF_TUNING = ("tops/{valid}/{model}/{shard}.parquet", "answers/{valid}/{shard}.parquet")
_EXPLANATIONS = "explanations/{run}/{queries}.json"
_OF_REPORT = (
    *(_SCORES, "intervals/{queries}/{model}.parquet", "comparisons/{run}/{queries}.parquet"),
    *("sets/{queries}/{model}/sets.parquet", "sets/{queries}/{model}/bands.parquet"),
    *(_ANSWERS, "queries/{queries}/{shard}.json", "audits/{queries}.json"),
    *("graphs/{graph}/summary.json", *_LABELS, _QUERIES, _RANKS, _EXPLANATIONS),
)
KINDS = (
    Kind("graph", "download_graph", "graphs/{graph}/receipt.json"),
    Kind("graph", "build_graph", "graphs/{graph}/{file}", ("graphs/{graph}/receipt.json",)),
    Kind("queries", "download_queries", "published/{queries}/receipt.json"),
    Kind("queries", "import_queries", _PUBLISHED, (_RECEIPT, _GRAPH, *_LABELS)),
    Kind("queries", "sample_queries", "queries/{queries}/{file}", (_GRAPH,)),
    Kind("answers", "split_answers", _ANSWERS, (_GRAPH, _QUERIES)),
    Kind(
        "answers", "audit_queries", "audits/{queries}.json", (_QUERIES, _ANSWERS, _GRAPH, *_LABELS)
    ),
    Kind("predictions", "train_predictor", "predictors/{graph}/{file}", (_GRAPH,)),
    Kind(
        "predictions",
        "predict_answers",
        "predictions/{queries}/{model}/{file}",
        (_GRAPH, _QUERIES, "predictors/{graph}/{predictor}.npz"),
    ),
    Kind("ranks", "rank_answers", _RANKS, _OF_RANKS),
    Kind("ranks", "rank_answers", _TOPS, _OF_RANKS),
    Kind("metrics", "score_answers", _SCORES, (_RANKS, _ANSWERS, _QUERIES, _GRAPH, _LABELS[1])),
    Kind("metrics", "estimate_intervals", "intervals/{queries}/{model}.parquet", (_SCORES,)),
    Kind("metrics", "compare_models", "comparisons/{run}/{queries}.parquet", (_SCORES,)),
    Kind("metrics", "explain_examples", _EXPLANATIONS, (_QUERIES, _ANSWERS, _GRAPH)),
    Kind("metrics", "evaluate_sets", _SETS, (*_OF_SETS, *_OF_TUNING)),
    Kind("metrics", "assemble_report", "runs/{run}/{*file}", _OF_REPORT),
)


class Facts(NamedTuple):
    """What of a run decides which files belong together.

    Attributes
    ----------
    query_sets : dict of catalogue entries
        Of the run and of what it is tuned on, with `graph`, and `valid` and `published` where they
        have them.
    models : dict
        `method` and `settings` of each model, and the name of the `lists` that it is a bound of.
    asked : collection of str
        The query sets of the run.
    competing : collection of str
        Models that are compared with each other.
    imported : collection of str
        Link predictors that are not trained.
    """

    query_sets: Mapping[str, dict]
    models: Mapping[str, dict]
    asked: Collection[str]
    competing: Collection[str] = ()
    imported: Collection[str] = ()


def stage_of(path: str) -> str | None:
    """The stage of a file by its path beneath the result folder; None for what is no result."""
    found = _kind_of(path)
    return None if found is None else found[0].stage


def traced(digests: Mapping[str, str], facts: Facts) -> dict[str, dict]:
    """Digest, rule and inputs of each file.

    Parameters
    ----------
    digests : dict
        The sha256 of each file, by its path beneath the result folder. Of its inputs those are
        told that are among them.
    """
    found = {}
    for path, digest in sorted(digests.items()):
        kind, values = _kind_of(path)
        inputs = {one: digests[one] for one in _inputs(kind, values, digests, facts)}
        rule = _rule(kind.rule, values, facts)
        found[path] = {"sha256": digest, "rule": rule, "inputs": inputs}
    return found


def _kind_of(path: str) -> tuple[Kind, dict[str, str]] | None:
    for kind in KINDS:
        match = re.fullmatch(_expression(kind.path, {}), path)
        if match:
            return kind, match.groupdict()
    return None


def _expression(pattern: str, values: Mapping[str, str]) -> str:
    """A pattern as a regular expression, with wildcards of known value filled in."""
    parts = re.split(r"\{(\*?\w+)\}", pattern)
    for place in range(1, len(parts), 2):
        name = parts[place]
        if name in values:
            parts[place] = re.escape(values[name])
        else:
            parts[place] = f"(?P<{name.lstrip('*')}>{'.+' if name[0] == '*' else '[^/]+'})"
    return "".join(part if n % 2 else re.escape(part) for n, part in enumerate(parts))


def _inputs(
    kind: Kind, values: dict[str, str], digests: Mapping[str, str], facts: Facts
) -> Iterator[str]:
    entry = facts.query_sets.get(values.get("queries", ""), {})
    known = {**values, **{key: entry[key] for key in ("graph", "valid") if key in entry}}
    model = facts.models.get(values.get("model", ""), {})
    known["predictor"] = model.get("settings", {}).get("predictor", "")
    known["lists"] = model.get("lists", values.get("model", ""))
    if "file" in known and kind.rule in ("sample_queries", "predict_answers"):
        known["shard"] = known.pop("file").rpartition(".")[0]
    patterns = [*kind.inputs, *_further(kind.rule, known, facts)]
    if kind.rule == "predict_answers" and _is_imported(known, facts):
        patterns = [_QUERIES, *_LABELS]
    expressions = [re.compile(_expression(one, known)) for one in patterns]
    for path in digests:
        if any(one.fullmatch(path) for one in expressions) and _is_read(kind.rule, path, facts):
            yield path


def _further(rule: str, known: dict[str, str], facts: Facts) -> Iterator[str]:
    """Inputs that hang on what is asked: published queries, the oracle, models over links."""
    is_published = "published" in facts.query_sets.get(known.get("queries", ""), {})
    if rule == "sample_queries" and is_published:
        yield from (*_LABELS, _RECEIPT)
    if rule == "audit_queries" and is_published:
        yield _PUBLISHED
    if rule == "predict_answers" and _is_oracle(known, facts):
        yield _ANSWERS
    if rule == "explain_examples":
        for model in facts.models.values():
            if "predictor" in model.get("settings", {}) and model["method"] != "imported":
                yield f"predictors/{{graph}}/{model['settings']['predictor']}.npz"


def _is_read(rule: str, path: str, facts: Facts) -> bool:
    """Whether a rule that reads a table of each model reads that one."""
    values = _kind_of(path)[1]
    if rule == "compare_models":
        return values["model"] in facts.competing
    if rule == "assemble_report" and values.get("queries"):
        return values["queries"] in facts.asked
    return True


def _rule(rule: str, values: dict[str, str], facts: Facts) -> str:
    """The rule that really makes a file, where two rules make files of one pattern."""
    if rule == "sample_queries" and "published" in facts.query_sets.get(values["queries"], {}):
        return "import_queries"
    if rule == "train_predictor" and values["file"].split(".")[0] in facts.imported:
        return "import_predictor"
    if rule == "predict_answers" and _is_imported(values, facts):
        return "import_lists" if values["file"].endswith(".parquet") else "import_predictions"
    return "predict_oracle" if rule == "predict_answers" and _is_oracle(values, facts) else rule


def _is_imported(values: Mapping[str, str], facts: Facts) -> bool:
    """Whether scores come from files; of lists that are cut, models are their bounds."""
    named = [facts.models.get(values.get("model", ""), {})]
    named += [one for one in facts.models.values() if one.get("lists") == values.get("model")]
    return any(one.get("method") == "imported" for one in named)


def _is_oracle(values: Mapping[str, str], facts: Facts) -> bool:
    return facts.models.get(values.get("model", ""), {}).get("method") == "oracle"
