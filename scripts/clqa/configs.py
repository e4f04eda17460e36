"""Configuration and catalogue files: read strictly, checked against a schema, filled up.

Whatever is wrong is told in one line: the file, the key, what was expected, what is known.
"""

import copy
import difflib
import itertools
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import jsonschema
import yaml

from clqa.errors import InputError, abridged

TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping of keys to values",
    "null": "nothing (null)",
}

_WHOLE_NUMBERS = range(-(2**63), 2**64)
_MOST_NAMES = 50  # that a message lists
_MOST_VALUES, _MOST_ALIASES = 10_000, 10  # in all, and for each that is written


class _StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML whose mappings have every key once, as text."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            place = f"line {key_node.start_mark.line + 1}"
            if not isinstance(key, str):
                text = key_node.value if isinstance(key_node.value, str) else key
                raise InputError(f"{place}: YAML reads the key {text} as {key!r}; quote it")
            if key in seen:
                raise InputError(f"{place}: the key {key} is given twice; remove one")
            seen.add(key)
        return super().construct_mapping(node, deep)


def _pattern(validator, pattern, instance, schema):
    """A pattern's `$` is the end of the text, as JSON Schema has it, not a line end before it."""
    if validator.is_type(instance, "string") and not re.search(
        pattern.replace("$", r"\Z"), instance
    ):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


