"""Write the table of metrics in docs/metrics.md, from the metrics themselves."""

import re
from pathlib import Path

from clqa.metrics import METRICS, Metric
from clqa.ties import POLICIES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
MARKS = re.compile(r"(<!-- metrics -->\n).*?(<!-- end -->)", re.DOTALL)


def documented(page: str) -> str:
    """The page with its table made anew."""
    return MARKS.sub(lambda match: f"{match[1]}\n{metric_table()}\n{match[2]}", page)


def metric_table() -> str:
    """A line of Markdown for each metric."""
    head = ["| id | in print | of | values | better | tie policies |", "| --- " * 6 + "|"]
    return "\n".join([*head, *(_line(name, one) for name, one in METRICS.items()), ""])


def _line(name: str, one: Metric) -> str:
    of = "tuples" if one.of_tuples else "queries" if one.values is None else "answers"
    values = f"0 to {one.most:g}" if one.higher_is_better else "from 1"
    better = "higher" if one.higher_is_better else "lower"
    title = f"{one.title}@K" if name.endswith("@K") else one.title
    return f"| `{name}` | {title} | {of} | {values} | {better} | {_policies(one)} |"


def _policies(one: Metric) -> str:
    if one.policies == POLICIES:
        return "all four"
    return ", ".join(f"`{policy}`" for policy in one.policies)


if __name__ == "__main__":
    PAGE.write_text(documented(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
