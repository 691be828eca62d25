"""Scores over HTTP are the library's, ballot by ballot and for a whole session of voting."""

import copy

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive import plan_ballots
from adaptive._votes import Vote
from rankcorr import Ranking, correlate
from tests.adaptive.strategies import PLANS, SEEDS, Voting, answers_to
from tests.service.answers import answer, example, problem

PATH = "/v1/scores"
PLAN = {"n_items": 4, "n_ballots": 2, "fraction": 0.5, "presentations": 2}
ITEMS = ["king", "queen", "cabbage", "stone"]
FIRST = {
    "comparisons": [
        {"voter": "Ann", "left": ["king", "queen"], "right": ["queen", "stone"], "votes": ["left", "left"]},
        {"voter": "Bob", "left": ["stone", "cabbage"], "right": ["cabbage", "king"], "votes": ["tie", None]},
    ]
}
REQUEST = {"plan": PLAN, "items": ITEMS, "seed": 1, "ballots": [FIRST]}

WORDS = {Vote.LEFT: "left", Vote.RIGHT: "right", Vote.TIE: "tie", Vote.UNANSWERED: None}
LABELS = st.sampled_from([None, "item {}".format, lambda number: -number, lambda n: n if n % 2 else str(n)])


def inputs(plan):
    return {name: getattr(plan, name) for name in ("n_items", "n_ballots", "fraction", "presentations")}


def ballot_request(ballot, answers):
    """A ballot and its answers in the form of a request, with all comparisons in one list."""
    sides = {side: [ballot.items[place] for place in getattr(ballot, side)] for side in ("left", "right")}
    return {"comparisons": [{**sides, "votes": [WORDS[code] for code in np.asarray(answers).tolist()]}]}


def ranking_of(scores):
    """Ranking of an answer, sorted by label."""
    ranks = dict(zip(scores["ranking"]["labels"], scores["ranking"]["ranks"], strict=True))
    labels = sorted(ranks, key=lambda label: int(str(label).split()[-1]))
    return Ranking.from_ranks([ranks[label] for label in labels], labels)


def document_of_record(record):
    tally = record.tally
    return {
        **{name: getattr(record, name) for name in ("number", "b", "n_tied_at_cut")},
        **{name: list(getattr(record, name)) for name in ("items", "x", "y", "ybar")},
        **{name: getattr(tally, name).tolist() for name in ("presentations", "wins", "ties", "losses")},
    }


def test_the_example_is_that_by_hand():
    """Eq. 1 by hand: king won its only answered comparison, cabbage tied its only one, stone tied one of two."""
    assert example(PATH) == REQUEST
    result = answer(PATH, **REQUEST)
    (ballot,) = result["ballots"]
    assert (ballot["items"], ballot["x"], ballot["b"]) == (ITEMS, [1.0, 0.5, 0.5, 0.25], 1.0)
    assert (ballot["wins"], ballot["ties"], ballot["losses"]) == ([1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1])
    assert ballot["presentations"] == [2, 2, 2, 2]
    assert result["ranking"] == {"labels": ["king", "cabbage", "queen", "stone"], "ranks": [1, 2.5, 2.5, 4]}
    assert ballot["n_tied_at_cut"] == 2  # queen and cabbage, one of which is selected
    assert result["next_ballot"]["items"] in (["king", "queen"], ["king", "cabbage"])


@given(PLANS, SEEDS, st.integers(0, 2**63 - 1), LABELS)
def test_every_answer_equals_the_protocol_of_the_library_exactly(plan, vote_seed, seed, label):
    """Including ties at the cut, which are common here, and broken as by a `Voting` with the same seed."""
    items = plan.n_items if label is None else [label(number) for number in range(plan.n_items)]
    protocol = Voting(plan, items, voters=3, seed=seed)
    ballots = []
    for number in range(1, plan.n_ballots + 1):
        ballot = protocol.open_ballot()
        codes = answers_to(ballot, vote_seed + number)
        votes = {f"{number}-{place}": WORDS[code] for place, code in enumerate(codes.tolist()) if WORDS[code]}
        protocol.record(votes)
        protocol.close_ballot()
        ballots.append(ballot_request(ballot, codes))
        content = answer(PATH, plan=inputs(plan), items=items, seed=seed, ballots=ballots)
        assert content["ballots"] == [document_of_record(record) for record in protocol.records]
        if number < plan.n_ballots:
            following = copy.deepcopy(protocol).open_ballot()
            assert content["next_ballot"] == {
                "number": number + 1,
                "items": list(following.items),
                "presentations": plan.presentations,
            }
    result = protocol.result()
    assert content["next_ballot"] is None
    ranks = dict(zip(result.items, result.ranking.ranks.tolist(), strict=True))
    assert dict(zip(content["ranking"]["labels"], content["ranking"]["ranks"], strict=True)) == ranks
    assert content["ranking"]["ranks"] == sorted(ranks.values())
    rows = result.to_dict()["items"]  # best first, tied items in the order of their labels
    assert content["ranking"]["labels"] == [row["item"] for row in rows]
    assert content["ybar"] == [row["ybar"] for row in rows]
    assert content["last_ballot"] == [row["last_ballot"] for row in rows]


