"""Nothing is used before it is verified, nothing half-fetched stays, failures say what to do."""

import contextlib
import gzip
import hashlib
import http.server
import importlib.util
import io
import json
import logging
import lzma
import multiprocessing
import sys
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

from clqa import transfers
from clqa.checksums import readable_size
from clqa.downloads import downloaded, drop_path
from clqa.errors import InputError
from clqa.graph_entries import Item, complete_entry, local_files
from download_graph import download_graph

SPLITS = ("train", "valid", "test")
TEXTS = {f"{split}.txt": f"a\tr\t{split}\n".encode() for split in SPLITS}
FILES = {split: f"{split}.txt" for split in SPLITS}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(members, mode="w:gz"):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


ZIP = zipped({f"KG/{name}": content for name, content in TEXTS.items()})


class Server:
    """Serves `pages`: path to content, to status and content, or to a list of these in turn.

    `cut` holds the paths of which only half is sent; `asked` all paths asked for.
    """

    def __init__(self):
        self.pages, self.cut, self.asked = {}, set(), []

    def answer(self, path):
        self.asked.append(path)
        page = self.pages.get(path, (404, b"<html>not here</html>"))
        if isinstance(page, list):
            page = page.pop(0) if len(page) > 1 else page[0]
        return page if isinstance(page, tuple) else (200, page)


@pytest.fixture
def server():
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, content = state.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if self.path in state.cut else content)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        state.url = f"http://127.0.0.1:{served.server_port}"
        yield state
        served.shutdown()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(transfers, "PAUSE", 0)
    monkeypatch.setattr("sys.stdin", None)


def get(folder, source, files=FILES, graph="g", **keys):
    entry = {"source": source, "files": files} | keys
    download_graph(folder / graph / "source", entry, graph, folder, folder / "downloads")
    return json.loads((folder / graph / "source/receipt.json").read_text())


def contents(folder, graph="g"):
    return {
        path.name: path.read_bytes()
        for path in (folder / graph / "source").iterdir()
        if path.name != "receipt.json"
    }


def archive_at(*urls, content=ZIP, **keys):
    return {"kind": "urls", "archive": {"urls": list(urls), "sha256": sha256(content)} | keys}


def leftovers(folder):
    """Files and folders beside finished ones that nobody should see."""
    hidden = [path for path in folder.rglob(".*") if path.name != ".lock"]
    return hidden + [path for path in folder.rglob("*") if path.suffix == ".part"]


# Mirrors, and doing without


def test_the_next_mirror_serves_where_the_first_does_not(server, tmp_path):
    server.pages["/b/KG.zip"] = ZIP
    urls = f"{server.url}/a/KG.zip", f"{server.url}/b/KG.zip"
    receipt = get(tmp_path, archive_at(*urls))
    assert receipt["archive"] == {
        "name": "KG.zip",
        "sha256": sha256(ZIP),
        "size": len(ZIP),
        "from": urls[1],
    }
    assert contents(tmp_path) == TEXTS


def test_where_no_mirror_serves_the_message_says_what_to_do(server, tmp_path):
    source = archive_at(f"{server.url}/a/KG.zip", f"{server.url}/b/KG.zip", size=len(ZIP))
    item = Item("KG.zip", sha256=sha256(ZIP))
    with pytest.raises(InputError) as failure:
        get(tmp_path, source)
    message = str(failure.value)
    assert "\n" not in message
    for part in (
        "KG.zip",
        sha256(ZIP),
        readable_size(len(ZIP)),
        "/a/KG.zip: HTTP 404",
        "/b/KG.zip",
    ):
        assert part in message
    assert str(drop_path(item, tmp_path / "downloads")) in message
    assert not (tmp_path / "g/source").exists()
    assert not leftovers(tmp_path)


def test_a_file_put_there_by_hand_is_used_without_network(server, tmp_path):
    source = archive_at(f"{server.url}/KG.zip")
    path = drop_path(Item("KG.zip", sha256=sha256(ZIP)), tmp_path / "downloads")
    path.parent.mkdir(parents=True)
    path.write_bytes(ZIP)
    assert get(tmp_path, source)["archive"]["from"] is None
    assert contents(tmp_path) == TEXTS
    assert server.asked == []


