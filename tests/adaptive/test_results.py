"""Results as values: equal and hashed by content, read-only for ever; tables as frames, dicts and notebook tables."""

import copy
import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from adaptive import (
    BallotVotes,
    Comparisons,
    VoterPool,
    VoterPopulation,
    borda,
    draw_ballot,
    pair_tokens,
    plan_ballots,
    rescale,
    run_protocol,
    score_ballots,
    select_top,
    simulate,
)
from adaptive._protocol import Position
from adaptive._scores import score_ballot
from tests.values import arrays_in, check_copies, check_equality

PLAN = plan_ballots(6, n_ballots=2, fraction=0.5, presentations=3)
LABELS = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
TOKENS = [("oak", "tree", 3.0), ("pine", "tree", 40.0), ("apple", "fruit", 100.0), ("pear", "fruit", 5.0)]


def ballot(seed=0):
    return draw_ballot(LABELS, 3, ["Ann", "Bob"], np.random.default_rng(seed))


def votes(seed=0):
    drawn = ballot(seed)
    sides = ([drawn.items[place] for place in side] for side in (drawn.left, drawn.right))
    return BallotVotes(*sides, np.random.default_rng(seed).integers(-1, 2, drawn.n_comparisons))


def protocol(seed=0):
    def vote(shown):
        items = [LABELS.index(item) for item in shown.items]
        return np.sign(np.array(items)[shown.right] - np.array(items)[shown.left])

    return run_protocol(PLAN, vote, items=LABELS, rng=np.random.default_rng(seed))


def simulation(seed=0):
    similarity = np.linspace(0.9, 0.1, 6)
    return simulate(PLAN, VoterPopulation(3), similarity, n_simulations=3, seed=seed)


def scores(seed=0):
    drawn = ballot(seed)
    answers = np.random.default_rng(seed).integers(-1, 2, drawn.n_comparisons)
    return score_ballot(drawn, answers, ballot_number=2, previous_mean=np.linspace(0.9, 0.4, 6))


def comparisons(seed=0):
    return Comparisons(LABELS, [0, 1, 2 + seed], [1, 2, 0], [1, 0, -1], ["Ann", "Bob"], [0, 1, 1], n_unanswered=4)


MAKE = {
    "Ballot": ballot,
    "BallotCertificate": lambda seed=0: replace(ballot().certificate(), n_items=6 + seed),
    "BallotPlan": lambda seed=0: replace(PLAN, presentations=3 + seed),
    "BallotRecord": lambda seed=0: protocol(seed).ballots[0],
    "BallotScores": scores,
    "BallotVotes": votes,
    "BordaScores": lambda seed=0: borda(comparisons(seed)),
    "Comparisons": comparisons,
    "InterimResult": lambda seed=0: score_ballots(PLAN, [votes(seed)], items=LABELS, seed=1),
    "Pairing": lambda seed=0: pair_tokens(TOKENS, sample=1, rng=np.random.default_rng(seed)),
    "ProtocolResult": protocol,
    "Rescaled": lambda seed=0: rescale([0.25 + seed / 8, 0.5, 0.75], [0.5, 0.75, 0.75]),
    "Selection": lambda seed=0: select_top([0.2 + seed, 0.9, 0.4], 2, np.random.default_rng(0)),
    "SimulationResult": simulation,
    "Position": lambda seed=0: replace(Position.first(PLAN), n_closed=seed),
    "Tally": lambda seed=0: scores(seed).tally,
    "VoterPool": lambda seed=0: VoterPool([0.1, 0.2 + seed], [0.0, 0.01]),
    "VoterPopulation": lambda seed=0: VoterPopulation(3 + seed, nonconformity=[0.0, 0.1]),
}
TABLES = ("BallotPlan", "BallotRecord", "BordaScores", "Comparisons", "Pairing", "ProtocolResult")
TABLES += ("SimulationResult",)


@pytest.mark.parametrize("name", MAKE)
def test_each_result_is_a_value(name):
    result = MAKE[name]()
    assert type(result).__name__ == name
    check_equality(result, MAKE[name](), MAKE[name](seed=1))
    check_copies(result)


