"""What tests read of a report: the data of its scripts, and the rows of its metrics."""

import csv
import json
from pathlib import Path


def data_of(path: Path) -> dict:
    """What is embedded in a page, parsed."""
    text = path.read_text(encoding="utf-8").split('id="page:data">', 1)[1]
    return json.loads(text.split("</script>", 1)[0])


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a metrics.tsv, as text."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def without_library(text: str) -> str:
    """A page without the plotting library, which stands in the one script without a type."""
    start, _, rest = text.partition("<script>")
    return start + rest.partition("</script>")[2]