def test_folders_serve_files_one_by_one(server, tmp_path):
    server.pages |= {f"/b/{name}": content for name, content in TEXTS.items()}
    files = {
        split: {"path": f"{split}.txt", "sha256": sha256(TEXTS[f"{split}.txt"])} for split in SPLITS
    }
    source = {"kind": "urls", "folders": [f"{server.url}/a", f"{server.url}/b/"]}
    receipt = get(tmp_path, source, files)
    assert receipt["files"]["valid"]["from"] == f"{server.url}/b/valid.txt"
    assert receipt["files"]["valid"]["verified_by"] == "sha256"
    assert contents(tmp_path) == TEXTS


def test_folders_help_out_where_the_archive_is_gone(server, tmp_path):
    server.pages |= {f"/{name}": content for name, content in TEXTS.items()}
    files = {
        split: {"path": f"{split}.txt", "sha256": sha256(TEXTS[f"{split}.txt"])} for split in SPLITS
    }
    get(
        tmp_path,
        archive_at(f"{server.url}/KG.zip", folders=None) | {"folders": [server.url]},
        files,
    )
    assert contents(tmp_path) == TEXTS


def test_a_passing_failure_is_tried_again(server, tmp_path):
    server.pages["/KG.zip"] = [(503, b"busy"), (503, b"busy"), ZIP]
    get(tmp_path, archive_at(f"{server.url}/KG.zip"))
    assert len(server.asked) == 3


def test_attempts_are_bounded(server, tmp_path):
    server.pages["/KG.zip"] = (503, b"busy")
    with pytest.raises(InputError, match="HTTP 503"):
        get(tmp_path, archive_at(f"{server.url}/KG.zip"))
    assert len(server.asked) == transfers.ATTEMPTS


def test_a_dead_host_is_told(tmp_path):
    with pytest.raises(InputError, match=r"http://127\.0\.0\.1:9/KG\.zip: .*Connection refused"):
        get(tmp_path, archive_at("http://127.0.0.1:9/KG.zip"))


# What is in the cache


def test_a_broken_copy_is_set_aside_and_fetched_once_more(server, tmp_path):
    server.pages["/KG.zip"] = ZIP
    path = drop_path(Item("KG.zip", sha256=sha256(ZIP)), tmp_path / "downloads")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PK\x03\x04 12 junk")
    get(tmp_path, archive_at(f"{server.url}/KG.zip"))
    assert path.read_bytes() == ZIP
    assert server.asked == ["/KG.zip"]


def test_a_cut_body_leaves_nothing_and_the_next_run_works(server, tmp_path):
    server.pages["/KG.zip"] = ZIP
    server.cut.add("/KG.zip")
    source = archive_at(f"{server.url}/KG.zip")
    with pytest.raises(InputError, match="the connection ended before the whole file had come"):
        get(tmp_path, source)
    assert not drop_path(Item("KG.zip", sha256=sha256(ZIP)), tmp_path / "downloads").exists()
    assert not (tmp_path / "g/source").exists()
    assert not leftovers(tmp_path)
    server.cut.clear()
    get(tmp_path, source)
    assert contents(tmp_path) == TEXTS


def test_a_verified_copy_is_used_whatever_the_server_has_now(server, tmp_path):
    server.pages["/KG.zip"] = [ZIP, zipped({"other": b""})]
    source = archive_at(f"{server.url}/KG.zip")
    get(tmp_path, source)
    receipt = get(tmp_path, source)
    assert receipt["archive"]["from"] == f"{server.url}/KG.zip"
    assert len(server.asked) == 1


def test_a_replaced_file_is_refused_with_both_checksums(server, tmp_path):
    other = zipped({"other": b"content"})
    server.pages["/KG.zip"] = other
    with pytest.raises(InputError) as failure:
        get(tmp_path, archive_at(f"{server.url}/KG.zip"))
    assert sha256(ZIP) in str(failure.value)
    assert sha256(other) in str(failure.value)
    assert f"{len(other)} bytes" in str(failure.value)
    assert not leftovers(tmp_path)


def test_md5_is_enough(server, tmp_path):
    server.pages["/KG.zip"] = [ZIP, zipped({})]
    archive = {"urls": [f"{server.url}/KG.zip"], "md5": hashlib.md5(ZIP).hexdigest()}
    receipt = get(tmp_path, {"kind": "urls", "archive": archive})
    assert receipt["files"]["train"]["verified_by"] == "archive"
    assert receipt["archive"]["sha256"] == sha256(ZIP)


