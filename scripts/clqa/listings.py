"""The differences between two runs as lines to read in a terminal."""

from clqa.roundings import points

CELLS = 4  # cells shown of a row of a table
MOST = 40  # entries shown of one kind; the JSON form has them all


def listing(diff: dict) -> str:
    """Lines that show a result of `clqa.diffs.compare_results`, the largest changes first."""
    lines = [*_banner(diff), *_versions(diff["versions"])]
    changed = sorted(diff["changed"], key=_size, reverse=True)
    for title, entries, line_of in (
        ("protocol differs", diff["clashes"], _clash),
        ("removed", diff["removed"], _one_sided),
        ("added", diff["added"], _one_sided),
        ("changed", changed, _change),
    ):
        if entries:
            lines += ["", f"{title} ({len(entries)})"]
            lines += [f"  {line_of(entry)}" for entry in entries[:MOST]]
        if len(entries) > MOST:
            lines.append(f"  ... and {len(entries) - MOST} more; --json lists all")
    counts = ", ".join(f"{len(diff[kind])} {kind}" for kind in ("added", "removed", "changed"))
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
    parts = [entry["run"], "" if entry["table"] == "metrics.tsv" else entry["table"]]
    parts += [key.get(part, "") for part in ("queries", "shape", "group", "set", "model")]
    parts += [f"seed={key['seed']}" if "seed" in key else ""]
    parts += [key.get("metric", "") + (f"[{score}]" if score else ""), key.get("stratum", "")]
    return " ".join(part for part in parts if part)


def _one_sided(entry: dict) -> str:
    key, values = entry.get("key", {}), entry.get("values", {})
    if entry.get("table", "metrics.tsv") != "metrics.tsv" and values:
        cells = [f"{column} {value}" for column, value in values.items()]
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
    texts = ["nothing" if value is None else str(value) for value in (old, new)]
    text = " -> ".join(texts)
    if entry["delta"] is None:
        return text
    text += f", delta {entry['delta']:+.6g}"
    shares = all(isinstance(value, float) and 0 <= value <= 1 for value in (old, new))
    return text + (f" ({points(entry['delta'], 2):+f} points)" if shares else "")
