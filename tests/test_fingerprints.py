"""Protocol fingerprints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clqa.errors import InputError
from clqa.fingerprints import FIELDS, differing_fields, fingerprint

PROTOCOL = {
    "graph": "a" * 64,
    "queries": "b" * 64,
    "filter": "observed-and-full",
    "ties": "pessimistic",
    "candidates": "all:135",
    "averaging": "answers>query>shape>group",
    "missing": "error",
    "pni": "not-exists",
    "metric_version": "mrr/1",
}


def test_the_order_of_keys_does_not_matter():
    assert fingerprint(dict(reversed(PROTOCOL.items()))) == fingerprint(PROTOCOL)


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_changes_the_fingerprint_and_is_named(field):
    other = PROTOCOL | {field: "something else"}
    assert fingerprint(other) != fingerprint(PROTOCOL)
    assert differing_fields(PROTOCOL, other) == (field,)


def test_equal_protocols_differ_in_nothing():
    assert differing_fields(PROTOCOL, dict(PROTOCOL)) == ()


def test_all_entities_and_fifty_sampled_ones_are_two_protocols():
    sampled = PROTOCOL | {"candidates": "sampled:51"}
    assert fingerprint(sampled) != fingerprint(PROTOCOL)
    assert differing_fields(sampled, PROTOCOL) == ("candidates",)


@pytest.mark.parametrize("change", [{"filters": "none"}, {"graph": float("nan")}])
def test_a_field_that_is_unknown_or_no_json_is_refused(change):
    with pytest.raises(InputError, match="protocol"):
        fingerprint(PROTOCOL | change)


def test_a_missing_field_is_refused_by_name():
    with pytest.raises(InputError, match="ties"):
        fingerprint({field: PROTOCOL[field] for field in FIELDS if field != "ties"})


def test_the_fingerprint_does_not_depend_on_the_hash_seed():
    code = f"from clqa.fingerprints import fingerprint; print(fingerprint({PROTOCOL!r}))"
    scripts = Path(__file__).parent.parent / "scripts"
    words = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(scripts)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert words == {fingerprint(PROTOCOL)}
