"""Protocols over days: votes in any order, refused steps, and files that are the old ones or the new ones."""

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
from adaptive.selection import select_top
from adaptive.session.ballot_protocol import BallotProtocol
from tests.adaptive import naive
from tests.adaptive.ballots import PLANS, SEEDS, answers_to, spelt_out
from tests.adaptive.session.protocols import PAIRS, PLAN, opened, run, started, votes_on

ROOT = Path(__file__).resolve().parents[3]


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
    with pytest.raises(ProtocolError, match="all 3 ballots are closed: none is left to open"):
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
        ({"seed": -1}, "seed must be a whole number, not negative; got -1"),
        ({"seed": 1.5}, "seed must be a whole number, not negative; got 1.5"),
        ({"seed": True}, "seed must be a whole number, not negative; got True"),
    ],
)
def test_what_makes_no_protocol(arguments, message):
    with pytest.raises(ProtocolError, match=message):
        started(**arguments)


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
