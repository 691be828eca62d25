"""Protocols over days: votes in any order, refused steps, and files that hold the whole state or are refused."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive.draw import draw_ballot
from adaptive.errors import ProtocolError, TableError, VoteError
from adaptive.plan import plan_ballots
from adaptive.selection import select_top
from adaptive.session.ballot_protocol import BallotProtocol
from adaptive.votes import UNANSWERED, Vote
from tests.adaptive import naive
from tests.adaptive.ballots import PLANS, SEEDS, answers_to, spelt_out

ROOT = Path(__file__).resolve().parents[3]
PLAN = plan_ballots(8, n_ballots=3, fraction=0.5, presentations=3)
PAIRS = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"), ("d", "e"), ("e", "Ж")]
WORDS = {1: "left", 0: "tie", -1: "right"}


def started(items=8, voters=5, seed=1):
    return BallotProtocol(PLAN, items, voters, seed)


def votes_on(protocol, seed=0):
    """A vote for most comparisons of the open ballot, by id."""
    answers = answers_to(protocol.ballot, seed)
    shown = zip(protocol.comparisons(), answers.tolist(), strict=True)
    return {comparison.id: WORDS[answer] for comparison, answer in shown if answer != UNANSWERED}


def run(protocol, n_ballots, seed=0):
    for _ in range(n_ballots):
        protocol.open_ballot()
        protocol.record(votes_on(protocol, seed))
        protocol.close_ballot()
    return protocol


def opened(n_votes=5):
    """A protocol with ballot 1 closed and some votes on ballot 2."""
    protocol = run(started(), 1)
    protocol.open_ballot()
    protocol.record(dict(list(votes_on(protocol).items())[:n_votes]))
    return protocol


# --- votes -----------------------------------------------------------------------------------------------------------


@given(PLANS, SEEDS, st.randoms(use_true_random=False))
def test_votes_in_any_order_and_in_parts_give_the_same_state(plan, seed, random):
    straight, scattered = (BallotProtocol(plan, plan.n_items, 4, seed) for _ in range(2))
    while straight.status().state != "finished":
        assert straight.open_ballot() == scattered.open_ballot()
        votes = votes_on(straight, seed)
        assert straight.record(votes) == len(votes)
        parts = random.sample(list(votes.items()), len(votes))
        cut = random.randint(0, len(parts))
        assert scattered.record(parts[:cut]) == cut
        scattered = BallotProtocol.from_json(scattered.to_json())
        assert scattered.record(dict(parts)) == len(parts) - cut
        assert scattered.record(votes) == 0
        assert scattered.to_json() == straight.to_json()
        straight.close_ballot()
        scattered.close_ballot()
    replayed = BallotProtocol.from_json(scattered.to_json())
    assert replayed.result().to_json() == straight.result().to_json()
    assert replayed.to_json() == straight.to_json()


@given(PLANS, SEEDS)
def test_a_session_is_the_protocol_of_the_paper(plan, seed):
    protocol, ballots = BallotProtocol(plan, plan.n_items, 4, seed), []
    for _ in range(plan.n_ballots):
        ballot = protocol.open_ballot()
        protocol.record(votes_on(protocol, seed))
        ballots.append(spelt_out(ballot, answers_to(ballot, seed)))
        record = protocol.close_ballot()
        x, y, b, ybar = naive.protocol(ballots)[-1]
        assert_allclose(record.b, float(b), rtol=1e-9)
        for ours, theirs in ((record.x, x), (record.y, y), (record.ybar, ybar)):
            assert_allclose(ours, [float(theirs[item]) for item in record.items], rtol=1e-9, atol=1e-12)
    assert [record.number for record in protocol.records] == list(range(1, plan.n_ballots + 1))


def test_the_seed_decides_the_ballots():
    assert started(seed=1).open_ballot() == started(seed=1).open_ballot()
    assert started(seed=1).open_ballot() != started(seed=2).open_ballot()
    assert started(seed=2**70).open_ballot() == started(seed=2**70).open_ballot()


def test_each_ballot_has_a_stream_for_its_draw_and_one_for_its_cut():
    def stream(ballot, purpose):
        return np.random.default_rng(np.random.SeedSequence(1, spawn_key=(ballot, purpose)))

    protocol, items = started(seed=1), list(range(8))
    for number, size in enumerate(PLAN.sizes, start=1):
        assert protocol.open_ballot() == draw_ballot(items, 3, 5, stream(number, 0))
        protocol.record({comparison.id: "tie" for comparison in protocol.comparisons()})
        record = protocol.close_ballot()
        if number < 3:
            assert record.n_tied_at_cut == size
            chosen = select_top(record.ybar, PLAN.sizes[number], stream(number, 1)).chosen
            items = [items[place] for place in chosen]


def test_comparisons_name_voters_and_items():
    protocol = started(items=PAIRS, voters=["Ann", "Bob", "Eve"])
    ballot = protocol.open_ballot()
    shown = protocol.comparisons()
    assert [comparison.id for comparison in shown] == [f"1-{index}" for index in range(12)]
    for index, (_, voter, left, right) in enumerate(shown):
        assert voter == ballot.voters[ballot.voter[index]]
        assert left == PAIRS[ballot.left[index]]
        assert right == PAIRS[ballot.right[index]]


def test_votes_may_be_words_or_votes():
    protocol = started()
    protocol.open_ballot()
    assert protocol.record({"1-0": "left", "1-1": Vote.RIGHT, "1-2": "tie"}) == 3
    assert protocol.record([("1-0", Vote.LEFT), ("1-1", "right"), ("1-3", "tie"), ("1-3", Vote.TIE)]) == 1
    assert json.loads(protocol.to_json())["ballots"][0]["votes"] == {
        "1-0": "left",
        "1-1": "right",
        "1-2": "tie",
        "1-3": "tie",
    }


def test_a_vote_that_is_known_may_come_again_after_its_ballot():
    protocol = opened()
    known = json.loads(protocol.to_json())["ballots"][0]["votes"]
    assert protocol.record(known) == 0


GOOD = {"2-11": "tie"}


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ({**GOOD, "2-12": "left"}, "comparison '2-12' is unknown: those of ballot 2 end at '2-11'"),
        ({**GOOD, "3-0": "left"}, "comparison '3-0' is unknown: ballot 3 has not been opened"),
        ({**GOOD, "2-01": "left"}, "a comparison has an id like \"2-17\", ballot and index; got '2-01'"),
        ({**GOOD, "2-\u0661": "left"}, "a comparison has an id like"),
        ({**GOOD, "2-1\n": "left"}, "a comparison has an id like"),
        ({**GOOD, "0-1": "left"}, "a comparison has an id like"),
        ({**GOOD, 2: "left"}, "a comparison has an id like .* got 2"),
        ({**GOOD, "2-10": "Left"}, "comparison '2-10': a vote is 'left', 'right' or 'tie'; got 'Left'"),
        ({**GOOD, "2-10": None}, "comparison '2-10': a vote is .* got None"),
        ({**GOOD, "2-10": ["left"]}, "comparison '2-10': a vote is"),
        ({**GOOD, "2-10": 1}, "comparison '2-10': a vote is .* got 1"),
        ({**GOOD, "2-10": Vote.UNANSWERED}, "comparison '2-10': a vote is"),
        ({**GOOD, "2-0": "left"}, "comparison '2-0' has the vote 'tie' already; got 'left'"),
        ([*GOOD.items(), ("2-10", "left"), ("2-10", "tie")], "comparison '2-10' has the vote 'left' already"),
        ({**GOOD, "1-0": "left"}, "comparison '1-0' has the vote 'tie' already; got 'left'"),
        ({**GOOD, "1-1": "left"}, "ballot 1 is closed: comparison '1-1' cannot be answered any more"),
        ([*GOOD.items(), "2-10"], "a vote is a pair of comparison id and winner; got '2-10'"),
        ([*GOOD.items(), 5], "a vote is a pair of comparison id and winner; got 5"),
    ],
)
def test_votes_that_are_refused_leave_nothing_behind(votes, message):
    plan = plan_ballots(8, n_ballots=3, fraction=0.99, presentations=3)
    protocol = BallotProtocol(plan, 8, 5, 1)
    protocol.open_ballot()
    protocol.record({f"1-{index}": "tie" for index in range(12) if index != 1})
    protocol.close_ballot()
    protocol.open_ballot()
    protocol.record({"2-0": "tie"})
    before = protocol.to_json()
    with pytest.raises(VoteError, match=message):
        protocol.record(votes)
    assert protocol.to_json() == before


def test_votes_before_the_first_ballot():
    with pytest.raises(VoteError, match="ballot 1 has not been opened"):
        started().record({"1-0": "left"})


# --- steps -----------------------------------------------------------------------------------------------------------


def test_steps_out_of_order():
    protocol = started()
    for step in (protocol.close_ballot, protocol.comparisons):
        with pytest.raises(ProtocolError, match="no ballot is open: there is nothing to"):
            step()
    with pytest.raises(ProtocolError, match="the result needs all 3 ballots; 0 are closed"):
        protocol.result()
    protocol.open_ballot()
    before = protocol.to_json()
    with pytest.raises(ProtocolError, match="ballot 1 is open: close it before the next one is opened"):
        protocol.open_ballot()
    assert protocol.to_json() == before
    protocol = run(started(), 3)
    with pytest.raises(ProtocolError, match="all 3 ballots are closed: there is none left to open"):
        protocol.open_ballot()


def test_a_ballot_with_a_silent_item_stays_open():
    protocol = started(items=PAIRS)
    protocol.open_ballot()
    silent = protocol.comparisons()[0].left
    protocol.record({shown.id: "tie" for shown in protocol.comparisons() if silent not in (shown.left, shown.right)})
    assert protocol.status().n_silent_items == 1
    before = protocol.to_json()
    with pytest.raises(VoteError, match=r"every item needs an answered comparison .* without any: \('"):
        protocol.close_ballot()
    assert protocol.to_json() == before
    protocol.record({protocol.comparisons()[0].id: "left"})
    assert protocol.close_ballot().number == 1


def test_status_at_every_step():
    protocol = started()
    shape = {"n_ballots": 3, "n_items": 8, "n_comparisons": 12}

    def status():
        return vars(protocol.status())

    assert status() == {**shape, "state": "ready", "ballot": 1, "n_answered": 0, "n_silent_items": 8}
    assert protocol.ballot is None
    ballot = protocol.open_ballot()
    assert protocol.ballot == ballot
    assert status() == {**shape, "state": "open", "ballot": 1, "n_answered": 0, "n_silent_items": 8}
    votes = votes_on(protocol)
    protocol.record([next(iter(votes.items()))])
    assert status() == {**shape, "state": "open", "ballot": 1, "n_answered": 1, "n_silent_items": 6}
    assert repr(protocol) == "<BallotProtocol of 8 items: ballot 1 of 3 open>"
    protocol.record(votes)
    protocol.close_ballot()
    shape = {"n_ballots": 3, "n_items": 4, "n_comparisons": 6}
    assert status() == {**shape, "state": "ready", "ballot": 2, "n_answered": 0, "n_silent_items": 4}
    run(protocol, 2)
    finished = status()
    assert (finished["state"], finished["ballot"], finished["n_silent_items"]) == ("finished", 3, 0)
    assert finished["n_answered"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"items": 7}, "the plan is for 8 items; got 7"),
        ({"items": [*"abcdefg", 0.5]}, "JSON holds labels that are strings, integers or tuples of those; got 0.5"),
        ({"items": [*"abcdefg", "a"]}, "items must be unique; more than once: 'a'"),
        ({"voters": 0}, "voting needs at least one voter; got none"),
        ({"voters": []}, "voting needs at least one voter; got none"),
        ({"voters": ["Ann", "Ann"]}, "voters must be unique; more than once: 'Ann'"),
        ({"voters": "Ann"}, "voters must be a number or a list of labels; got 'Ann'"),
        ({"seed": -1}, "seed must be an integer of at least 0; got -1"),
        ({"seed": 1.5}, "seed must be an integer of at least 0; got 1.5"),
        ({"seed": True}, "seed must be an integer of at least 0; got True"),
    ],
)
def test_what_makes_no_protocol(arguments, message):
    with pytest.raises(ProtocolError, match=message):
        started(**arguments)


# --- JSON ------------------------------------------------------------------------------------------------------------


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
        ('{"seed": 1, "seed": 2}', "file: the key 'seed' comes twice"),
        ('{"ballots": [{"votes": {"1-0": "left", "1-0": "tie"}}]}', "file: the key '1-0' comes twice"),
        ('{"seed": NaN}', "file: NaN is not a number that JSON knows"),
        ('{"seed": -Infinity}', "file: -Infinity is not a number that JSON knows"),
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


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_file_holds_the_state(tmp_path):
    path = tmp_path / "run.json"
    protocol = started(items=PAIRS)
    for n_ballots in (0, 1, 2):
        run(protocol, n_ballots)
        protocol.save(path)
        assert BallotProtocol.load(str(path)).to_json() == protocol.to_json()
    assert os.listdir(tmp_path) == ["run.json"]


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(TableError, match=r"none\.json: cannot be read: No such file"):
        BallotProtocol.load(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'{"format": "\xe9"}')
    with pytest.raises(TableError, match=r"latin\.json: is not UTF-8 from byte 12 on"):
        BallotProtocol.load(tmp_path / "latin.json")
    (tmp_path / "torn.json").write_text(opened().to_json()[:-9], encoding="utf-8")
    with pytest.raises(TableError, match=r"torn\.json:1: column \d+: not JSON"):
        BallotProtocol.load(tmp_path / "torn.json")


@pytest.mark.skipif(os.name != "posix", reason="modes and links as POSIX has them")
def test_saving_keeps_the_mode_and_the_link(tmp_path):
    target, link = tmp_path / "run.json", tmp_path / "link.json"
    started().save(target)
    target.chmod(0o640)
    link.symlink_to(target)
    opened().save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert BallotProtocol.load(target).to_json() == opened().to_json()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_that_fails_leaves_the_old_file_alone(step, tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    started().save(path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        opened().save(path)
    monkeypatch.undo()
    assert BallotProtocol.load(path).to_json() == started().to_json()
    assert os.listdir(tmp_path) == ["run.json"]


KILLED_WHILE_SAVING = """
import json, os, resource, signal, sys
from adaptive.session.ballot_protocol import BallotProtocol

