"""The shards of every query set, and how large a model's predictions of its shapes are."""

from pathlib import Path

from clqa.configs import Catalogue
from clqa.errors import InputError, placed
from clqa.formulas import Formula, atoms, free_variables, parse, vectors
from clqa.graph_entries import local_files, vectors_of
from clqa.receipts import NAME, received_as
from clqa.shards import MAX_BYTES, asked_count, shards, size

PACKED = (".gz", ".xz", ".zip", ".tgz")  # files whose size says little


def sized_shards(settings: dict, catalogues: dict[str, Catalogue]) -> tuple[dict[str, dict], ...]:
    """Shards of every query set, of the run's shapes those that it has, and sizes of the shapes."""
    found, known = {}, {}
    for name, entry in catalogues["query_sets"].entries.items():
        shapes = [shape for shape in settings["shapes"] if shape in entry.get("shapes", [shape])]
        if name in settings["query_sets"] and not shapes:
            place = catalogues["query_sets"].place(name)
            raise InputError(f"{place}.shapes: has none of the shapes of the run")
        if name in settings["query_sets"]:
            with placed(catalogues["query_sets"].place(name)):
                _check_vectors(entry["graph"], shapes, catalogues)
        n_entities = _most_entities(catalogues["graphs"], entry["graph"])
        formulas = {shape: catalogues["shapes"].entries[shape] for shape in shapes}
        sizes = {
            shape: _size(entry, shape, formula, n_entities) for shape, formula in formulas.items()
        }
        free = {shape: free_variables(parse(formula)) for shape, formula in formulas.items()}
        several = {shape: names for shape, names in free.items() if len(names) > 1}
        found[name] = shards(sizes, settings["shards"], several)
        known[name] = {
            shape: MAX_BYTES if n_bytes is None else n_bytes for shape, n_bytes in sizes.items()
        }
    return found, known


def _check_vectors(graph: str, shapes: list[str], catalogues: dict[str, Catalogue]) -> None:
    """The graph has the degrees that the shapes ask for."""
    known = vectors_of(catalogues["graphs"].entries[graph])
    for shape in shapes:
        for number in vectors(parse(catalogues["shapes"].entries[shape])):
            if f"d{number}" not in known:
                raise InputError(
                    f"the shape {shape} asks for the degrees d{number}, but the graph {graph} has "
                    f"no files.d{number}; give them, or leave the shape out of `shapes` here"
                )


def _most_entities(graphs: Catalogue, graph: str) -> int | None:
    """Entities of a graph, or no fewer than it can have; None if neither is known."""
    entry = graphs.entries[graph]
    if "entities" in entry.get("facts", {}):
        return entry["facts"]["entities"]
    files = [Path(file) for file in local_files(entry, graphs.folders[graph])]
    sizes = [_bytes_of(file, graph) for file in files if file.suffix not in PACKED]
    if not files or len(sizes) < len(files) or None in sizes:
        return None
    # A line has two entities at most, and six bytes at least.
    return sum(sizes) // 3


def _bytes_of(file: Path, graph: str) -> int | None:
    """Size of a file that a graph is made from; that it had, if it is not there any more."""
    if file.is_file():
        return file.stat().st_size
    taken = received_as(f"results/graphs/{graph}/{NAME}", file)
    return None if taken is None else taken["size"]


def _size(entry: dict, shape: str, formula: str, n_entities: int | None) -> int | None:
    """Scores of a shape; None where the number of its queries or entities is not known."""
    if "published" in entry:
        count = entry["published"]["counts"].get(shape)
    else:
        count = _most_queries(entry["sampling"], parse(formula))
    n_variables = len(free_variables(parse(formula)))
    return None if n_entities is None or count is None else size(count, n_entities, n_variables)


def _most_queries(sampling: dict, formula: Formula) -> int | None:
    n_atoms = sum(1 for _ in atoms(formula))
    if sampling["exhaustive"] and n_atoms == 1:
        return None
    quotas = sampling["quotas"]
    # A query has one selected answer at least, and no shape has more classes than this.
    return asked_count(sampling, formula) if quotas is None else quotas["answers"] * (n_atoms + 1)
