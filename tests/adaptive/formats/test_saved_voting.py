"""Saved votings are read as they were, and an edited file is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from adaptive import kernels
from adaptive.errors import ProtocolError, TableError
from adaptive.formats.saved_voting import read_saved_voting, saved_voting
from adaptive.plan import plan_ballots
from tests.adaptive.ballots import PLANS, SEEDS
from tests.adaptive.votings import PAIRS, Voting, opened, run, sealed, started, votes_on

SAVED = Path(__file__).parent / "version_1"
SAME = {
    "opened.json": opened,
    "ready.json": lambda: run(started(PAIRS, ["Ann", "Bob", "Eve"], 3), 1),
    "finished.json": lambda: run(started(seed=2**70), 3),
}


def assert_same(found, voting):
    """A saved voting is the one that was saved, to the last bit."""
    assert (found.plan, found.items, found.voters, found.seed) == (
        voting.plan,
        voting.items,
        voting.voters,
        voting.seed,
    )
    assert found.records == voting.records
    assert found.standing == voting.standing
    for (ballot, answers), (drawn, said) in zip(found.voted, voting.voted, strict=True):
        assert ballot == drawn
        assert_array_equal(answers, said)


@pytest.mark.parametrize("items", [8, list("abcdefgh"), PAIRS, [1, "1", ("1",), ("a", 2), 3, 4, 5, 10**20]])
@pytest.mark.parametrize("voters", [4, ["Ann", "Bob"]])
@pytest.mark.parametrize("n_ballots", [0, 1, 3])
def test_labels_and_state_survive(items, voters, n_ballots):
    voting = run(started(items, voters, seed=3), n_ballots)
    found = saved_voting(voting.to_json(), "JSON")
    assert_same(found, voting)
    assert type(found.seed) is int


@given(PLANS, SEEDS)
def test_any_voting_is_read_as_it_was(plan, seed):
    voting = Voting(plan, plan.n_items, 4, seed)
    for number in range(plan.n_ballots):
        voting.open_ballot()
        voting.record(votes_on(voting, seed))
        assert_same(saved_voting(voting.to_json(), "JSON"), voting)
        voting.close_ballot()
        assert_same(saved_voting(voting.to_json(), "JSON"), voting)
        assert len(voting.records) == number + 1


@pytest.mark.parametrize("name", SAME)
def test_a_file_of_version_1_is_read_as_before(name):
    assert json.loads((SAVED / name).read_text())["version"] == 1
    assert_same(read_saved_voting(SAVED / name), SAME[name]())


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(TableError, match=r"none\.json: cannot be read: No such file"):
        read_saved_voting(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'{"format": "\xe9"}')
    with pytest.raises(TableError, match=r"latin\.json: is not UTF-8 from byte 12 on"):
        read_saved_voting(tmp_path / "latin.json")
    (tmp_path / "torn.json").write_text(opened().to_json()[:-9], encoding="utf-8")
    with pytest.raises(TableError, match=r"torn\.json:1: column \d+: not JSON"):
        read_saved_voting(str(tmp_path / "torn.json"))


def edited(**changes):
    return lambda state: state.update(changes)


def edited_ballot(place, **changes):
    return lambda state: state["ballots"][place].update(changes)


def entry_in(place, column, at, value):
    """One entry of one column of a ballot is another."""

    def edit(state):
        state["ballots"][place][column][at] = value

    return edit


def without(key):
    return lambda state: state.pop(key)


def other_plan(state):
    state["plan"] = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=3).to_dict()


def last_removed(state):
    state["ballots"].pop()


def swapped(column):
    """The first two entries of a column of ballot 1 change places."""

    def edit(state):
        entries = state["ballots"][0][column]
        entries[0], entries[1] = entries[1], entries[0]

    return edit


def worst_selected(state):
    """The worst of ballot 1 goes on in place of the best, in both ballots."""
    records, first = opened().records[0], state["ballots"][0]
    worst, best = records.places[int(np.argmin(records.ybar))], first["selected"][0]
    for column in (first["selected"], *(state["ballots"][1][name] for name in ("places", "left", "right"))):
        column[:] = [int(worst) if place == best else place for place in column]


@pytest.mark.parametrize("n_ballots", [1, 2, 3])
def test_nothing_is_drawn_to_read_a_file(n_ballots, monkeypatch):
    """Ties at the cut are common here: they too are as they were broken, and not broken again."""
    votings = [run(started(PAIRS, seed=seed), n_ballots, seed) for seed in range(20)]
    assert any(record.n_tied_at_cut for voting in votings for record in voting.records)

    def fail(*_args, **_options):
        raise AssertionError("drawn again")

    for name in ("adaptive.formats.saved_voting.draw_ballot", "adaptive.selection.select_top"):
        monkeypatch.setattr(name, fail)
    monkeypatch.setattr(kernels, "draw_comparisons", fail)
    monkeypatch.setattr("adaptive.formats.saved_voting.ballot_rng", lambda *_: None)
    for voting in votings:
        assert_same(saved_voting(voting.to_json(), "JSON"), voting)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edited(format="other"), "file: not a saved protocol: it needs the format 'adaptive.BallotProtocol'"),
        (edited(version=3), "file: version 3 of the format; this release reads 1 and 2"),
        (edited(version=True), "file: version True of the format"),
        (edited(version="1"), "file: version '1' of the format"),
        (edited(version=[1]), r"file: version \[1\] of the format"),
        (without("version"), "file: version None of the format"),
        (without("voters"), "file: missing: voters"),
        (without("ballots_digest"), "file: missing: ballots_digest"),
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
        (edited(ballots=[{}]), r"file: ballots\[0\]: missing: number, closed, places, left, right, voter, votes"),
        (edited_ballot(1, closed=1), r"file: ballots\[1\]: closed must be of type bool; got 1"),
        (edited_ballot(1, number=1), r"file: ballots\[1\] must have number 2; got 1"),
        (edited_ballot(1, votes=[]), r"ballots\[1\]: the digest does not match: the draw, votes or selection of ball"),
        (edited_ballot(1, closed=True), r"file: ballots\[1\]: the digest does not match"),
        (entry_in(0, "votes", 0, "tie?"), r"file: ballots\[0\]: the digest does not match"),
        (swapped("left"), r"file: ballots\[0\]: the digest does not match"),
        (swapped("right"), r"file: ballots\[0\]: the digest does not match"),
        (swapped("places"), r"file: ballots\[0\]: the digest does not match"),
        (swapped("selected"), r"file: ballots\[0\]: the digest does not match"),
        (entry_in(0, "voter", 0, 4), r"file: ballots\[0\]: the digest does not match"),
        (edited_ballot(0, n_tied_at_cut=3), r"file: ballots\[0\]: the digest does not match"),
        (last_removed, "file: the digest of all ballots does not match: one was removed, added or put elsewhere"),
        (edited(ballots_digest="0"), "file: the digest of all ballots does not match"),
    ],
)
def test_an_edited_file_is_refused(edit, message):
    state = json.loads(opened().to_json())
    edit(state)
    with pytest.raises(ProtocolError, match=message):
        saved_voting(json.dumps(state), "file")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edited(voters=0), "file: voting needs at least one voter"),
        (edited(voters=2), r"file: ballot 1: voter\[[0-9]+\] must be a voter; got [234]"),
        (edited(voters=10**30), "file: voters must be from 0 to [0-9]+ in number"),
        (edited(items=9), "file: the plan is for 8 items; got 9"),
        (edited(items=[*"abcdefg", ["h", ["i"]]]), "file: items must be hashable"),
        (edited(items=[*"abcdefg", None]), "file: JSON holds labels .* got None"),
        (edited(plan={}), "file: the plan lacks n_items"),
        (lambda state: state["plan"].update(presentations=4), "file: n_comparisons|comparisons is"),
        (edited_ballot(1, left=[]), "file: ballot 2: left has 0 entries; the plan has 6 comparisons"),
        (edited_ballot(1, votes=[None] * 7), "file: ballot 2: votes has 7 entries; the plan has 6 comparisons"),
        (edited_ballot(1, places=[]), "file: ballot 2: its items, places, are not those selected in ballot 1"),
        (swapped("places"), "file: ballot 1: its items, places, are not those of the protocol"),
        (entry_in(1, "left", 2, 99), r"file: ballot 2: left\[2\] must be one of its places; got 99"),
        (entry_in(1, "right", 2, -1), r"file: ballot 2: right\[2\] must be one of its places; got -1"),
        (entry_in(1, "right", 2, True), r"file: ballot 2: right\[2\] must be one of its places; got True"),
        (entry_in(1, "voter", 0, "0"), r"file: ballot 2: voter\[0\] must be a voter; got '0'"),
        (entry_in(1, "votes", 0, "both"), r"ballot 2: votes\[0\] must be 'left', 'right', 'tie' or null; got 'both'"),
        (entry_in(1, "votes", 0, ["tie"]), r"ballot 2: votes\[0\] must be 'left'"),
        (entry_in(0, "selected", 0, 8), r"file: ballot 1: selected\[0\] must be one of its places; got 8"),
        (entry_in(0, "selected", 0, None), r"file: ballot 1: selected\[0\] must be one of its places; got None"),
        (edited_ballot(0, selected=None), "file: ballot 1 is closed: selected and n_tied_at_cut must say which items"),
        (edited_ballot(0, n_tied_at_cut=None), "file: ballot 1 is closed: selected and n_tied_at_cut must say which"),
        (edited_ballot(0, n_tied_at_cut=7), r"file: the votes leave \d items tied at the cut; got 7"),
        (edited_ballot(0, selected=[0, 0, 0, 0]), "file: 4 different items must be selected; got 4"),
        (edited_ballot(0, selected=[]), "file: 4 different items must be selected; got 0"),
        (worst_selected, "file: the items selected are not the best by the votes"),
        (edited_ballot(0, closed=False), "file: ballot 1 is open: close it before the next one is opened"),
        (edited_ballot(1, selected=[1]), "file: the votes do not replay to the state that they are in"),
        (
            edited_ballot(1, closed=True, votes=[None] * 6, selected=[], n_tied_at_cut=0),
            "file: every item needs an answered comparison",
        ),
    ],
)
def test_an_edited_file_with_new_digests_must_still_replay(edit, message):
    state = json.loads(opened().to_json())
    edit(state)
    with pytest.raises(ProtocolError, match=message):
        saved_voting(json.dumps(sealed(state)), "file")


def test_a_comparison_of_an_item_with_itself_is_refused():
    state = json.loads(opened().to_json())
    state["ballots"][0]["left"][3] = state["ballots"][0]["right"][3]
    with pytest.raises(ProtocolError, match="ballot 1: comparison '1-3' is of an item with itself"):
        saved_voting(json.dumps(sealed(state)), "file")


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
        saved_voting(text, "file")


@pytest.mark.parametrize("text", ["[]", "null", "{}", '"adaptive.BallotProtocol"'])
def test_json_of_something_else(text):
    with pytest.raises(ProtocolError, match="file: not a saved protocol"):
        saved_voting(text, "file")


def of_version_1():
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
def test_an_edited_file_of_version_1_is_refused(edit, message):
    state = of_version_1()
    edit(state)
    with pytest.raises(ProtocolError, match=message):
        saved_voting(json.dumps(state), "file")


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
def test_an_edited_file_of_version_1_with_new_digests_must_still_replay(edit, message):
    state = of_version_1()
    edit(state)
    with pytest.raises(ProtocolError, match=message):
        saved_voting(json.dumps(sealed(state)), "file")


def test_another_numpy_is_named_when_the_draw_differs():
    state = of_version_1()
    state["numpy"] = "1.0.0"
    assert_same(saved_voting(json.dumps(state), "file"), opened())
    state["ballots"][0]["drawn"] = "0"
    with pytest.raises(ProtocolError, match=rf"another release \(numpy 1.0.0 then, {np.__version__} now\)"):
        saved_voting(json.dumps(sealed(state)), "file")
