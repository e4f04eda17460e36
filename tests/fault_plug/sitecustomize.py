"""Faults within a write: what Python loads first in jobs that are to be hit by one.

A job is hit if `CLQA_FAULT` in its environment has a fault as JSON, with the `rule` of the job and
a `marker`: a file that is made when it strikes, with the id of the process. No other job is hit as
long as it is there.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

MOMENTS = ("begun", "half", "written", "renamed")
ACTIONS = ("kill", "full", "hold")


class Plug:
    """Strikes at a moment of one of the files and folders of ours that this process writes.

    Parameters
    ----------
    write : int
        Which one, in the order in which they are begun, from 1.
    moment : str
        When: before there is a temporary file, after `size` bytes of it, when all of it is written
        but not synced, or once it has its name.
    action : str
        `kill` ends the process, `full` lets the disk be full, `hold` waits for the marker to go.
    """

    def __init__(self, write: int, moment: str, action: str, size: int = 0, marker: str = ""):
        self.write, self.moment, self.action, self.size = write, moment, action, size
        self.marker, self.n, self.path = marker, 0, None

    def install(self) -> None:
        for name in ("mkstemp", "mkdtemp"):
            setattr(tempfile, name, self._making(getattr(tempfile, name)))
        os.fsync, os.replace = self._syncing(os.fsync), self._renaming(os.replace)

    def _making(self, make):
        def making(suffix=None, prefix=None, dir=None, **other):
            self.n += ".partial-" in (prefix or "")
            is_ours = ".partial-" in (prefix or "") and self.n == self.write
            if is_ours and self.moment == "begun":
                self.strike()
            made = make(suffix=suffix, prefix=prefix, dir=dir, **other)
            if is_ours:
                self.path = made if isinstance(made, str) else made[1]
                if self.moment == "half" and self.action != "hold":
                    self.limit()
            return made

        return making

    def _syncing(self, sync):
        def syncing(descriptor):
            path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            is_half = self.moment == "half" and self.action == "hold"
            if self.path and self.is_in(path) and (self.moment == "written" or is_half):
                content = Path(path).read_bytes() if is_half else b""
                if is_half:
                    os.truncate(path, len(content) // 2)
                self.strike()
                if is_half:
                    Path(path).write_bytes(content)
            return sync(descriptor)

        return syncing

    def _renaming(self, rename):
        def renaming(source, target, **other):
            rename(source, target, **other)
            if self.path and self.is_in(os.fspath(source)) and self.moment == "renamed":
                self.strike()

        return renaming

    def is_in(self, path: str) -> bool:
        return path == self.path or path.startswith(f"{self.path}/")

    def limit(self) -> None:
        """No file may grow beyond `size` bytes: the write that would is an error, or the end."""
        if self.action == "kill":
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, hard))

    def strike(self) -> None:
        if self.marker:
            mark = Path(f"{self.marker}.{os.getpid()}")
            mark.write_text(str(os.getpid()))
            try:
                os.link(mark, self.marker)
            except FileExistsError:
                return
            finally:
                mark.unlink()
        if self.action == "full":
            raise OSError(28, "No space left on device")
        if self.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while Path(self.marker).exists():
            time.sleep(0.02)


def _of_this_job() -> None:
    asked = json.loads(os.environ.get("CLQA_FAULT", "{}"))
    rule = asked.pop("rule", None)
    if (
        rule
        and not Path(asked["marker"]).exists()
        and any(part.endswith(f".{rule}.py") for part in sys.orig_argv)
    ):
        Plug(**asked).install()


_of_this_job()