@settings(max_examples=10)
@given(st.integers(0, 2**63 - 1), st.integers(1, 7), st.booleans())
def test_a_session_gives_the_result_of_a_protocol(seed, n_voters, labelled):
    """plan -> (ballot -> votes -> scores) until there is no next ballot; a `Voting` gives the same."""
    sizes = {"n_items": 13, "n_ballots": 3, "fraction": 0.6}
    plan = answer("/v1/plans", **sizes, top_presentations=36)["plan"]  # M = 12: all pairs of ballot 1
    items = [f"item {number}" for number in range(13)] if labelled else 13
    labels = items if labelled else list(range(13))
    truth = {label: place // 2 for place, label in enumerate(labels)}  # smaller is better, and some pairs tie

    def word(left, right):
        return "tie" if truth[left] == truth[right] else "left" if truth[left] < truth[right] else "right"

    gold = Ranking.from_ranks(list(truth.values()), labels)
    protocol = Voting(plan_ballots(**plan), items, voters=n_voters, seed=seed)
    ballots, following = [], {"items": items, "presentations": plan["presentations"]}
    while following is not None:
        ballot = answer("/v1/ballots", **following, voters=n_voters, seed=seed)
        draw = protocol.open_ballot()
        for comparison in protocol.comparisons():
            protocol.record({comparison.id: word(comparison.left, comparison.right)})
        protocol.close_ballot()
        assert ballot["certificate"]["broken"] == []
        assert ballot["number"] == len(ballots) + 1 == len(protocol.records)
        for form in ballot["comparisons"]:
            form["votes"] = [word(*pair) for pair in zip(form["left"], form["right"], strict=True)]
        assert sum(len(form["votes"]) for form in ballot["comparisons"]) == draw.n_comparisons
        ballots.append({"comparisons": ballot["comparisons"]})
        scores = answer(PATH, plan=plan, items=items, seed=seed, ballots=ballots)
        assert scores["ballots"] == [document_of_record(record) for record in protocol.records]
        following = scores["next_ballot"]
        if len(ballots) == 1:
            assert ranking_of(scores) == gold
    assert len(ballots) == 3
    assert ranking_of(scores) == protocol.result().ranking
    compared = answer(
        "/v1/correlations", gold={"ranks": list(truth.values()), "labels": labels}, system=scores["ranking"]
    )
    expected = correlate(gold, ranking_of(scores))
    assert compared["coefficients"] == {name: result.statistic for name, result in expected.items()}


def test_later_requests_repeat_the_earlier_selections():
    """The cut of ballot 1 is tied for every seed; ballot 2 has the items that the first answer selected."""
    for seed in range(8):
        request = {**REQUEST, "seed": seed}
        selected = answer(PATH, **request)["next_ballot"]["items"]
        second = {"comparisons": [{"left": selected, "right": selected[::-1], "votes": ["left", "tie"]}]}
        result = answer(PATH, **{**request, "ballots": [FIRST, second]})
        assert result["ballots"][0] == answer(PATH, **request)["ballots"][0]
        assert result["ballots"][1]["items"] == selected
        assert result["next_ballot"] is None
        other = next(item for item in ("queen", "cabbage") if item not in selected)
        wrong = {"comparisons": [{"left": ["king", other], "right": [other, "king"], "votes": ["left", "tie"]}]}
        detail = problem(PATH, **{**request, "ballots": [FIRST, wrong]})["detail"]
        assert detail == f"ballot 2: these items were not selected for it: {other!r}"


def test_the_seed_breaks_ties_at_the_cut():
    selections = {answer(PATH, **{**REQUEST, "seed": seed})["next_ballot"]["items"][1] for seed in range(16)}
    assert selections == {"queen", "cabbage"}


def test_how_comparisons_are_grouped_does_not_matter():
    forms = FIRST["comparisons"]
    one = {name: forms[0][name] + forms[1][name] for name in ("left", "right", "votes")}
    single_comparisons = [{name: [one[name][place]] for name in one} for place in (2, 0, 3, 1)]
    nobody = {"voter": 7, "left": [], "right": [], "votes": []}
    for comparisons in ([one], single_comparisons, [nobody, *forms]):
        assert answer(PATH, **{**REQUEST, "ballots": [{"comparisons": comparisons}]}) == answer(PATH, **REQUEST)
