"""Digests of our own source code, by content, so that a stage reruns when its code changes.

The digest of a script covers its syntax tree and that of every module of ours that it imports,
directly or not, at the top or inside a function. Comments, docstrings, layout and file times do
not count. Third-party modules do not count either: they are pinned by the lock.
"""

import ast
import functools
import hashlib
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
    found: dict[str, str] = {}
    while pending:
        path = pending.pop()
        name = path.relative_to(root).as_posix()
        if name not in found:
            found[name], imported = _read(path, root)
            pending.extend(imported)
    lines = "".join(f"{name} {found[name]}\n" for name in sorted(found))
    return hashlib.sha256(lines.encode()).hexdigest()


@functools.cache
def _read(path: Path, root: Path) -> tuple[str, tuple[Path, ...]]:
    """Digest of one file's syntax tree, and the files of ours that it imports."""
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: not valid Python ({error.msg})") from error
    pieces: list[str] = []
    imports: list[ast.Import | ast.ImportFrom] = []
    _write(tree, pieces, imports)
    imported = [file for node in imports for file in _imported_files(node, path, root)]
    return hashlib.sha256("".join(pieces).encode()).hexdigest(), tuple(imported)


def _imported_files(node: ast.Import | ast.ImportFrom, path: Path, root: Path) -> Iterator[Path]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _files(root, alias.name.split("."))
    else:
        start = path.parents[node.level - 1] if node.level else root
        module = node.module.split(".") if node.module else []
        for alias in node.names:
            yield from _files(start, [*module, alias.name])


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
