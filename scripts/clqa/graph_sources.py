"""The files of a graph, brought together from wherever the catalogue says they are."""

import logging
import os
import posixpath
import tempfile
from pathlib import Path

from clqa.archives import check_form, decompress, extract, form_of, member_names, plain_name
from clqa.checksums import digest, verify
from clqa.downloads import downloaded, downloaded_package, set_aside
from clqa.errors import InputError
from clqa.folder_items import expanded, in_folder, is_folder
from clqa.graph_entries import Item, archive_of, files_of, lying

EMBEDDED = Path(__file__).resolve().parents[2] / "workflow" / "resources" / "graphs"

log = logging.getLogger(__name__)


def gather(
    entry: dict,
    target: Path,
    folder_of_catalogue: str | os.PathLike,
    path_to_downloads: str | os.PathLike,
) -> dict:
    """Write the files of a (complete) catalogue entry into `target`, verified, by role.

    A file is named by its role and keeps its ending; compressed ones are decompressed.

    Returns
    -------
    dict
        The receipt: where the files came from, and name, path, size, sha256 of each.

    Raises
    ------
    InputError
        If a file cannot be had or is not the one that the entry describes.
    """
    receipt = _gathered(entry, target, folder_of_catalogue, path_to_downloads)
    if entry.get("on_bad_shape") != "skip":  # else their reader tells which shape has to go
        for file in receipt["files"].values():
            check_form(target / file["name"], plain_name(file["path"]), refuse_web_page=True)
    return receipt


def _gathered(entry: dict, target: Path, folder_of_catalogue, path_to_downloads) -> dict:
    source, files = entry["source"], files_of(entry)
    downloads = Path(path_to_downloads)
    archive = archive_of(entry)
    if "local" in entry:
        place = Path(folder_of_catalogue, Path(entry["local"]).expanduser())
        return {"kind": "local"} | _from_place(files, archive, place, target)
    if source["kind"] == "path":
        place = Path(folder_of_catalogue, Path(source["folder"]).expanduser())
        return {"kind": "path"} | _from_place(files, None, place, target)
    if source["kind"] == "embedded":
        return {"kind": "embedded"} | _from_folder(files, EMBEDDED / source["folder"], target)
    if source["kind"] == "package":
        path, origin = downloaded_package(archive, source["package"], downloads)
        return {"kind": "package"} | _from_archive(files, archive, path, target, origin)
    return {"kind": "urls"} | _from_urls(files, archive, source, downloads, target)


def _from_place(files: dict[str, Item], archive: Item | None, place: Path, target: Path) -> dict:
    """From a folder of the user's, or from an archive file, alone or in that folder."""
    if archive is not None and (place / archive.name).is_file():
        place = place / archive.name
    if place.is_dir():
        known = all(item.is_pinned or item.unknown for item in files.values())
        if archive is not None and not known:
            raise InputError(
                f"{place}: holds no {archive.name}, and the files have no checksums of their own; "
                "write an entry of kind path for unpacked files"
            )
        return _from_folder(files, place, target)
    if place.is_file():
        archive = archive or Item(place.name, unknown=True)
        verify(place, archive)
        return _from_archive(files, archive, place, target, None)
    raise InputError(f"{place}: no such folder or archive (paths start at the catalogue's folder)")


def _from_folder(files: dict[str, Item], folder: Path, target: Path) -> dict:
    receipts = {}
    for role, item in in_folder(files, folder).items():
        path = lying(folder, item.name)
        if path is None:
            raise InputError(f"{folder / item.name}: no such file, needed as {role}")
        receipts[role] = _taken(role, item, path, target)
    return {"files": receipts}


def _from_urls(
    files: dict[str, Item], archive: Item | None, source: dict, downloads: Path, target: Path
) -> dict:
    """From the archive, or if that cannot be had, from folders that serve the files singly."""
    folders = source.get("folders") or ()
    if archive is not None:
        try:
            return _from_downloaded_archive(files, archive, downloads, target)
        except InputError as error:
            if not folders:
                raise
            log.warning("%s; trying the files one by one", error)
    receipts = {}
    for role, item in files.items():
        if is_folder(item):
            raise InputError(f"{item.name}: a folder, which needs an archive that holds it")
        urls = tuple(f"{folder.rstrip('/')}/{item.name}" for folder in folders)
        path, origin = downloaded(item._replace(urls=urls), downloads)
        receipts[role] = _taken(role, item, path, target) | {"from": origin}
    return {"files": receipts}


def _from_downloaded_archive(
    files: dict[str, Item], archive: Item, downloads: Path, target: Path
) -> dict:
    path, origin = downloaded(archive, downloads)
    try:
        return _from_archive(files, archive, path, target, origin)
    except InputError:
        if not archive.is_pinned:  # then its members' checksums are what tells that it is bad
            set_aside(path)
        raise


def _from_archive(
    files: dict[str, Item], archive: Item, path: Path, target: Path, origin: str | None
) -> dict:
    """Members of an archive that has been verified, if it has a checksum; else they must be."""
    receipts = {}
    otherwise = "archive" if archive.is_pinned else "nothing"
    if any(map(is_folder, files.values())):
        files = expanded(files, member_names(path, archive.name), archive.name)
    with tempfile.TemporaryDirectory(dir=target, prefix=".members-") as folder:
        members = {
            item.name: Path(folder, f"{role}-{posixpath.basename(item.name)}")
            for role, item in files.items()
        }
        extract(path, members, name=archive.name)
        for role, item in files.items():
            try:
                receipts[role] = _taken(role, item, members[item.name], target, otherwise)
            except InputError as error:
                raise InputError(f"{path}: {error}") from error
    about = {"name": archive.name, "sha256": digest(path, "sha256"), "size": path.stat().st_size}
    return {"archive": about | {"from": origin}, "files": receipts}


def _taken(role: str, item: Item, path: Path, target: Path, otherwise: str = "nothing") -> dict:
    """Verify one file, copy it under its role's name and say what it was.

    The checksum is that of the file as declared; if it lies there with `.xz` or `.gz` added, that
    of its decompressed content.
    """
    as_declared = form_of(path.name) == form_of(item.name)
    name = role + posixpath.splitext(plain_name(posixpath.basename(item.name)))[1]
    if as_declared:
        verify(path, item)
    decompress(path, target / name, name=item.name if as_declared else path.name)
    if not as_declared:
        verify(target / name, item)
    return {
        "name": name,
        "path": item.name,
        "sha256": digest(target / name, "sha256"),
        "size": (target / name).stat().st_size,
        "verified_by": "sha256" if item.sha256 else "md5" if item.md5 else otherwise,
        **({"key": item.key} if item.key else {}),
    }
