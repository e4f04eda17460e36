# Entry point: the workflow itself is in workflow/, where the Snakemake catalogue looks for it.
include: "workflow/Snakefile"


rule default:
    """Everything that the run configuration asks for."""
    default_target: True
    input:
        rules.all.input,
