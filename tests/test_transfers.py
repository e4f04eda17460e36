"""Downloads over lines that are cut, slow or endless, and from servers that answer strangely."""

import contextlib
import hashlib
import re
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from clqa import transfers
from clqa.downloads import downloaded, drop_path
from clqa.errors import InputError
from clqa.graph_entries import Item

CONTENT = bytes(range(256)) * 40
OTHER = bytes(reversed(CONTENT))
TAG = {"ETag": '"one"'}


class Server:
    """Answers each connection by the next step, the last one for ever; keeps what was asked.

    A step is called with the socket and the headers of the request.
    """

    def __init__(self, steps):
        self.steps, self.asked = list(steps), []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.closed = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while not self.closed.is_set():
            try:
                line, _ = self.socket.accept()
            except OSError:
                return
            step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
            threading.Thread(target=self._answer, args=(line, step), daemon=True).start()

    def _answer(self, line, step):
        with line, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += line.recv(1 << 16)
            first, *rest = head.decode("latin-1").split("\r\n")
            self.asked.append((first, dict(one.split(": ", 1) for one in rest if one)))
            step(line, self.asked[-1][1])


@pytest.fixture
def serve():
    servers = []

    def start(*steps):
        servers.append(Server(steps))
        return servers[-1]

    yield start
    for server in servers:
        server.closed.set()
        server.socket.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(transfers, "PAUSE", 0)
    monkeypatch.setattr("sys.stdin", None)  # whatever asks a question fails


