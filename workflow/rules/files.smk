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
