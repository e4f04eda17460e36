# Which files the rules of predictions read, and which of theirs are kept.


def kept(path):
    """Predictions, to keep or to remove after ranking."""
    return path if RUN.settings["keep_predictions"] else temp(path)


def predictor_of(wildcards):
    """The link predictor over whose links a model answers, if it does."""
    graph = RUN.query_sets[wildcards.queries]["graph"]
    name = RUN.predictor_of(wildcards.model)
    found = expand(rules.train_predictor.output.predictor, graph=graph, predictor=name)
    return found[0] if name else []


def scored_by(wildcards):
    """What ranks are made of: a matrix of scores, or lists that are cut."""
    model = RUN.models[wildcards.model]
    source = rules.import_lists if "bound" in model else rules.predict_answers
    names = {**wildcards, "model": model.get("lists", wildcards.model)}
    return {key: expand(source.output[key], **names)[0] for key in ("predictions", "sidecar")}


def score_files(wildcards):
    """The user's own files that a model's scores for a shard are in."""
    return RUN.score_files(wildcards.model, wildcards.queries, wildcards.shard)