def test_a_web_page_of_another_size_is_called_a_web_page(server, tmp_path):
    server.pages["/KG.zip"] = b"<html>please log in</html>" + bytes(10**6)
    with pytest.raises(
        InputError, match=r"not a zip \(starts with '<html'\); serves 1000026 bytes"
    ):
        get(tmp_path, archive_at(f"{server.url}/KG.zip", size=7))


def test_a_wrong_size_is_refused_before_it_is_fetched(server, tmp_path):
    server.pages["/KG.zip"] = ZIP
    with pytest.raises(InputError, match=f"serves {len(ZIP)} bytes, expected 7"):
        get(tmp_path, archive_at(f"{server.url}/KG.zip", size=7))


def test_graphs_that_share_an_archive_fetch_it_once(server, tmp_path):
    server.pages["/KG.zip"] = ZIP
    for graph in "abc":
        get(tmp_path, archive_at(f"{server.url}/KG.zip"), graph=graph)
    assert len(server.asked) == 1


def _download(item, folder, start):
    start.wait()
    downloaded(item, Path(folder))


def test_jobs_at_the_same_time_fetch_it_once(server, tmp_path):
    pytest.importorskip("fcntl", reason="this system has no file locks")
    server.pages["/KG.zip"] = ZIP
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    item = Item("KG.zip", (f"{server.url}/KG.zip",), sha256=sha256(ZIP))
    arguments = item, str(tmp_path), start
    jobs = [context.Process(target=_download, args=arguments) for _ in range(3)]
    for job in jobs:
        job.start()
    start.set()
    for job in jobs:
        job.join(60)
    assert [job.exitcode for job in jobs] == [0, 0, 0]
    assert len(server.asked) == 1


def test_what_a_killed_download_left_is_removed(server, tmp_path):
    pytest.importorskip("fcntl", reason="this system has no file locks")
    server.pages["/KG.zip"] = ZIP
    folder = drop_path(Item("KG.zip", sha256=sha256(ZIP)), tmp_path / "downloads").parent
    folder.mkdir(parents=True)
    (folder / ".KG.killed.zip").write_bytes(b"half")
    (folder / ".pip-killed").mkdir()
    (folder / ".pip-killed" / "half.whl").write_bytes(b"half")
    get(tmp_path, archive_at(f"{server.url}/KG.zip"))
    assert not leftovers(tmp_path)


# Checksums that are not known


def test_a_download_without_checksum_has_to_be_asked_for(server, tmp_path):
    source = {"kind": "urls", "archive": {"urls": [f"{server.url}/KG.zip"]}}
    with pytest.raises(InputError, match=r"files\.train has no sha256 or md5.*checksum: unknown"):
        get(tmp_path, source)
    assert server.asked == []


def test_an_unknown_checksum_is_recorded_and_kept_to(server, tmp_path):
    server.pages["/KG.zip"] = ZIP
    source = {"kind": "urls", "archive": {"urls": [f"{server.url}/KG.zip"], "checksum": "unknown"}}
    receipt = get(tmp_path, source)
    assert receipt["archive"]["sha256"] == sha256(ZIP)
    assert receipt["files"]["test"]["verified_by"] == "nothing"
    assert receipt["files"]["test"]["sha256"] == sha256(TEXTS["test.txt"])
    kept = next((tmp_path / "downloads").glob("*/KG.zip"))
    kept.write_bytes(zipped({"other": b""}))
    get(tmp_path, source)
    assert kept.read_bytes() == ZIP
    assert len(server.asked) == 2


def test_checksums_of_members_are_enough_and_a_bad_archive_does_not_stay(server, tmp_path):
    bad = zipped(TEXTS | {"valid.txt": b"changed"})
    server.pages["/KG.zip"] = [bad, ZIP]
    files = {
        split: {"path": f"{split}.txt", "sha256": sha256(TEXTS[f"{split}.txt"])} for split in SPLITS
    }
    source = {"kind": "urls", "archive": {"urls": [f"{server.url}/KG.zip"]}}
    with pytest.raises(InputError, match=r"valid\.txt: wrong checksum") as failure:
        get(tmp_path, source, files)
    assert sha256(b"changed") in str(failure.value)
    assert sha256(TEXTS["valid.txt"]) in str(failure.value)
    get(tmp_path, source, files)
    assert contents(tmp_path) == TEXTS


# What servers send instead of data


