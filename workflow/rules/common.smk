# What the rules share: the run and its catalogues, digests of our code, file lists.
import functools
import os
import re
import sys
from pathlib import Path

ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parents[1]
SCRIPTS = ROOT / "scripts"
sys.path.insert(0, str(SCRIPTS))

from clqa import errors, run_configs, sources

try:
    RUN = run_configs.read_run(
        config=config,
        files=workflow.configfiles,
        folder=os.path.relpath(ROOT / "config"),
        methods={path.stem: path for path in sorted((SCRIPTS / "models").glob("[!_]*.py"))},
    )
except errors.InputError as error:
    raise WorkflowError(str(error)) from None  # which Snakemake shows without our stack
WORKFLOW = os.path.relpath(ROOT / "workflow")
SHARDS = sorted({shard for shards in RUN.shards.values() for shard in shards})
ORACLES = [name for name, model in RUN.models.items() if model["method"] == "oracle"]
PUBLISHED = RUN.published()
SAMPLED = [name for name in RUN.query_sets if name not in PUBLISHED]
OUTSIDE = [name for name, model in RUN.models.items() if "imported" in model]
OTHER_MODELS = [name for name in RUN.models if name not in (*ORACLES, *OUTSIDE)]


@functools.cache
def code(*scripts):
    """Digest of scripts of ours and of every module of ours that they import."""
    return sources.digest(*(SCRIPTS / script for script in scripts))


def one_of(names):
    """Wildcard constraint: exactly these names."""
    return "|".join(map(re.escape, names)) or "(?!)"


def graph_of(wildcards, file="graph"):
    """The graph that a query set asks, or another file of it."""
    graph = RUN.query_sets[wildcards.queries]["graph"]
    return expand(rules.build_graph.output[file], graph=graph)[0]


def each_shard(pattern, query_sets, **wildcards):
    """The files of all shards of some query sets."""
    return [
        path
        for queries in query_sets
        for path in expand(pattern, queries=queries, shard=RUN.shards[queries], **wildcards)
    ]
