"""The differences between two runs as lines to read in a terminal."""

from clqa.content_tables import METRICS_KEYS
from clqa.roundings import points

CELLS = 4  # cells shown of a row of a table
FILES = 5  # files shown of the first stage at which runs differ
WIDTH = 100  # of a value, in characters
MOST = 40  # entries shown of one kind; the JSON form has them all


# Parts of a key that a line shows in a place of their own, or leaves out.
_NAMED = (*METRICS_KEYS, "set")


def listing(diff: dict) -> str:
    """Lines that show a result of `clqa.diffs.compare_results`, the largest changes first."""
    lines = [*_banner(diff), *_versions(diff["versions"]), *traced(diff)]
    lines += [f"{path}: there is nothing" for path in diff["missing"]]
    changed = sorted(diff["changed"], key=_size, reverse=True)
    for title, kind, entries, line_of in (
        ("protocol differs", "clashes", diff["clashes"], _clash),
        ("removed", "removed", diff["removed"], _one_sided),
        ("added", "added", diff["added"], _one_sided),
        ("changed", "changed", changed, _change),
    ):
        total = diff["counts"][kind]
        if total:
            lines += ["", f"{title} ({total})"]
            lines += [f"  {line_of(entry)}" for entry in entries[:MOST]]
        if total > MOST:
            lines.append(f"  ... and {total - MOST} more; --json lists all")
    counts = ", ".join(f"{diff['counts'][kind]} {kind}" for kind in ("added", "removed", "changed"))
    return "\n".join([*lines, "", f"{diff['status']}: {counts} of {diff['rows']} rows"]).lstrip()


def _banner(diff: dict) -> list[str]:
    if not diff["clashes"]:
        return []
    text = f"PROTOCOL DIFFERS: {', '.join(diff['protocol'])}"
    warning = "the numbers listed under it do not measure the same thing"
    return ["=" * 78, text, warning, "=" * 78]


def _versions(versions: dict) -> list[str]:
    """One line per run: the software that differs, or that none does."""
    lines = []
    for run, sides in versions.items():
        old, new = sides["old"], sides["new"]
        changes = [
            f"{name} {old.get(name)} -> {new.get(name)}"
            for name in sorted(old.keys() | new.keys())
            if old.get(name) != new.get(name)
        ]
        lines.append(f"{run}: versions {'; '.join(changes) or 'are the same'}")
    return lines


def traced(diff: dict) -> list[str]:
    """What of their settings differs between runs, and at which stage they come apart first."""
    lines = []
    for run, trace in diff["traces"].items():
        lines += [f"{run}: setting {one}" for one in settings_lines(trace)]
        if trace["first"]:
            lines.append(f"{run}: first differs at the stage {trace['first']}")
        for stage, about in trace["stages"].items():
            if about["different"]:
                n = len(about["different"])
                lines.append(f"  {stage}: {n} of {about['files']} files differ")
                if stage == trace["first"]:
                    lines += [f"    {one}" for one in stage_lines(trace)]
    return lines


def settings_lines(trace: dict) -> list[str]:
    """The settings that differ, as in `seed: 1 -> 2`."""
    return [_setting(one) for one in trace["settings"]]


def stage_lines(trace: dict) -> list[str]:
    """The first files that differ at the first stage at which any do."""
    if not trace["first"] or trace["first"] not in trace["stages"]:
        return []
    different = trace["stages"][trace["first"]]["different"]
    more = len(different) - FILES
    return [
        *(_file(one) for one in different[:FILES]),
        *([f"... and {more} more; --json lists all"] if more > 0 else []),
    ]


def _setting(change: dict) -> str:
    """A setting that differs; of lists, what is in one alone."""
    old, new = change["old"], change["new"]
    if isinstance(old, list) and isinstance(new, list) and {*map(str, old)} != {*map(str, new)}:
        gone = [f"without {one}" for one in old if one not in new]
        come = [f"with {one}" for one in new if one not in old]
        return f"{change['setting']}: {', '.join(gone + come)}"
    sides = ["nothing" if value is None else _short(value) for value in (old, new)]
    return f"{change['setting']}: {' -> '.join(sides)}"


