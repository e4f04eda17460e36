"""What an answering method declares, read from its source, so that nothing of it has to run."""

import ast
import os
from pathlib import Path

from clqa.configs import unknown_name
from clqa.errors import InputError

# Methods that bound the scale; they do not compete with others.
CONTROLS = ("oracle", "constant", "random")
# Settings of all methods over the links of a predictor, which have the parameter `links`.
LINKS = "links"
LINK_SETTINGS = {"predictor": True, "calibration": True, "hybrid": False}  # and whether required
WORDS = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false"}


def check_settings(path: str | os.PathLike, settings: dict) -> None:
    """Refuse settings that the function `scores` of a method does not take.

    Raises
    ------
    InputError
        If a setting is unknown, missing or not of the annotated type, the inference graph is not
        possible, or the file has no function `scores`.
    """
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), filename=str(path))
    arguments = _arguments(path, tree)
    known, required = _parameters(arguments)
    kinds = _kinds(arguments)
    graphs = _inference_graphs(tree)
    for key in settings:
        if key not in (*known, *["inference_graph"] * bool(graphs)):
            names = [*["inference_graph"] * bool(graphs), *known]
            raise InputError(f"settings: {unknown_name('key', key, names)}")
        _check_kind(key, settings[key], kinds.get(key))
    for key in required:
        if key not in settings:
            raise InputError(f"settings: the key {key} is missing")
    chosen = settings.get("inference_graph")
    if chosen is not None and chosen not in graphs:
        raise InputError(
            f"settings.inference_graph: '{chosen}' is not possible; possible are "
            f"{', '.join(graphs)}"
        )


def takes_links(path: str | os.PathLike) -> bool:
    """Whether a method answers over the links of a predictor."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), filename=str(path))
    return LINKS in [one.arg for one in _arguments(path, tree).args]


def needs_trees(path: str | os.PathLike) -> bool:
    """Whether a method answers over links, and only formulas that are trees of sets."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), filename=str(path))
    return takes_links(path) and _constant(tree, "NEEDS_TREES", True)


def _arguments(path: str | os.PathLike, tree: ast.Module) -> ast.arguments:
    """The parameters of the function `scores`."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "scores" not in functions:
        raise InputError(f"{path}: expected a function scores(graph, queries, ...)")
    return functions["scores"].args


def _parameters(arguments: ast.arguments) -> tuple[list[str], list[str]]:
    """Names of the settings, and of those without a default."""
    plain = [argument.arg for argument in arguments.args][2:]
    without = len(plain) - len(arguments.defaults)
    required = plain[: max(without, 0)]
    if LINKS in required:
        plain.remove(LINKS)
        required.remove(LINKS)
        plain = [*LINK_SETTINGS, *plain]
        required += [key for key, is_required in LINK_SETTINGS.items() if is_required]
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        required += [argument.arg] if default is None else []
    return plain + [argument.arg for argument in arguments.kwonlyargs], required


def _kinds(arguments: ast.arguments) -> dict[str, str]:
    """The annotation of each parameter that has one, as it is written."""
    parameters = (*arguments.args, *arguments.kwonlyargs)
    return {one.arg: ast.unparse(one.annotation) for one in parameters if one.annotation}


def _check_kind(key: str, value: object, kind: str | None) -> None:
    """Refuse a value that is not of the type `int`, `float`, `str` or `bool` that is asked for.

    Nor may it be another than those of a `Literal[...]`.
    """
    if kind is not None and kind.startswith("Literal["):
        possible = ast.literal_eval(f"[{kind.removeprefix('Literal[')}")
        if value not in possible:
            names = ", ".join(map(str, possible))
            raise InputError(f"settings.{key}: expected one of {names}, found {value!r:.80}")
    types = {"int": int, "float": (int, float), "str": str, "bool": bool}.get(kind, object)
    is_odd_bool = isinstance(value, bool) and kind in ("int", "float")
    if is_odd_bool or not isinstance(value, types):
        raise InputError(f"settings.{key}: expected {WORDS[kind]}, found {value!r:.80}")


def _inference_graphs(tree: ast.Module) -> tuple[str, ...]:
    return tuple(_constant(tree, "INFERENCE_GRAPHS", ()))


def _constant(tree: ast.Module, name: str, default):
    """The value that a module gives to a name."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return default
