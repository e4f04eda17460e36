"""Digests of our own source code, by content, so that a stage reruns when its code changes.

The digest of a script covers its syntax tree and that of every module of ours that it imports,
directly or not, at the top or inside a function. Comments, docstrings, layout and file times do
not count. Third-party modules do not count either: they are pinned by the lock.
"""

import ast
import atexit
import contextlib
import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from clqa.errors import InputError

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def digest(*scripts: str | Path, root: Path | None = None) -> str:
    """Hex digest over scripts and all modules of ours that they import.

    A module is ours if it lies below `root`: by default the folder of the first script, which is on
    `sys.path` when the script runs.

    Raises
    ------
    InputError
        If a script is missing or is not valid Python.
    """
    root = root or Path(scripts[0]).resolve().parent
    pending = [Path(script).resolve() for script in scripts]
    found: dict[Path, str] = {}
    while pending:
        path = pending.pop()
        if path not in found:
            found[path], imported = _read(path, root)
            pending.extend(imported)
    names = {path.relative_to(root).as_posix(): content for path, content in found.items()}
    lines = "".join(f"{name} {names[name]}\n" for name in sorted(names))
    return hashlib.sha256(lines.encode()).hexdigest()


@functools.cache
def _read(path: Path, root: Path) -> tuple[str, tuple[Path, ...]]:
    """Digest of one file's syntax tree, and the files of ours that it imports."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    known = _known(root / "__pycache__" / "digests.json")
    key = hashlib.sha256(content).hexdigest()
    if key not in known:
        known[key] = _analysed(content, path)
    digest_of_tree, imports = known[key]
    imported = [file for one in imports for file in _imported_files(*one, path, root)]
    return digest_of_tree, tuple(imported)


def _analysed(content: bytes, path: Path) -> list:
    """Digest of the syntax tree of a file, and of each import its level, module and names."""
    try:
        tree = ast.parse(content, filename=str(path))
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: not valid Python ({error.msg})") from error
    pieces: list[str] = []
    imports: list[ast.Import | ast.ImportFrom] = []
    _write(tree, pieces, imports)
    found = [
        [getattr(node, "level", 0), getattr(node, "module", None), [one.name for one in node.names]]
        for node in imports
    ]
    return [hashlib.sha256("".join(pieces).encode()).hexdigest(), found]


@functools.cache
def _known(path: Path) -> dict[str, list]:
    """What `_analysed` has said of contents, by their sha256; kept in a file beside bytecode.

    Every job of a cluster reads the rules anew, and most of that time went into syntax trees.
    """
    own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    try:
        kept = json.loads(path.read_bytes())
        known = dict(kept["trees"]) if kept["by"] == own else {}
    except (OSError, ValueError, KeyError, TypeError):
        known = {}
    if not sys.dont_write_bytecode:
        atexit.register(_keep, path, own, known, len(known))
    return known


def _keep(path: Path, own: str, known: dict[str, list], n_read: int) -> None:
    """Write what is new, if the folder may be written to; of several processes the last wins."""
    if len(known) == n_read:
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        temporary.write_text(json.dumps({"by": own, "trees": known}), encoding="utf-8")
        temporary.replace(path)


def _imported_files(
    level: int, module: str | None, names: list[str], path: Path, root: Path
) -> Iterator[Path]:
    if module is None and not level:
        for name in names:
            yield from _files(root, name.split("."))
    else:
        start = path.parents[level - 1] if level else root
        parts = module.split(".") if module else []
        for name in names:
            yield from _files(start, [*parts, name])


def _files(start: Path, parts: list[str]) -> Iterator[Path]:
    """Every file that importing `parts` from the folder `start` runs: packages, then the module.

    The last part may be a name inside the module, for which there is no file.
    """
    for depth in range(len(parts) + 1):
        location = start.joinpath(*parts[:depth])
        if depth and location.with_suffix(".py").is_file():
            yield location.with_suffix(".py")
            return
        if (location / "__init__.py").is_file():
            yield location / "__init__.py"
        elif not location.is_dir():
            return


def _write(node: object, pieces: list[str], imports: list[ast.Import | ast.ImportFrom]) -> None:
    """Append a syntax tree as text that is the same under every Python version, and its imports.

    `ast.dump` is not: later versions add fields, empty ones here, and leave others out.
    """
    if isinstance(node, list):
        pieces.append("[")
        for item in node:
            _write(item, pieces, imports)
        pieces.append("]")
    elif isinstance(node, ast.Constant):
        pieces.append(f"{type(node.value).__name__}:{node.value!r},")
    elif isinstance(node, ast.AST):
        pieces.append(f"{type(node).__name__}(")
        for name, value in vars(node).items():
            if name in node._fields and name != "ctx" and value is not None and value != []:
                pieces.append(f"{name}=")
                _write(_counting(node, name, value), pieces, imports)
        pieces.append(")")
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(node)
    else:
        pieces.append(f"{node!r},")


def _counting(node: ast.AST, name: str, value: object) -> object:
    """What of a field counts: all but docstrings, and empty pieces of f-strings.

    The latter come and go between Python versions.
    """
    if name == "body" and isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False):
        return value[1:]
    if isinstance(node, ast.JoinedStr):
        return [piece for piece in value if getattr(piece, "value", None) != ""]
    return value