def test_a_refusal_names_the_status_and_the_url(server, tmp_path):
    server.pages["/KG.zip"] = (403, b"<html>forbidden</html>")
    with pytest.raises(InputError, match=rf"{server.url}/KG\.zip: HTTP 403"):
        get(tmp_path, archive_at(f"{server.url}/KG.zip"))
    assert len(server.asked) == 1
    assert not list((tmp_path / "downloads").glob("*/KG.zip*"))


@pytest.mark.parametrize("keys", [{}, {"sha256": None, "checksum": "unknown"}])
def test_a_web_page_is_not_a_zip(server, tmp_path, keys):
    server.pages["/KG.zip"] = b"<html>log in first</html>"
    with pytest.raises(InputError, match=r"not a zip \(starts with '<html'\)"):
        get(tmp_path, archive_at(f"{server.url}/KG.zip", **keys))
    assert not list((tmp_path / "downloads").glob("*/KG.zip*"))


def test_a_web_page_is_not_a_data_file(server, tmp_path):
    server.pages |= {f"/{name}": b"<!DOCTYPE html><html>" for name in TEXTS}
    files = {split: {"path": f"{split}.txt", "checksum": "unknown"} for split in SPLITS}
    with pytest.raises(InputError, match="a web page, not data"):
        get(tmp_path, {"kind": "urls", "folders": [server.url]}, files)


@pytest.mark.parametrize("name", ["KG.tar.gz", "KG.tgz", "KG.tar.xz", "KG.tar"])
def test_a_web_page_is_no_archive_of_any_kind(server, tmp_path, name):
    server.pages[f"/{name}"] = b"<html>"
    source = {"kind": "urls", "archive": {"urls": [f"{server.url}/{name}"], "checksum": "unknown"}}
    with pytest.raises(InputError, match=r"KG\.\S+: not an? .* \(starts with '<html'\)"):
        get(tmp_path, source)


def test_a_download_is_announced_with_its_size(server, tmp_path, caplog):
    server.pages["/KG.zip"] = ZIP
    with caplog.at_level(logging.INFO):
        get(tmp_path, archive_at(f"{server.url}/KG.zip"))
    assert f"downloading KG.zip ({readable_size(len(ZIP))}) from {server.url}/KG.zip" in caplog.text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(730_295, "730.3 kB"), (1_675_873_193, "1.7 GB"), (12_300_000, "12.3 MB"), (999, "999 bytes")],
)
def test_sizes_are_readable(n_bytes, text):
    assert readable_size(n_bytes) == text


# Archives


def local(tmp_path, name, content, files=FILES):
    (tmp_path / name).write_bytes(content)
    return get(tmp_path, {"kind": "path", "folder": name}, files)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("KG.zip", ZIP),
        ("KG.tar", tarred(TEXTS, "w")),
        ("KG.tar.gz", tarred(TEXTS)),
        ("KG.tgz", tarred({f"./{name}": content for name, content in TEXTS.items()})),
        ("KG.tar.xz", tarred(TEXTS, "w:xz")),
    ],
)
def test_archives_of_all_forms_are_read(tmp_path, name, content):
    local(tmp_path, name, content)
    assert contents(tmp_path) == TEXTS


@pytest.mark.parametrize(
    ("name", "content"),
    [("KG.zip", ZIP), ("KG.tar.gz", tarred(TEXTS)), ("KG.tar.xz", tarred(TEXTS, "w:xz"))],
)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_cut_archives_are_told_in_one_line(tmp_path, name, content, share):
    with pytest.raises(InputError, match=rf"^{name}: cut short or damaged \(.*\)$"):
        local(tmp_path, name, content[: int(len(content) * share)])
    assert not (tmp_path / "g/source").exists()


@pytest.mark.parametrize("path", ["../train.txt", "/train.txt", "a/../../b", "..\\b", "C:/b"])
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_archives_whose_paths_leave_the_folder_are_refused(tmp_path, pack, path):
    name = "KG.zip" if pack is zipped else "KG.tar.gz"
    with pytest.raises(InputError, match=r"refused, the path .* leaves the folder"):
        local(tmp_path, name, pack(TEXTS | {path: b"outside"}))