def _file(found: dict) -> str:
    """A file that differs, with the first of what differs in it."""
    if found["what"] != "changed":
        return f"{found['path']}: {found['what']}"
    if "note" in found:
        return f"{found['path']}: {found['note']}"
    counts = [f"{n} {kind}" for kind, n in found["counts"].items() if n]
    rows = []
    for kind in ("removed", "added", "changed"):
        for entry in found.get(kind, [])[:1]:
            key = " ".join(text for text in entry["key"].values() if text)
            column = entry.get("column") or ", ".join(entry["values"])
            rows.append(f"{kind} {_short(key)} ({_short(column)})")
    return f"{found['path']}: {', '.join(counts)}: {'; '.join(rows)}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


def _size(change: dict) -> float:
    """How large a change is, beside the numbers themselves if they are above 1."""
    numbers = [value for value in (change["old"], change["new"]) if not isinstance(value, str)]
    largest = max([1.0, *(abs(value) for value in numbers if value is not None)])
    return abs(change["delta"] or 0) / largest


def _name(entry: dict) -> str:
    """What a row is about, in the order of reading; all of its key is in the JSON form."""
    if "table" not in entry:
        return f"run {entry['run']}"
    key = {name: text for name, text in entry.get("key", {}).items() if text}
    score = ",".join(key[part] for part in ("ties", "filter") if part in key)
    parts = [entry.get("run", ""), "" if entry["table"] == "metrics.tsv" else entry["table"]]
    parts += [key.get(part, "") for part in ("queries", "shape", "group", "set", "model")]
    parts += [f"seed={key['seed']}" if "seed" in key else ""]
    parts += [key.get("metric", "") + (f"[{score}]" if score else ""), key.get("stratum", "")]
    parts += [_short(text) for name, text in key.items() if name not in _NAMED]
    return " ".join(part for part in parts if part)


def _one_sided(entry: dict) -> str:
    key, values = entry.get("key", {}), entry.get("values", {})
    if entry.get("table", "metrics.tsv") != "metrics.tsv" and values:
        cells = [f"{column} {_short(value)}" for column, value in values.items()]
        return f"{_name(entry)}: {', '.join(cells[:CELLS])}{' ...' * (len(cells) > CELLS)}"
    value = values.get("value")
    facts = [
        f"{part} {key[part]}" for part in ("graph", "split", "inference_graph") if key.get(part)
    ]
    text = _name(entry) + ("" if value is None else f": {value}")
    return text + (f" ({', '.join(facts)})" if facts else "")


def _change(entry: dict) -> str:
    column = "" if entry["column"] == "value" else f" {entry['column']}"
    return f"{_name(entry)}{column}: {_pair(entry, entry['old'], entry['new'])}"


def _clash(entry: dict) -> str:
    sides = entry["old"], entry["new"]
    protocols = [side["protocol"] for side in sides]
    fields = [
        f"{field} {' | '.join(str(protocol.get(field))[:24] for protocol in protocols)}"
        for field in entry["fields"]
    ]
    return (
        f"{_name(entry)}: {_pair(entry, *(side['value'] for side in sides))} ({'; '.join(fields)})"
    )


def _pair(entry: dict, old: object, new: object) -> str:
    """Both values as they are stored, and their difference, in points for shares."""
    texts = ["nothing" if value is None else _short(value) for value in (old, new)]
    text = " -> ".join(texts)
    if entry["delta"] is None:
        return text
    text += f", delta {entry['delta']:+.6g}"
    shares = all(isinstance(value, float) and 0 <= value <= 1 for value in (old, new))
    return text + (f" ({points(entry['delta'], 2):+f} points)" if shares else "")
