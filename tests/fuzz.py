"""Read changed files for some minutes with every parser of files from elsewhere.

`make fuzz` runs it. What ends in anything but an error of one line is kept in `tests/corpus/`, from
where the test suite reads it again. Each parser has a process of its own, with a bound on its
memory. With `--atheris` (a package that is not among the requirements) changes are guided by the
code that they reach.
"""

import argparse
import hashlib
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "scripts"), str(HERE)]
CORPUS = HERE / "corpus"
MEMORY = 1 << 30  # bytes above what the libraries take, for files of 64 kB
HANG = 60  # seconds


def keep(name: str, content: bytes) -> Path:
    """Store a content under the name of its parser."""
    path = CORPUS / name / hashlib.sha256(content).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _stop(*_):
    raise AssertionError(f"no end within {HANG} s")


def campaign(name: str, seconds: float, seed: int, told) -> None:
    """Read changed files with one parser; puts the number of files and what was found in `told`."""
    from changed_files import changed, drawn_edits
    from outside_parsers import PARSERS, outcome

    parser, drawn = PARSERS[name], random.Random(f"{name} {seed}")
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    good, found, count = next(iter(parser.files.values())), {}, 0
    pool, known = [good], set()
    signal.signal(signal.SIGALRM, _stop)
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder, "..", f"clqa-fuzz-{name}")
        while time.monotonic() < until:
            content = changed(drawn.choice(pool), drawn_edits(drawn))
            current.write_bytes(content)  # outlives a crash of the process
            signal.alarm(HANG)
            try:
                said = outcome(parser, Path(folder), content)
                # What is said in other words, figures aside, is a start for further changes.
                words = "".join(sign for sign in said or "" if sign.isalpha())[:60]
                if words not in known and len(pool) < 500:
                    known.add(words)
                    pool.append(content)
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                key = f"{type(error).__name__} {place.filename}:{place.lineno}"
                if key not in found:
                    found[key] = f"{key}: {error!s:.200} [{keep(name, content)}]"
            finally:
                signal.alarm(0)
            count += 1
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 > taken + MEMORY:
                found["memory"] = f"more than {MEMORY} bytes [{keep(name, content)}]"
                break
        current.unlink()
    told.put((count, list(found.values())))


def run(name: str, seconds: float, seed: int) -> tuple[int, list[str]]:
    """A campaign in a process of its own."""
    told = multiprocessing.Queue()
    process = multiprocessing.Process(target=campaign, args=(name, seconds, seed, told))
    process.start()
    process.join(seconds + 2 * HANG)
    if process.exitcode == 0:
        return told.get()
    if process.is_alive():
        process.kill()
    current = Path(tempfile.gettempdir(), f"clqa-fuzz-{name}")
    place = keep(name, current.read_bytes()) if current.exists() else "before it began"
    return 0, [f"the process ended with {process.exitcode} [{place}]"]


def guided(names: list[str] | None, seconds: float) -> None:
    """One campaign over some parsers, or all; ends at the first finding, which atheris tells."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # which cannot compile what atheris adds
    import atheris

    with atheris.instrument_imports(include=["clqa", "zipfile", "tarfile", "json"]):
        from outside_parsers import PARSERS, outcome
    names = names or list(PARSERS)
    chosen = [PARSERS[name] for name in names]
    folder = Path(tempfile.mkdtemp())
    seeds = Path(tempfile.mkdtemp())
    for place, parser in enumerate(chosen):
        (seeds / names[place]).write_bytes(bytes([place]) + next(iter(parser.files.values())))

    def one(content: bytes) -> None:
        if content:
            place = content[0] % len(chosen)
            try:
                outcome(chosen[place], folder, content[1:])
            except Exception:
                print(f"found: {keep(names[place], content[1:])}", file=sys.stderr)
                raise

    options = [f"-max_total_time={seconds:.0f}", f"-timeout={HANG}", "-max_len=65536"]
    options.append(f"-artifact_prefix={folder}/")
    atheris.Setup([sys.argv[0], *options, "-rss_limit_mb=3000", str(seeds)], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description="Read changed files with every parser.")
    parser.add_argument("--minutes", type=float, default=5, help="in all (default: 5)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--only", action="append", help="a parser (repeatable)")
    parser.add_argument("--atheris", action="store_true", help="guided by coverage, one process")
    options = parser.parse_args()
    if options.atheris:  # before anything of ours is imported
        guided(options.only, options.minutes * 60)
    from outside_parsers import PARSERS

    names = options.only or list(PARSERS)
    total, bad = 0, 0
    print(f"seed {options.seed}")
    for name in names:
        count, found = run(name, options.minutes * 60 / len(names), options.seed)
        total, bad = total + count, bad + len(found)
        print(f"{name}: {count} files", *found, sep="\n  ", flush=True)
    print(f"{total} files, {bad} findings")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