def test_links_in_archives_are_not_followed(tmp_path):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        link = tarfile.TarInfo("train.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    with pytest.raises(InputError, match=r"KG\.tar: 'train\.txt': a link or device"):
        local(tmp_path, "KG.tar", stream.getvalue())


def test_members_are_found_by_the_last_parts_of_their_paths(tmp_path):
    members = {f"top/{graph}/{name}": graph.encode() for name in TEXTS for graph in ("A+H", "B")}
    members |= {f"__MACOSX/A+H/._{name}": b"" for name in TEXTS}
    local(tmp_path, "KG.zip", zipped(members), {split: f"A*H/{split}.txt" for split in SPLITS})
    assert set(contents(tmp_path).values()) == {b"A+H"}
    with pytest.raises(
        InputError, match=r"train\.txt fits several files: top/A\+H/train\.txt, top/B"
    ):
        local(tmp_path, "KG.zip", zipped(members))
    with pytest.raises(InputError, match=r"holds no file train\.tsv \(it holds: "):
        local(tmp_path, "KG.zip", ZIP, {split: f"{split}.tsv" for split in SPLITS})


# Files of one's own


def test_compressed_files_are_decompressed(tmp_path):
    for split, (ending, compress) in zip(
        SPLITS, [(".gz", gzip.compress), (".xz", lzma.compress), ("", bytes)], strict=True
    ):
        (tmp_path / f"{split}.tsv{ending}").write_bytes(compress(TEXTS[f"{split}.txt"]))
    files = {"train": "train.tsv.gz", "valid": "valid.tsv.xz", "test": "test.tsv"}
    receipt = get(tmp_path, {"kind": "path", "folder": "."}, files)
    assert contents(tmp_path) == {f"{s}.tsv": TEXTS[f"{s}.txt"] for s in SPLITS}
    assert receipt["files"]["train"]["verified_by"] == "nothing"
    assert receipt["files"]["train"]["sha256"] == sha256(TEXTS["train.txt"])


def test_a_damaged_compressed_file_is_told(tmp_path):
    for name, content in TEXTS.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content * 99)[:-9])
    with pytest.raises(InputError, match=r"train\.txt\.gz: cut short or damaged"):
        get(tmp_path, {"kind": "path", "folder": "."})


def test_a_missing_file_is_named_with_its_role(tmp_path):
    with pytest.raises(
        InputError, match=r"no/train\.txt: no such file, needed as train|no: no such"
    ):
        get(tmp_path, {"kind": "path", "folder": "no"})
    (tmp_path / "train.txt").write_bytes(b"")
    with pytest.raises(InputError, match=r"valid\.txt: no such file, needed as valid"):
        get(tmp_path, {"kind": "path", "folder": "."})


@pytest.mark.parametrize("held", ["archive", "folder with the archive"])
def test_a_local_archive_stands_in_for_the_download(server, tmp_path, held):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "KG.zip").write_bytes(ZIP)
    place = "mine/KG.zip" if held == "archive" else "mine"
    receipt = get(tmp_path, archive_at(f"{server.url}/KG.zip"), local=place)
    assert receipt["kind"] == "local"
    assert receipt["files"]["train"]["verified_by"] == "archive"
    assert contents(tmp_path) == TEXTS
    assert server.asked == []
    (folder / "KG.zip").write_bytes(zipped(TEXTS))
    with pytest.raises(InputError, match=r"KG\.zip: wrong checksum"):
        get(tmp_path, archive_at(f"{server.url}/KG.zip"), local=place)


@pytest.mark.parametrize("ending", ["", ".xz", ".gz"])
def test_local_files_stand_in_under_the_same_checksums(tmp_path, ending):
    compress = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress}[ending]
    folder = tmp_path / "mine/KG"
    folder.mkdir(parents=True)
    for name, content in TEXTS.items():
        (folder / (name + ending)).write_bytes(compress(content))
    files = {s: {"path": f"KG/{s}.txt", "sha256": sha256(TEXTS[f"{s}.txt"])} for s in SPLITS}
    source = archive_at("http://127.0.0.1:9/KG.zip")
    for place in ("mine", "mine/KG"):
        get(tmp_path, source, files, local=place)
        assert contents(tmp_path) == TEXTS
    (folder / f"test.txt{ending}").write_bytes(compress(b"other"))
    with pytest.raises(InputError, match=r"test\.txt: wrong checksum: expected .* found"):
        get(tmp_path, source, files, local="mine")


def test_local_files_that_cannot_be_checked_are_not_taken_for_the_archive(tmp_path):
    with pytest.raises(InputError, match=r"holds no KG\.zip, .* entry of kind path"):
        get(tmp_path, archive_at("http://127.0.0.1:9/KG.zip"), local=".")