def test_arrays_are_found():
    assert len(list(arrays_in(ballot()))) == 3
    assert len(list(arrays_in(simulation()))) == 8
    assert len(list(arrays_in(protocol()))) == 1 + 2 * (1 + 4 + 3)


@pytest.mark.parametrize("copied", [lambda result: pickle.loads(pickle.dumps(result)), copy.deepcopy])
def test_what_is_computed_once_is_read_only_too(copied):
    result = protocol()
    counts = ("wins", "ties", "losses", "presentations", "last_ballot")
    for each in (result, copied(result)):
        for name in counts:
            with pytest.raises(ValueError, match="read-only"):
                getattr(each, name)[0] = 7
        assert each.ranking == result.ranking


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_a_frame_and_shows_itself_in_notebooks(name):
    result = MAKE[name]()
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    html = result._repr_html_()
    assert all(f"<th>{column}</th>" in html for column in frame.columns)
    assert html.count("<tr>") == len(frame) + 1
    json.dumps(result.to_dict(), allow_nan=False)
    assert re.search(r"\\caption\{\w", result.to_latex())


def test_the_frame_of_a_plan():
    frame = PLAN.to_frame()
    assert frame.to_dict("list") == {"ballot": [1, 2], "items": [6, 3], "comparisons": [9, 5]}
    assert PLAN._repr_html_().startswith("<p>6 items, 2 ballots, fraction 0.5, 3 presentations of each item")


def test_the_frame_of_a_protocol_is_its_csv():
    result = protocol()
    frame = result.to_frame()
    assert list(frame.columns) == ["item", "rank", "ybar", "presentations", "wins", "ties", "losses", "last_ballot"]
    assert frame["item"].iloc[0] == ("a", "b")
    assert frame["rank"].tolist() == sorted(result.ranking.ranks)
    rows = [line.split(",")[2:] for line in result.to_csv().splitlines()[1:]]
    assert [[float(cell) for cell in row] for row in rows] == frame.drop(columns="item").to_numpy(float).tolist()


def test_the_frame_of_a_ballot_record():
    record = protocol().ballots[0]
    frame = record.to_frame()
    assert list(frame.columns) == ["item", "x", "y", "ybar", "presentations", "wins", "ties", "losses"]
    assert frame["item"].tolist() == list(record.items)
    assert frame["x"].tolist() == record.x.tolist()
    assert record.to_dict() == protocol().to_dict()["ballots"][0]


def test_the_frame_of_a_simulation():
    result = simulation()
    rows = result.to_frame().to_dict("records")
    assert len(rows) == 8
    for row in rows:
        assert list(row) == ["approach", "coefficient", "mean", "sd", "se"]
        for name in ("mean", "sd", "se"):
            assert row[name] == getattr(result, name)[row["approach"]][row["coefficient"]]


def test_the_frame_of_a_pairing():
    pairing = pair_tokens(TOKENS)
    assert pairing.to_frame().to_dict("list") == {
        "item_1": ["oak", "apple"],
        "item_2": ["pine", "pear"],
        "area": ["tree", "fruit"],
        "rare": [True, False],  # below 10 % of the mean of 3, 40, 100 and 5
    }
    assert pairing.to_dict() == {
        "n_admissible": 2,
        "rare_tokens": ["oak"],
        "items": [
            {"item_1": "oak", "item_2": "pine", "area": "tree", "rare": True},
            {"item_1": "apple", "item_2": "pear", "area": "fruit", "rare": False},
        ],
    }
    assert list(pair_tokens([("oak", "tree"), ("pine", "tree")]).to_frame().columns) == ["item_1", "item_2", "area"]


def test_a_mapping_of_results_cannot_be_changed():
    result = simulation()
    with pytest.raises(TypeError, match="does not support item assignment"):
        result.statistics["uniform"]["rho"] = None
    with pytest.raises(TypeError, match="does not support item assignment"):
        pickle.loads(pickle.dumps(result)).statistics["uniform"] = None


def test_votes_keep_copies_of_what_they_are_given():
    labels, answers = np.array(["a", "b"]), np.array([1, 0])
    kept = BallotVotes(labels, labels[::-1], answers)
    answers[0] = -1
    assert kept.answers.tolist() == [1, 0]
    assert kept == BallotVotes(["a", "b"], ["b", "a"], [1, 0])
