"""Files of version 1, written by the release that had no other: their ballots are drawn again, and checked."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from adaptive.errors import ProtocolError
from adaptive.session.ballot_protocol import BallotProtocol
from tests.adaptive.session.protocols import PAIRS, opened, run, started

SAVED = Path(__file__).parent / "version_1"
SAME = {
    "opened.json": opened,
    "ready.json": lambda: run(started(PAIRS, ["Ann", "Bob", "Eve"], 3), 1),
    "finished.json": lambda: run(started(seed=2**70), 3),
}


@pytest.mark.parametrize("name", SAME)
def test_a_file_is_read_as_before_and_written_as_version_2(name):
    protocol, same = BallotProtocol.load(SAVED / name), SAME[name]()
    assert json.loads((SAVED / name).read_text())["version"] == 1
    assert (protocol.items, protocol.voters, protocol.records) == (same.items, same.voters, same.records)
    assert protocol.status() == same.status()
    assert protocol.to_json() == same.to_json()
    assert BallotProtocol.from_json(protocol.to_json()).to_json() == protocol.to_json()


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def sealed(state):
    state["digest"] = digest({key: state[key] for key in ("plan", "items", "voters", "seed")})
    for entry in state["ballots"]:
        entry["digest"] = digest({key: entry[key] for key in ("number", "closed", "drawn", "votes")})
    return state


def edited(**changes):
    return lambda state: state.update(changes)


def edited_ballot(place, **changes):
    return lambda state: state["ballots"][place].update(changes)


def saved():
    return json.loads((SAVED / "opened.json").read_text())


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edited(seed=2), "file: the digest does not match: the plan, items, voters or seed were edited"),
        (edited(ballots_digest="0"), "file: unknown: 'ballots_digest'"),
        (edited(ballots=[{}]), r"file: ballots\[0\]: missing: number, closed, drawn, votes, digest"),
        (edited_ballot(1, votes={}), r"file: ballots\[1\]: the digest does not match: the votes of ballot 2 were"),
        (edited_ballot(1, closed=True), r"file: ballots\[1\]: the digest does not match"),
    ],
)
def test_an_edited_file_is_refused(edit, message):
    state = saved()
    edit(state)
    with pytest.raises(ProtocolError, match=message):
        BallotProtocol.from_json(json.dumps(state), source="file")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edited(seed=2), "file: ballot 1 is not the one that was voted on: the file was edited, or written by another"),
        (edited(voters=6), "file: ballot 1 is not the one that was voted on"),
        (edited_ballot(1, drawn="0"), "file: ballot 2 is not the one that was voted on"),
        (edited_ballot(0, closed=False), "file: ballot 1 is open: close it before the next one is opened"),
        (edited_ballot(1, closed=True, votes={}), "file: every item needs an answered comparison"),
        (edited_ballot(1, votes={"2-99": "tie"}), "file: comparison '2-99' is unknown"),
        (edited_ballot(1, votes={"2-0": "both"}), "file: comparison '2-0': a vote is 'left', 'right' or 'tie'"),
        (
            lambda state: state["ballots"][1]["votes"].update([next(iter(state["ballots"][0]["votes"].items()))]),
            "file: the votes do not replay to the state that they are in: the file was edited",
        ),
    ],
)
def test_an_edited_file_with_new_digests_must_still_replay(edit, message):
    state = saved()
    edit(state)
    with pytest.raises(ProtocolError, match=message):
        BallotProtocol.from_json(json.dumps(sealed(state)), source="file")


def test_another_numpy_is_named_when_the_draw_differs():
    state = saved()
    state["numpy"] = "1.0.0"
    assert BallotProtocol.from_json(json.dumps(state)).to_json() == opened().to_json()
    state["ballots"][0]["drawn"] = "0"
    with pytest.raises(ProtocolError, match=rf"another release \(numpy 1.0.0 then, {np.__version__} now\)"):
        BallotProtocol.from_json(json.dumps(sealed(state)))