replace = os.replace

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def replace_and_die(*arguments):
    replace(*arguments)
    die()

def save(protocol, path, moment):
    if moment == "while writing":  # the kernel ends the process at byte 100
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    elif moment == "before the disk has it":
        os.fsync = die
    elif moment == "before the exchange":
        os.replace = die
    elif moment == "after the exchange":
        os.replace = replace_and_die
    protocol.save(path)

ended = {}
for path, moment in json.loads(sys.argv[1]):
    protocol = BallotProtocol.load(path)
    protocol.open_ballot()
    child = os.fork()
    if child == 0:
        save(protocol, path, moment)
        os._exit(0)
    ended[moment] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(ended))
"""
KILLED = {
    "while writing": (signal.SIGXFSZ, "ready"),
    "before the disk has it": (signal.SIGKILL, "ready"),
    "before the exchange": (signal.SIGKILL, "ready"),
    "after the exchange": (signal.SIGKILL, "open"),
}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Files that a process was saving when it was killed, by the moment, and how it ended."""
    paths = {moment: tmp_path_factory.mktemp("killed") / "run.json" for moment in KILLED}
    for path in paths.values():
        started().save(path)
    given = json.dumps([(str(path), moment) for moment, path in paths.items()])
    command = [sys.executable, "-c", KILLED_WHILE_SAVING, given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ended = json.loads(done.stdout)
    return {moment: (path, ended[moment]) for moment, path in paths.items()}


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("moment", KILLED)
def test_a_process_killed_while_it_saves_leaves_the_old_file_or_the_new_one(moment, killed):
    (path, ended), (by_signal, state) = killed[moment], KILLED[moment]
    assert -ended == by_signal
    protocol = BallotProtocol.load(path)
    assert protocol.status().state == state
    leftover = [name for name in os.listdir(path.parent) if name != "run.json"]
    assert len(leftover) == (state == "ready")
    protocol.save(path)
