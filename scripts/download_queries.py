"""Bring the files of a published query set together, verified, with a receipt of what came."""

import os

from clqa.files import replacing_folder, write_json
from clqa.graph_sources import gather
from clqa.logs import log_to
from clqa.receipts import write_receipt


def download_queries(
    path_to_source: str | os.PathLike,
    path_to_receipt: str | os.PathLike,
    published: dict,
    queries: str,
    folder_of_catalogue: str | os.PathLike = ".",
    path_to_downloads: str | os.PathLike = "results/downloads",
) -> None:
    """Fill a folder, which appears whole or not at all, with the declared files and a receipt.

    Parameters
    ----------
    published
        What the query set's entry of `config/query_sets.yaml` has under this key.
    folder_of_catalogue
        Where relative paths of the entry start.
    path_to_downloads
        What was fetched is kept here by checksum and may be put here by hand.

    Raises
    ------
    InputError
        If a file cannot be had or fails its check.
    """
    with replacing_folder(path_to_source) as source:
        receipt = gather(published, source, folder_of_catalogue, path_to_downloads)
        write_receipt(source, {"queries": queries} | receipt)
    write_json(path_to_receipt, {"queries": queries} | receipt)


if __name__ == "__main__":
    log_to(snakemake.log[0])
    download_queries(
        path_to_source=snakemake.output.source,
        path_to_receipt=snakemake.output.receipt,
        published=snakemake.params.published,
        queries=snakemake.params.queries,
        folder_of_catalogue=snakemake.params.folder,
    )