# A number with a point is no integer here: 1.0 would name another random stream than 1.
_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    validators={"pattern": _pattern},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def read_yaml(path: str | os.PathLike) -> dict:
    """Content of a YAML file that holds a mapping; an empty file holds an empty one.

    Raises
    ------
    InputError
        If the file is missing, is not YAML, is not a mapping, has a key twice in one mapping, or
        has a key that YAML takes for a number, a truth value or a date.
    """
    try:
        content = _content(Path(path).read_text(encoding="utf-8"))
    except InputError as error:
        raise InputError(
            f"{path}{', ' if str(error).startswith('line') else ': '}{error}"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except Exception as error:  # whatever a value that is not what its tag says makes YAML say
        raise InputError(f"{path}: not YAML in UTF-8: {' '.join(str(error).split())}") from error
    if content is not None and not isinstance(content, dict):
        raise InputError(f"{path}: expected {TYPES['object']}, found {_shown(content)}")
    return content or {}


def _content(text: str) -> object:
    """What a text of YAML says, unless its aliases make very much of little."""
    loader = _StrictLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        sizes: dict[int, int] = {}
        if _size(node, sizes) > _MOST_VALUES + _MOST_ALIASES * len(sizes):
            raise InputError("its aliases (*) stand for too many values; write fewer of them")
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Number of values, each as often as it is reached; one that holds itself is refused later."""
    if id(node) not in sizes:
        sizes[id(node)] = 1
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = itertools.chain(*parts) if isinstance(node, yaml.MappingNode) else parts
        sizes[id(node)] += sum(_size(part, sizes) for part in parts)
    return sizes[id(node)]


# A key that is unknown beside one that is missing is most often that one, misspelt.
_RELEVANCE = jsonschema.exceptions.by_relevance(strong=frozenset({"additionalProperties"}))


def validated(content: dict, schema: dict, source: str) -> dict:
    """A copy of `content` with the schema's defaults filled in, keys in the schema's order.

    Raises
    ------
    InputError
        If the content does not fit the schema; `source` is what the message calls it.
    """
    try:
        for path, reason in _unusable(content):
            raise InputError(f"{source}: {path.removeprefix('.')}: {reason}")
        error = jsonschema.exceptions.best_match(
            _Validator(schema).iter_errors(content), _RELEVANCE
        )
        if error is not None:
            raise InputError(f"{source}: {explanation(error)}")
        return _filled(content, schema, schema)
    except RecursionError:
        raise InputError(f"{source}: nested too deeply, or a part that holds itself") from None


def _unusable(value: object, path: str = "", seen: dict | None = None) -> Iterator[tuple[str, str]]:
    """Places of values that no key may have, since no result file can hold them, and why."""
    seen = {} if seen is None else seen
    if id(value) in seen:  # an alias, which may stand for very many values
        if not seen[id(value)]:
            raise RecursionError
        return
    match value:
        case dict() | list():
            seen[id(value)] = False
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                place = f".{key}" if isinstance(value, dict) else f"[{key}]"
                yield from _unusable(item, path + place, seen)
            seen[id(value)] = True
        case None | bool():
            pass
        case int():
            if value not in _WHOLE_NUMBERS:
                yield path, f"expected a whole number from {_WHOLE_NUMBERS[0]} to 2^64 - 1"
        case float():
            if not math.isfinite(value):
                yield path, f"expected a number, found {value}"
        case str():
            if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
                yield path, f"{_shown(value)} holds a character that no file may hold; remove it"
        case _:
            yield path, f"YAML reads it as {type(value).__name__} ({_shown(value)}); quote it"


def explanation(error: jsonschema.ValidationError) -> str:
    """What is wrong and what was expected, in one line that starts with the key's path."""
    parts = error.absolute_path
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    if error.validator is None:  # a schema that is just `false`
        return f"{path.removeprefix('.')}: does not go with the keys beside it; remove it"
    text = {
        "additionalProperties": _unknown_key,
        "required": _missing_key,
        "type": _wrong_type,
        "enum": _not_listed,
        "pattern": _wrong_form,
        "maxLength": _too_long,
    }.get(error.validator, lambda error: " ".join(error.message.split()))(error)
    return f"{path.removeprefix('.')}: {text}" if path else text


def _unknown_key(error: jsonschema.ValidationError) -> str:
    known = list(error.schema.get("properties", {}))
    unknown = next(key for key in error.instance if key not in known)
    return unknown_name("key", unknown, known)


def _missing_key(error: jsonschema.ValidationError) -> str:
    key = next(key for key in error.validator_value if key not in error.instance)
    about = error.schema.get("properties", {}).get(key, {}).get("description", "")
    return f"the key {key} is missing" + (f" ({' '.join(about.split())})" if about else "")


def _wrong_type(error: jsonschema.ValidationError) -> str:
    names = error.validator_value
    names = [names] if isinstance(names, str) else names
    text = f"expected {' or '.join(TYPES[name] for name in names)}, found {_shown(error.instance)}"
    is_misread = "string" in names and not isinstance(error.instance, (dict, list, type(None)))
    return text + (" (YAML does not read it as text: quote it)" if is_misread else "")


def _not_listed(error: jsonschema.ValidationError) -> str:
    return unknown_name("value", error.instance, error.validator_value)


def _wrong_form(error: jsonschema.ValidationError) -> str:
    about = error.schema.get("description", f"text of the form {error.validator_value}")
    return f"{_shown(error.instance)} is not allowed; expected: {' '.join(about.split())}"


def _too_long(error: jsonschema.ValidationError) -> str:
    found, most = len(error.instance), error.validator_value
    return f"{_shown(error.instance)} has {found} characters; expected {most} at most"


def unknown_name(kind: str, name: object, known: Iterable) -> str:
    """Says that a name is unknown, which known one is like it, and which ones there are."""
    known = [str(one) for one in known]
    like = difflib.get_close_matches(str(name), known, n=1)
    hint = f" (did you mean {like[0]}?)" if like else ""
    rest = f", … ({len(known)} in all)" if len(known) > _MOST_NAMES else ""
    names = ", ".join(known[:_MOST_NAMES]) or "none"
    return f"unknown {kind} {_shown(name)}{hint}; known: {names}{rest}"


def matching(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """The names, where one with `*` stands for all known names of that form; each of them once."""
    known, found = list(known), []
    for name in names:
        form = re.compile(".*".join(map(re.escape, name.split("*"))))
        found += (list(filter(form.fullmatch, known)) if "*" in name else []) or [name]
    return list(dict.fromkeys(found))


def _shown(value: object) -> str:
    is_name = isinstance(value, str) and value.isidentifier() and len(value) <= 80
    return value if is_name else abridged(value)


def resolved(schema: dict, root: dict) -> dict:
    """The schema with what it refers to; its own keywords go before."""
    if "$ref" not in schema:
        return schema
    found = root
    for part in schema["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return {**resolved(found, root), **schema}


def _filled(content: object, schema: dict, root: dict) -> object:
    """`content` with defaults; of alternatives, the first that fits counts."""
    schema = resolved(schema, root)
    for part in (*schema.get("allOf", ()), *_fitting(content, schema, root)):
        content = _filled(content, part, root)
    if isinstance(content, list):
        return [_filled(item, schema.get("items", {}), root) for item in content]
    if not isinstance(content, dict):
        return content
    others = schema.get("additionalProperties")
    filled = {}
    for key, value in schema.get("properties", {}).items():
        if key in content or "default" in value:
            own = content[key] if key in content else copy.deepcopy(value["default"])
            filled[key] = _filled(own, value, root)
    for key in content:
        if key not in filled:
            filled[key] = _filled(content[key], others if isinstance(others, dict) else {}, root)
    return filled


def _fitting(content: object, schema: dict, root: dict) -> list[dict]:
    alternatives = (*schema.get("oneOf", ()), *schema.get("anyOf", ()))
    validator = _Validator(root)
    return [part for part in alternatives if validator.evolve(schema=part).is_valid(content)][:1]


class Catalogue(NamedTuple):
    """Entries by name, and for each name the folder of the file that has it."""

    kind: str
    entries: dict[str, dict]
    folders: dict[str, str]

    def place(self, name: str) -> str:
        """Where an entry is, for a message."""
        return f"{Path(self.folders[name]) / self.kind}.yaml: {name}"


def read_catalogue(kind: str, folders: Iterable[str], schema: dict) -> Catalogue:
    """The entries of `<folder>/<kind>.yaml` of every folder that has this file.

    Raises
    ------
    InputError
        If a file does not fit the schema or two files use the same name.
    """
    catalogue = Catalogue(kind, {}, {})
    for folder in folders:
        path = Path(folder) / f"{kind}.yaml"
        if not path.exists():
            continue
        for name, entry in validated(read_yaml(path), schema, path).items():
            if name in catalogue.entries:
                raise InputError(f"{path}: {name} is taken ({catalogue.place(name)}); rename it")
            catalogue.entries[name] = entry
            catalogue.folders[name] = folder
    return catalogue
