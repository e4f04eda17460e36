"""How long it takes to compare two runs of a million rows of metrics each, and in what memory.

Run as `python benchmarks/bench_diffs.py`. Both tables hold the same subjects in another order. In
the first case some values differ, in the second every value, in the third the tie policy of all.
Each case has a process of its own; `peak` is resident memory with Python and all libraries, and
the text of the two tables is what a naive comparison would hold. Goals: 10 seconds and 1 GB.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from clqa.reports import Row

N_ROWS = 1_000_000
CASES = ("few", "all", "ties")


def write_runs(folder: Path, case: str) -> None:
    """Write the metrics of two runs; all names are made up."""
    rows = list(range(N_ROWS))
    for side in ("a", "b"):
        path = folder / side / "metrics.tsv"
        path.parent.mkdir(parents=True)
        with path.open("w") as stream:
            stream.write("\t".join(Row._fields) + "\n")
            stream.writelines(line(n, side == "b", case) for n in rows)
        (path.parent / "manifest.json").write_text(json.dumps({"fingerprints": {}}))
        rows.reverse()


def line(n: int, is_new: bool, case: str) -> str:
    """A row of numbers of different length, as a file has it."""
    ties = "optimistic" if is_new and case == "ties" else "pessimistic"
    value = n * 2654435761 % (1 << 32) / (1 << 32)
    value += 0.01 * (is_new and (case == "all" or n % 1000 == 0))
    about = f"big\tgraph-{n % 5}\tqueries-{n % 5}\ttest\tshape-{n // 5 % 200}\t"
    model = f"\tmodel-{n // 1000 % 20}\t0\thits@{n // 20_000 % 5}\t{ties}\tobserved-and-full"
    protocol = "all:14505\tanswers>query>shape>group\ttrain\t"
    numbers = f"{value!r}\t{value - 0.01!r}\t{value + 0.01!r}\t100\t{1000 + n % 7}\t0"
    name = f"{ties[:2]}{n % 5:010}"
    return f"{about}{model}\t{protocol}\trelation=r{n // 100_000}\t{numbers}\t{name}\t\t\n"


def measure(folder: str) -> None:
    from diff_results import diff_results

    start, busy = time.perf_counter(), time.process_time()
    diff = diff_results(Path(folder, "a"), Path(folder, "b"))
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    about = f"{diff['status']}, {diff['counts']}"
    print(f"{seconds:.1f} s ({busy:.1f} s of processors), peak {peak:.2f} GiB, {about}")


def main() -> None:
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            write_runs(Path(folder), case)
            size = sum(path.stat().st_size for path in Path(folder).rglob("*.tsv"))
            print(f"{case}: {N_ROWS:,} rows on both sides, {size / 2**20:.0f} MiB: ", end="")
            sys.stdout.flush()
            subprocess.run([sys.executable, __file__, folder], check=True)


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else main()
