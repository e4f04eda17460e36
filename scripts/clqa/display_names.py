"""Names to show in place of labels that say little; a name is never a key.

Two entities may have the same name: both are then shown with their labels. One without a name is
shown by its label.
"""

import os
from collections import Counter
from collections.abc import Sequence

from clqa.errors import InputError, abridged
from clqa.list_files import numbered_lines


class DisplayNames:
    """What is shown of each entity.

    Parameters
    ----------
    labels : sequence of str
        By id; no two are the same.
    names : dict
        By label; may lack some.
    """

    def __init__(self, labels: Sequence[str], names: dict[str, str]):
        self.labels, self.names = labels, names
        self.counts = Counter(names.values())

    def __call__(self, id_: int) -> str:
        label = self.labels[int(id_)]
        name = self.names.get(label, label)
        is_clear = name == label or (self.counts[name] == 1 and name not in self.ids)
        return name if is_clear else f"{name} [{label}]"

    @property
    def ids(self) -> dict[str, int]:
        """Id by label."""
        if not hasattr(self, "_ids"):
            self._ids = {label: id_ for id_, label in enumerate(self.labels)}
        return self._ids

    def id_of(self, text: str) -> int:
        """The entity of a label, or of a name that no other has.

        Raises
        ------
        InputError
            If there is none, or there are several of the name.
        """
        if text in self.ids:
            return self.ids[text]
        found = [label for label, name in self.names.items() if name == text and label in self.ids]
        if len(found) != 1:
            several = f"the name of {', '.join(found[:5])}; give a label" if found else "unknown"
            raise InputError(f"entity {abridged(text)}: {several}")
        return self.ids[found[0]]


def read_names(path: str | os.PathLike | None, labels: Sequence[str]) -> DisplayNames:
    """Names from lines of a label, a tab and a name; those of other labels are left out.

    Raises
    ------
    InputError
        If a line has not two fields, or a label has two names.
    """
    names: dict[str, str] = {}
    for number, line in () if path is None else numbered_lines(path):
        label, tab, name = line.rstrip("\r\n").partition("\t")
        if not tab or not name or "\t" in name:
            raise InputError(f"{path}:{number}: expected a label, a tab and a name")
        if names.setdefault(label, name) != name:
            raise InputError(f"{path}:{number}: a second name of {abridged(label)}")
    return DisplayNames(labels, names)