def test_a_failed_stage_leaves_the_former_result_alone(tmp_path):
    local(tmp_path, "KG.zip", ZIP)
    with pytest.raises(InputError):
        local(tmp_path, "KG.zip", ZIP[:90])
    assert contents(tmp_path) == TEXTS
    assert not leftovers(tmp_path)


def test_files_of_ones_own_are_inputs_of_the_rule(tmp_path):
    (tmp_path / "train.txt.xz").write_bytes(b"")
    entry = {"source": {"kind": "path", "folder": "."}, "files": FILES}
    found = local_files(entry, str(tmp_path))
    assert [Path(path).name for path in found] == ["train.txt.xz", "valid.txt", "test.txt"]
    assert local_files(entry | {"source": {"kind": "embedded", "folder": "umls"}}, ".") == []
    assert local_files(entry | {"source": archive_at("http://x/KG.zip")}, ".") == []
    (tmp_path / "KG.zip").write_bytes(b"")
    entry |= {"source": archive_at("http://x/KG.zip"), "local": "."}
    assert [Path(path).name for path in local_files(entry, str(tmp_path))] == ["KG.zip"]


# Packages


def wheel():
    about = "Metadata-Version: 2.1\nName: clqa-toy-graphs\nVersion: 1.0\n"
    kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    info = "clqa_toy_graphs-1.0.dist-info"
    files = {f"clqa_toy_graphs/{name}": content for name, content in TEXTS.items()}
    files |= {f"{info}/METADATA": about.encode(), f"{info}/WHEEL": kind.encode()}
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    return zipped(files | {f"{info}/RECORD": record.encode()})


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip looks into instead of the package index."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("no pip in this environment")
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


NAME = "clqa_toy_graphs-1.0-py3-none-any.whl"


def test_a_file_comes_out_of_a_package(index, tmp_path):
    content = wheel()
    (index / NAME).write_bytes(content)
    archive = {"name": NAME, "sha256": sha256(content)}
    source = {"kind": "package", "package": "clqa-toy-graphs==1.0", "archive": archive}
    files = {split: f"clqa_toy_graphs/{split}.txt" for split in SPLITS}
    receipt = get(tmp_path, source, files)
    assert receipt["archive"]["from"] == "clqa-toy-graphs==1.0"
    assert contents(tmp_path) == TEXTS
    assert "clqa_toy_graphs" not in sys.modules
    (index / NAME).unlink()
    get(tmp_path, source, files)


def test_a_package_that_is_not_there_is_told_with_the_place_to_put_it(index, tmp_path):
    archive = {"name": NAME, "sha256": "0" * 64}
    source = {"kind": "package", "package": "clqa-toy-graphs==1.0", "archive": archive}
    with pytest.raises(
        InputError, match=rf"pip: .*clqa-toy-graphs==1\.0.*put the file at .*{NAME}"
    ):
        get(tmp_path, source)
    assert not leftovers(tmp_path)
    (index / NAME).write_bytes(wheel())
    with pytest.raises(InputError, match=r"wrong checksum: expected sha256 0{64}"):
        get(tmp_path, source)


# What an entry may say


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": {"kind": "ftp"}}, "graph g: source.kind is 'ftp'; known: embedded, path"),
        ({"source": {"kind": "path"}}, "a source of kind path needs source.folder"),
        (
            {"source": {"kind": "path", "folder": ".", "folders": []}},
            "source.folders is not for kind",
        ),
        ({"source": {"kind": "urls"}}, "needs source.archive or .folders"),
        ({"source": {"kind": "package", "package": "a==1"}}, "package needs source.archive"),
        ({"files": {"train": "a", "valid": "b"}}, "files.test is missing"),
        ({"columns": ["head", "tail", "tail"]}, "columns must be head, relation and tail"),
        ({"fields": "ids"}, "fields: ids needs ids: given"),
        ({"ids": "given"}, "ids: given needs files.entities"),
        ({"files": FILES | {"entities": "e.tsv"}}, "files.entities is only read with ids: given"),
    ],
)
def test_keys_that_do_not_go_together_are_told(change, message):
    entry = {"source": {"kind": "path", "folder": "."}, "files": FILES}
    with pytest.raises(InputError) as failure:
        complete_entry("g", entry | change)
    assert message in str(failure.value)


def test_the_lock_does_not_outlive_a_failure(server, tmp_path):
    source = archive_at(f"{server.url}/KG.zip")
    with contextlib.suppress(InputError):
        get(tmp_path, source)
    server.pages["/KG.zip"] = ZIP
    get(tmp_path, source)
