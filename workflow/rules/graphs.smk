rule download_graph:
    """Fetch the files of the graph {wildcards.graph} and verify their checksums."""
    input:
        lambda wildcards: RUN.local_files(wildcards.graph),
    output:
        source=directory("results/graphs/{graph}/source"),
        receipt="results/graphs/{graph}/receipt.json",
    log:
        "results/logs/download_graph/{graph}.log",
    cache: "omit-software" if SHARED else False
    localrule: True
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("download"),
        runtime=minutes("download"),
    params:
        code=code("download_graph.py"),
        entry=lambda wildcards: RUN.graphs[wildcards.graph],
        graph="{graph}",
        # Where paths of the entry start, if it has any; else no other folder is another cause.
        folder=lambda wildcards: RUN.folder_of_files(wildcards.graph),
    script:
        "../../scripts/download_graph.py"


rule build_graph:
    """Turn the files of the graph {wildcards.graph} into arrays of ids, and count what they hold."""
    input:
        # The receipt tells whether the files are others; a folder has a time, but no content.
        receipt=rules.download_graph.output.receipt,
        source=ancient(rules.download_graph.output.source),
    output:
        graph="results/graphs/{graph}/graph.npz",
        entities="results/graphs/{graph}/entities.tsv",
        relations="results/graphs/{graph}/relations.tsv",
        summary="results/graphs/{graph}/summary.json",
    log:
        "results/logs/build_graph/{graph}.log",
    cache: SHARED
    conda:
        "../../envs/clqa.yaml"
    resources:
        mem_mb=memory("build_graph"),
        runtime=minutes("build_graph"),
    params:
        code=code("build_graph.py"),
        entry=lambda wildcards: RUN.graphs[wildcards.graph],
        graph="{graph}",
    script:
        "../../scripts/build_graph.py"
