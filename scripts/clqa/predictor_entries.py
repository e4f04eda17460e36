"""What an entry of the catalogue of link predictors has to be beyond its schema."""

from pathlib import Path

from clqa.embeddings import MODELS
from clqa.errors import InputError


def check_predictor(entry: dict) -> None:
    """Refuse an entry whose keys do not go together.

    Raises
    ------
    InputError
        If it is not either trained or imported, or is to be trained for what its model cannot do.
    """
    if ("training" in entry) == ("imported" in entry):
        raise InputError("expected one of the keys training and imported")
    if entry.get("training", {}).get("relation_weight") and MODELS[entry["model"]].is_distance:
        raise InputError(f"training.relation_weight: not for {entry['model']}; leave it out")


def imported_files(entry: dict, folder: str) -> dict[str, str]:
    """Where the files of an imported predictor are, by their keys."""
    imported = entry["imported"]
    files = {key: imported[key]["path"] for key in ("entities", "relations")}
    files |= {key: imported[key] for key in ("entity_labels", "relation_labels") if key in imported}
    return {key: str(Path(folder) / path) for key, path in files.items()}
