"""Releases of a file for each shape: which of the files has the queries of which shape."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from clqa.canonical_forms import canonical
from clqa.errors import InputError
from clqa.formulas import Formula, to_text
from clqa.published_sets import Batch, Release

Content = TypeVar("Content")
SHOWN = 3


def read_shapes(
    roles: Iterable[str],
    names: Mapping[str, str],
    formulas: Mapping[str, Formula],
    load: Callable[[str], dict[str, Content]],
    read_shape: Callable[[str, Formula, Content], Batch],
) -> Release:
    """Read the shapes that are asked for; what is wrong with one is told in `refused`.

    A file whose role is the name of a shape has the queries of that shape. Other shapes are looked
    for in all files by their formulas.

    Parameters
    ----------
    load : function
        Content of the file of a role, by canonical formula.
    read_shape : function
        Queries of a shape from such content.
    """
    release, loaded = Release({}, {}), {}
    for shape, formula in formulas.items():
        try:
            if shape in roles:
                content = _own(shape, formula, names, load)
            else:
                content = _found(shape, formula, roles, names, load, loaded)
            release.shapes[shape] = read_shape(shape, formula, content)
        except InputError as error:
            release.refused[shape] = str(error)
    return release


def _own(shape, formula, names, load) -> Content:
    """Content of the shape's own file."""
    try:
        contents = load(shape)
    except InputError as error:
        raise InputError(f"{shape}: {error}") from None
    key = canonical(formula)[0]
    if key not in contents:
        raise InputError(
            f"{names[shape]}, {shape}: its queries are of "
            f"{', '.join(list(contents)[:SHOWN]) or 'no formula'}, not of {to_text(formula)}"
        )
    return contents[key]


def _found(shape, formula, roles, names, load, loaded) -> Content:
    """Content of the only file that has the formula; `loaded` keeps what has been read."""
    for role in roles:
        if role not in loaded:
            try:
                loaded[role] = load(role)
            except InputError as error:
                loaded[role] = error
    key = canonical(formula)[0]
    broken = [one for one in loaded.values() if isinstance(one, InputError)]
    whole = {role: one for role, one in loaded.items() if not isinstance(one, InputError)}
    holding = [role for role, contents in whole.items() if key in contents]
    if not holding:
        why = broken[0] if broken else f"no file has queries of {to_text(formula)}"
        raise InputError(f"{shape}: {why}")
    if len(holding) > 1:
        shown = ", ".join(names[role] for role in holding[:SHOWN])
        raise InputError(
            f"{shape}: several files have queries of this formula ({shown}); give the file that is "
            f"meant the role {shape}"
        )
    return loaded[holding[0]][key]
