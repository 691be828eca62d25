"""The JSON of a session: it comes back as it was, and an edited one is refused."""

import hashlib
import json

import numpy as np
import pytest

from adaptive.errors import ProtocolError, TableError
from adaptive.plan import plan_ballots
from adaptive.session.ballot_protocol import BallotProtocol
from tests.adaptive.session.protocols import PAIRS, PLAN, opened, run, started


@pytest.mark.parametrize("items", [8, list("abcdefgh"), PAIRS, [1, "1", ("1",), ("a", 2), 3, 4, 5, 10**20]])
@pytest.mark.parametrize("voters", [4, ["Ann", "Bob"]])
@pytest.mark.parametrize("n_ballots", [0, 1, 3])
def test_labels_and_state_survive(items, voters, n_ballots):
    protocol = run(started(items, voters, seed=np.int64(3)), n_ballots)
    again = BallotProtocol.from_json(protocol.to_json())
    assert (again.plan, again.items, again.voters, again.seed) == (PLAN, protocol.items, protocol.voters, 3)
    assert again.status() == protocol.status()
    assert again.to_json() == protocol.to_json()
    if n_ballots == 3:
        assert again.result().ranking == protocol.result().ranking
    else:
        assert again.open_ballot() == protocol.open_ballot()


def digest(value):
    """What the file's digests are: sha256 of the JSON with sorted keys and without spaces."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def sealed(state):
    """The state with its digests computed anew, as no accident would."""
    state["digest"] = digest({key: state[key] for key in ("plan", "items", "voters", "seed")})
    for entry in state["ballots"]:
        entry["digest"] = digest({key: entry[key] for key in ("number", "closed", "drawn", "votes")})
    return state


def edited(**changes):
    return lambda state: state.update(changes)


def edited_ballot(place, **changes):
    return lambda state: state["ballots"][place].update(changes)


def without(key):
    return lambda state: state.pop(key)


def other_plan(state):
    state["plan"] = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=3).to_dict()


def first_vote(winner):
    return lambda state: state["ballots"][0]["votes"].update({next(iter(state["ballots"][0]["votes"])): winner})


def test_sealing_changes_nothing():
    text = opened().to_json()
    assert json.dumps(sealed(json.loads(text)), ensure_ascii=False) == text


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edited(format="other"), "file: not a saved protocol: it needs the format 'adaptive.BallotProtocol'"),
        (edited(version=2), "file: version 2 of the format; this release reads 1"),
        (edited(version=True), "file: version True of the format"),
        (edited(version="1"), "file: version '1' of the format"),
        (without("version"), "file: version None of the format"),
        (without("voters"), "file: missing: voters"),
        (edited(comment="mine"), "file: unknown: 'comment'"),
        (edited(seed="1"), "file: seed must be of type int; got '1'"),
        (edited(seed=True), "file: seed must be of type int; got True"),
        (edited(items={}), "file: items must be of type int or list; got {}"),
        (edited(ballots=None), "file: ballots must be of type list; got None"),
        (edited(seed=2), "file: the digest does not match: the plan, items, voters or seed were edited"),
        (edited(items=9), "file: the digest does not match: the plan"),
        (edited(voters=6), "file: the digest does not match: the plan"),
        (other_plan, "file: the digest does not match: the plan"),
        (edited(ballots=[7]), r"file: ballots\[0\] must be an object; got 7"),
        (edited(ballots=[{}]), r"file: ballots\[0\]: missing: number, closed, drawn, votes, digest"),
        (edited_ballot(1, closed=1), r"file: ballots\[1\]: closed must be of type bool; got 1"),
        (edited_ballot(1, number=1), r"file: ballots\[1\] must have number 2; got 1"),
        (edited_ballot(1, votes={}), r"file: ballots\[1\]: the digest does not match: the votes of ballot 2 were"),
        (edited_ballot(1, closed=True), r"file: ballots\[1\]: the digest does not match"),
        (first_vote("tie?"), r"file: ballots\[0\]: the digest does not match"),
    ],
)
def test_an_edited_file_is_refused(edit, message):
    state = json.loads(opened().to_json())
    edit(state)
    with pytest.raises(ProtocolError, match=message):
        BallotProtocol.from_json(json.dumps(state), source="file")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edited(seed=2), "file: ballot 1 is not the one that was voted on: the file was edited, or written by another"),
        (edited(voters=6), "file: ballot 1 is not the one that was voted on"),
        (edited(voters=0), "file: voting needs at least one voter"),
        (edited(voters=10**30), "file: voters must be from 0 to [0-9]+ in number"),
        (edited(items=9), "file: the plan is for 8 items; got 9"),
        (edited(items=[*"abcdefg", ["h", ["i"]]]), "file: items must be hashable"),
        (edited(items=[*"abcdefg", None]), "file: JSON holds labels .* got None"),
        (edited(plan={}), "file: the plan lacks n_items"),
        (lambda state: state["plan"].update(presentations=4), "file: n_comparisons|comparisons is"),
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
    state = json.loads(opened().to_json())
    edit(state)
    with pytest.raises(ProtocolError, match=message):
        BallotProtocol.from_json(json.dumps(sealed(state)), source="file")


def test_another_numpy_is_named_when_the_draw_differs():
    state = json.loads(opened().to_json())
    state["numpy"] = "1.0.0"
    assert BallotProtocol.from_json(json.dumps(state)).to_json() == opened().to_json()
    state["ballots"][0]["drawn"] = "0"
    with pytest.raises(ProtocolError, match=rf"another release \(numpy 1.0.0 then, {np.__version__} now\)"):
        BallotProtocol.from_json(json.dumps(sealed(state)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format":\n  oops}', "file:2: column 3: not JSON: Expecting value"),
        ("", "file:1: column 1: not JSON: Expecting value"),
        ('{"seed": 1, "seed": 2}', "file: the key 'seed' appears twice"),
        ('{"ballots": [{"votes": {"1-0": "left", "1-0": "tie"}}]}', "file: the key '1-0' appears twice"),
        ('{"seed": NaN}', "file: NaN is not a number of JSON"),
        ('{"seed": -Infinity}', "file: -Infinity is not a number of JSON"),
        ('{"seed": 1e999}', "file: 1e999 is too large for a number"),
        ('{"seed": ' + "9" * 5000 + "}", "file: not JSON that can be read: Exceeds the limit"),
        ("[" * 100_000, "file: not JSON that can be read: maximum recursion depth"),
    ],
)
def test_text_that_is_not_json(text, message):
    with pytest.raises(TableError, match=message):
        BallotProtocol.from_json(text, source="file")


@pytest.mark.parametrize("text", ["[]", "null", "{}", '"adaptive.BallotProtocol"'])
def test_json_of_something_else(text):
    with pytest.raises(ProtocolError, match="JSON: not a saved protocol"):
        BallotProtocol.from_json(text)
