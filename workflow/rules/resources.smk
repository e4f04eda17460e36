# What a job asks of a cluster, which jobs are submitted as one, and whether files are shared.
from clqa import demands, shared_caches

# With --cache alone: without it Snakemake says of each rule that it could be cached.
SHARED = workflow.workflow_settings.cache is not None
if SHARED:
    shared_caches.make_safe()


@functools.cache
def load(wildcards):
    """The size of what a job with these wildcards works on."""
    return demands.load_of(RUN, dict(wildcards))


def memory(stage):
    """MB for a job of this stage, more at each attempt."""
    return lambda wildcards, attempt: (
        attempt * demands.memory(stage, load(tuple(wildcards.items())))
    )


def minutes(stage):
    """Minutes for a job of this stage, more at each attempt."""
    return lambda wildcards, attempt: (
        attempt * demands.minutes(stage, load(tuple(wildcards.items())))
    )


def answering(wildcards):
    """What a model's predictions ask of a cluster: rows of links are kept, and take their time."""
    return "predict_over_links" if RUN.predictor_of(wildcards.model) else "predict_answers"


def answering_memory(wildcards, attempt):
    """MB for the predictions of a model."""
    return memory(answering(wildcards))(wildcards, attempt)


def answering_minutes(wildcards, attempt):
    """Minutes for the predictions of a model."""
    return minutes(answering(wildcards))(wildcards, attempt)


def training_memory(wildcards, attempt):
    """MB for a training."""
    training = RUN.training(wildcards.predictor)
    return attempt * demands.training_memory(load((("graph", wildcards.graph),)), training)


def training_minutes(wildcards, attempt):
    """Minutes for a training, which goes on where an attempt before it ended."""
    training = RUN.training(wildcards.predictor)
    return attempt * demands.training_minutes(load((("graph", wildcards.graph),)), training)


def submitted_with(name):
    """Group of jobs that are submitted as one; on one machine there are none, which plans faster."""
    return lambda wildcards: None if workflow.local_exec else name
