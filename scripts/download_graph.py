"""Bring the source files of a graph together, verified, with a receipt of what came."""

import os

from clqa.files import replacing_folder, write_json
from clqa.graph_entries import complete_entry
from clqa.graph_sources import gather
from clqa.logs import log_to
from clqa.receipts import write_receipt


def download_graph(
    path_to_source_folder: str | os.PathLike,
    entry: dict,
    graph: str,
    folder_of_catalogue: str | os.PathLike = ".",
    path_to_downloads: str | os.PathLike = "results/downloads",
    path_to_receipt: str | os.PathLike | None = None,
) -> None:
    """Fill a folder with the files that a catalogue entry declares, and `receipt.json`.

    Parameters
    ----------
    path_to_source_folder
        Appears whole or not at all; files are named by their roles (`train.txt`, `entities.pkl`).
    entry
        The graph's entry of `config/graphs.yaml`.
    folder_of_catalogue
        Where relative paths of the entry start.
    path_to_downloads
        What was fetched is kept here by checksum and may be put here by hand.
    path_to_receipt
        Where a copy of the receipt goes: a file is known by its content, a folder by its time.

    Raises
    ------
    InputError
        If a file cannot be had or fails its check.
    """
    entry = complete_entry(graph, entry)
    with replacing_folder(path_to_source_folder) as source:
        receipt = gather(entry, source, folder_of_catalogue, path_to_downloads)
        write_receipt(source, {"graph": graph} | receipt)
    if path_to_receipt is not None:
        write_json(path_to_receipt, {"graph": graph} | receipt)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    download_graph(
        path_to_source_folder=snakemake.output.source,
        entry=snakemake.params.entry,
        graph=snakemake.params.graph,
        folder_of_catalogue=snakemake.params.folder,
        path_to_receipt=snakemake.output.receipt,
    )
