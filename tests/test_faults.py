"""Jobs that are killed or find the disk full, at the boundaries of their writes and within them."""

from collections import Counter

import pytest

from faults import Campaign, drawn


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    campaign = Campaign(tmp_path_factory.mktemp("campaign"))
    try:
        yield [campaign.strike(fault) for fault in drawn(campaign.writes)]
    finally:
        campaign.close()


def test_no_fault_leaves_half_a_file_and_the_same_step_then_gives_the_same_bytes(outcomes):
    assert [outcome for outcome in outcomes if not outcome.is_well] == []


def test_the_campaign_strikes_all_steps_inside_and_at_the_boundaries_of_writes(outcomes):
    faults = [outcome.fault for outcome in outcomes]
    assert len(faults) >= 40
    assert min(Counter(fault.write.step for fault in faults).values()) >= 4
    kinds = Counter((outcome.fault.action, outcome.is_inside) for outcome in outcomes)
    assert min(kinds.values()) >= 8
    assert len(kinds) == 4


def test_a_killed_write_leaves_a_hidden_file_that_the_next_one_removes(outcomes):
    for outcome in outcomes:
        is_killed = outcome.is_inside and outcome.fault.action == "kill"
        # A file in a folder that has no name yet leaves that folder.
        assert (outcome.left > 0) == is_killed or "graphs/toy/source" in outcome.fault.write.name


def test_a_full_disk_is_told_in_one_line_that_names_the_file(outcomes):
    for outcome in outcomes:
        if outcome.fault.action == "full":
            assert outcome.error.startswith("InputError: "), outcome
            assert "; make room and run again" in outcome.error, outcome
            assert len(outcome.error.splitlines()) == 1
            assert outcome.fault.write.name.rpartition("/")[2] in outcome.error