def head(status="200 OK", **headers):
    lines = [f"HTTP/1.1 {status}", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode()


def answer(content, status="200 OK", sent=None, **headers):
    """All of a content announced, and the first bytes of it sent."""
    headers = {"Content_Length": len(content)} | headers
    return lambda line, _: line.sendall(head(status, **headers) + content[:sent])


def rest_of(content, **headers):
    """The part that is asked for; it must be asked for."""

    def step(line, asked):
        start = int(re.fullmatch(r"bytes=(\d+)-", asked["Range"])[1])
        where = f"bytes {start}-{len(content) - 1}/{len(content)}"
        part = {"Content_Length": len(content) - start, "Content_Range": where} | headers
        line.sendall(head("206 Partial Content", **part) + content[start:])

    return step


def item(*urls, content=CONTENT, **keys):
    keys = {"sha256": hashlib.sha256(content).hexdigest()} | keys
    return Item("triples.tsv", tuple(urls), **keys)


def fetched(folder, wanted):
    path, source = downloaded(wanted, folder)
    assert source in wanted.urls
    return path.read_bytes()


def refusal(folder, wanted) -> str:
    with pytest.raises(InputError) as caught:
        downloaded(wanted, folder)
    assert "\n" not in str(caught.value)
    assert str(drop_path(wanted, folder)) in str(caught.value)
    return str(caught.value)


def held(folder: Path) -> list[str]:
    """What there is beside finished files."""
    return sorted(path.name for path in folder.glob("*/.*") if path.name != ".lock")


def test_a_cut_download_goes_on_where_it_stopped(serve, tmp_path):
    server = serve(answer(CONTENT, sent=4000, **TAG), rest_of(CONTENT))
    assert fetched(tmp_path, item(server.url)) == CONTENT
    first, second = (asked for _, asked in server.asked)
    assert "Range" not in first
    assert (second["Range"], second["If-Range"]) == ("bytes=4000-", '"one"')
    assert held(tmp_path) == []


def test_the_next_run_goes_on_where_the_last_one_stopped(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(transfers, "ATTEMPTS", 1)
    date = "Mon, 02 Jan 2023 03:04:05 GMT"
    server = serve(answer(CONTENT, sent=4000, Last_Modified=date), rest_of(CONTENT))
    assert "connection ended before" in refusal(tmp_path, item(server.url))
    assert held(tmp_path) == [".triples.tsv.part", ".triples.tsv.part.json"]
    assert not drop_path(item(), tmp_path).exists()
    assert fetched(tmp_path, item(server.url)) == CONTENT
    assert server.asked[1][1]["If-Range"] == date
    assert held(tmp_path) == []


def test_of_a_file_that_has_changed_meanwhile_nothing_old_is_kept(serve, tmp_path):
    server = serve(answer(OTHER, sent=4000, **TAG), answer(CONTENT, ETag='"two"'))
    assert fetched(tmp_path, item(server.url)) == CONTENT
    assert "Range" in server.asked[1][1]


def test_a_rest_of_something_else_does_not_get_in(serve, tmp_path):
    server = serve(answer(CONTENT, sent=4000, **TAG), rest_of(OTHER), answer(CONTENT))
    assert "wrong checksum" in refusal(tmp_path, item(server.url))
    assert held(tmp_path) == []
    assert fetched(tmp_path, item(server.url)) == CONTENT


@pytest.mark.parametrize(
    "wrong",
    [
        answer(CONTENT[5:], "206 Partial Content", Content_Range="bytes 5-10239/10240"),
        answer(CONTENT[4000:], "206 Partial Content"),
        answer(CONTENT[4000:], "206 Partial Content", Content_Range="bytes x"),
        answer(b"", "416 Range Not Satisfiable", Content_Range="bytes */10240"),
    ],
)
def test_an_answer_that_is_not_the_rest_leads_to_a_new_start(serve, tmp_path, wrong):
    server = serve(answer(CONTENT, sent=4000, **TAG), wrong, answer(CONTENT))
    assert fetched(tmp_path, item(server.url)) == CONTENT
    assert ["Range" in asked for _, asked in server.asked] == [False, True, False]


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"weak"'}, TAG | {"Accept_Ranges": "none"}])
def test_without_a_sign_of_the_version_a_download_starts_anew(serve, tmp_path, headers):
    server = serve(answer(CONTENT, sent=4000, **headers), answer(CONTENT))
    assert fetched(tmp_path, item(server.url)) == CONTENT
    assert "Range" not in server.asked[1][1]


def test_attempts_that_bring_something_are_not_counted(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(transfers, "PROGRESS", 1000)
    places = range(1000, 9000, 1000)

    def until(place):
        def step(line, asked):
            start = int(asked["Range"][6:-1])
            where = {"Content_Range": f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"}
            line.sendall(head("206 Partial Content", **where) + CONTENT[start:place])

        return step

    steps = [until(place) for place in places[1:]]
    server = serve(answer(CONTENT, sent=1000, **TAG), *steps, rest_of(CONTENT))
    assert fetched(tmp_path, item(server.url)) == CONTENT
    assert len(server.asked) == 9


def test_attempts_that_bring_the_same_again_are_counted(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(transfers, "PROGRESS", 1000)
    server = serve(answer(CONTENT, sent=4000))
    refusal(tmp_path, item(server.url))
    assert len(server.asked) == 1 + transfers.ATTEMPTS
    assert held(tmp_path) == []


def test_the_part_of_one_mirror_outlasts_another_that_has_nothing(serve, tmp_path):
    good, bad = serve(answer(CONTENT, sent=4000, **TAG)), serve(answer(b"", "404 Not Found"))
    wanted = item(good.url, bad.url)
    assert "HTTP 404" in refusal(tmp_path, wanted)
    good.steps = [rest_of(CONTENT)]
    assert fetched(tmp_path, wanted) == CONTENT


def test_a_server_that_says_nothing_is_given_up(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(transfers, "TIMEOUT", (1, 0.1))
    server = serve(lambda *_: time.sleep(0.3))
    assert "timed out" in refusal(tmp_path, item(server.url))
    assert len(server.asked) == transfers.ATTEMPTS


def test_a_server_that_stops_in_the_middle_is_asked_for_the_rest(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(transfers, "TIMEOUT", (1, 0.1))

    def stall(line, _):
        line.sendall(head(Content_Length=len(CONTENT), **TAG) + CONTENT[:4000])
        time.sleep(0.3)

    server = serve(stall, rest_of(CONTENT))
    assert fetched(tmp_path, item(server.url)) == CONTENT


def test_a_server_that_sends_a_byte_now_and_then_is_given_up(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(transfers, "WINDOW", 0.2)

    def trickle(line, _):
        line.sendall(head(Content_Length=len(CONTENT)))
        for byte in CONTENT[:50]:
            line.sendall(bytes([byte]))
            time.sleep(0.02)

    server = serve(trickle)
    started = time.monotonic()
    assert re.search(r"too slow, \d+ bytes in 0\.2 s", refusal(tmp_path, item(server.url)))
    assert time.monotonic() - started < 10
    assert held(tmp_path) == []


def test_waiting_doubles_and_a_server_may_ask_for_more_within_bounds(serve, tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr(transfers, "PAUSE", 2)
    monkeypatch.setattr(transfers, "ATTEMPTS", 6)
    # The module's own clock: servers of other tests may still be sleeping.
    clock = SimpleNamespace(**{**vars(time), "sleep": waited.append})
    monkeypatch.setattr(transfers, "time", clock)
    busy = "503 Service Unavailable"
    steps = [answer(b"", busy, Retry_After=text) for text in ("0", "x", "30", "99999999")]
    server = serve(*steps, answer(b"", busy))
    assert "HTTP 503" in refusal(tmp_path, item(server.url))
    assert waited == [2, 4, 30, 60, 32]


@pytest.mark.parametrize("keys", [{}, {"size": 5000}])
def test_a_body_without_end_is_not_followed(serve, tmp_path, monkeypatch, keys):
    monkeypatch.setattr(transfers, "MOST", 1 << 20)

    def endless(line, _):
        line.sendall(head())
        while True:
            line.sendall(bytes(1 << 16))

    server = serve(endless)
    assert "serves more than" in refusal(tmp_path, item(server.url, **keys))
    assert len(server.asked) == 1
    assert held(tmp_path) == []


def test_more_than_the_disk_can_take_is_not_begun(serve, tmp_path, monkeypatch):
    free = 1000
    monkeypatch.setattr(
        transfers.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free})()
    )
    server = serve(answer(CONTENT))
    text = refusal(tmp_path, item(server.url))
    assert "10.2 kB to come, but 1.0 kB free on the disk" in text


def test_a_redirect_is_followed(serve, tmp_path):
    server = serve(answer(b"", "302 Found", Location="/elsewhere"), answer(CONTENT))
    assert fetched(tmp_path, item(f"{server.url}/here")) == CONTENT
    assert [line.split()[1] for line, _ in server.asked] == ["/here", "/elsewhere"]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("/again", "Exceeded 30 redirects"),
        ("file:///etc/hostname", "No connection adapters"),
        ("http://[", "Invalid"),
    ],
)
def test_a_redirect_that_leads_nowhere_is_told(serve, tmp_path, place, reason):
    server = serve(answer(b"", "302 Found", Location=place))
    assert reason in refusal(tmp_path, item(server.url))


def test_the_proxy_of_the_environment_is_asked(serve, tmp_path, monkeypatch):
    server = serve(answer(CONTENT))
    monkeypatch.setenv("http_proxy", server.url)
    assert fetched(tmp_path, item("http://data.invalid/triples.tsv")) == CONTENT
    assert server.asked[0][0] == "GET http://data.invalid/triples.tsv HTTP/1.1"


def test_the_proxy_is_not_asked_for_hosts_that_need_none(serve, tmp_path, monkeypatch):
    server = serve(answer(CONTENT))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert "Connection refused" in refusal(tmp_path, item("http://data.invalid/triples.tsv"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert fetched(tmp_path, item(server.url)) == CONTENT


def test_without_network_the_message_says_where_to_put_the_file(tmp_path):
    wanted = item("http://data.invalid/triples.tsv")
    path = drop_path(wanted, tmp_path)
    assert f"To go on without network, put the file at {path}" in refusal(tmp_path, wanted)
    path.write_bytes(CONTENT)
    assert downloaded(wanted, tmp_path) == (path, None)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 999999 x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a" * 70_000 + b": b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\nabc",
        b"HTTP/1.1 500 " + b"x" * 60_000 + b"\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://\xff\xfe\r\n\r\n",
        bytes(range(256)),
    ],
)
def test_an_answer_that_is_no_http_is_told_in_one_line(serve, tmp_path, raw):
    server = serve(lambda line, _: line.sendall(raw))
    assert len(refusal(tmp_path, item(server.url))) < 1200
    assert held(tmp_path) == []


@pytest.mark.parametrize("length", ["five", "-5", "0x10", "9" * 30])
def test_a_length_that_is_none_is_passed_over(serve, tmp_path, length):
    server = serve(answer(CONTENT, Content_Length=length))
    with contextlib.suppress(InputError):
        assert fetched(tmp_path, item(server.url)) == CONTENT
