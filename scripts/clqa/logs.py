"""What a stage says: progress and failures go to the rule's log and to the terminal."""

import logging
import sys
import traceback

from clqa.errors import InputError


def log_to(path: str) -> None:
    """Send log records, warnings and the reason of a failure to the file at `path` and to stderr.

    An `InputError` is reported as one line; any other exception with its traceback.
    """
    handlers = [logging.FileHandler(path, mode="w", encoding="utf-8"), logging.StreamHandler()]
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=handlers, force=True)
    logging.captureWarnings(True)
    sys.excepthook = _report


def _report(kind: type[BaseException], error: BaseException, trace: object) -> None:
    if issubclass(kind, InputError):
        logging.error("error: %s", error)
    else:
        logging.error("".join(traceback.format_exception(kind, error, trace)).rstrip())
