"""The guarantees of a draw in one property, its randomness by chi-square, and certificates that name violations."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from adaptive import _draw_kernels as kernels
from adaptive._draw import Ballot, draw_assignment, draw_ballot, draw_sets
from adaptive.errors import DrawError
from tests.adaptive.naive import draw_sets as draw_sets_naively
from tests.adaptive.naive import parts

JIT = hasattr(kernels.draw_comparisons, "signatures")
MAX_ITEMS = 200 if JIT else 30


@st.composite
def ballots(draw):
    """Ballots of 2 to 200 items; M small, about N - 1 or up to 3 N, odd and even; few and many voters."""
    n_items = draw(st.integers(2, MAX_ITEMS))
    few, about = st.integers(1, 6), st.integers(n_items - 3, n_items + 2)
    many = st.integers(2 * n_items - 4, 2 * n_items) | st.integers(1, 3 * n_items)
    presentations = max(1, draw(few | about | many))
    voters = draw(st.one_of(st.integers(1, 5), st.integers(1, 2 * n_items), st.integers(1, 5_000 if JIT else 300)))
    return draw_ballot(n_items, presentations, voters, np.random.default_rng(draw(st.integers(0, 2**32))))


def pairs(ballot):
    """The unordered pair of each comparison."""
    return [(min(a, b), max(a, b)) for a, b in zip(ballot.left.tolist(), ballot.right.tolist(), strict=True)]


@given(ballots())
def test_a_draw_has_every_guarantee_and_its_certificate_confirms_it(ballot):
    """Counts one comparison at a time, and compares with the counts of the certificate."""
    presentations, n_items, n_voters = ballot.presentations, ballot.n_items, ballot.n_voters
    on_left, on_right = Counter(ballot.left.tolist()), Counter(ballot.right.tolist())
    presented, loads = on_left + on_right, Counter(ballot.voter.tolist())
    compared = pairs(ballot)
    pair_counts, by_voter = Counter(compared), Counter(zip(compared, ballot.voter.tolist(), strict=True))
    is_connected = len(parts(range(n_items), [(a, b, None) for a, b in pair_counts])) == 1
    expected = Counter({presentations: n_items})
    if presentations % 2 == 1 and n_items % 2 == 1:
        expected = Counter({presentations: n_items - 1, presentations + 1: 1})
    assert Counter(presented.values()) == expected, "an item is presented more or less often than wanted"
    assert ballot.n_comparisons == -(-presentations * n_items // 2), "not M N / 2 comparisons, rounded up"
    assert not any(a == b for a, b in pair_counts), "an item meets itself"
    all_times = list(pair_counts.values()) + [0] * (n_items * (n_items - 1) // 2 - len(pair_counts))
    copies, rest = divmod(presentations, n_items - 1)
    assert set(all_times) <= ({copies, copies + 1} if rest else {copies}), "a pair repeats more often than it must"
    for item, n_times in presented.items():
        excess = abs(on_left[item] - on_right[item])
        assert excess == n_times % 2, "an item is more often on one side than on the other"
    least_load = ballot.n_comparisons // n_voters
    assert {loads[voter] - least_load for voter in range(n_voters)} <= {0, 1}, "loads of voters differ by more than 1"
    for (pair, _), n_times in by_voter.items():  # 1 unless there are fewer voters than repeats
        assert n_times <= -(-pair_counts[pair] // n_voters), "a voter gets a pair more often than needed"
    assert presentations == 1 or is_connected, "the comparisons do not join all items"

    certificate = ballot.certificate()
    assert certificate.broken == ()
    extremes = min(presented.values()), max(presented.values())
    assert (certificate.presentations_min, certificate.presentations_max) == extremes
    more = [item for item, n_times in presented.items() if n_times > presentations]
    assert ([] if certificate.item_with_one_more is None else [certificate.item_with_one_more]) == more
    assert certificate.n_self_pairs == 0
    assert (certificate.repeats_min, certificate.repeats_max) == (min(all_times), max(all_times))
    assert certificate.left_excess == presentations % 2
    assert certificate.load_max == max(loads.values())
    assert certificate.load_min == (min(loads.values()) if len(loads) == n_voters else 0)
    assert certificate.n_voter_repeats == ballot.n_comparisons - len(by_voter)
    assert (certificate.n_components == 1) == is_connected


@pytest.mark.parametrize("n_items", range(2, 15 if JIT else 8))
def test_every_small_size_has_every_guarantee(n_items):
    rng = np.random.default_rng(n_items)
    for presentations in range(1, 2 * n_items + 2):
        for voters in (1, 2, 3, 50):
            assert draw_ballot(n_items, presentations, voters, rng).certificate().broken == ()


@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("n_items", "presentations", "voters"),
    [(990, 40, 100), (5001, 7, 60), (5000, 4, 10_000), (400, 333, 7), (16, 1000, 90), (3, 4000, 3000), (2, 999, 800)],
)
def test_large_draws_have_every_guarantee(n_items, presentations, voters):
    assert draw_ballot(n_items, presentations, voters, np.random.default_rng(8)).certificate().broken == ()


@pytest.mark.parametrize(
    ("n_items", "presentations", "n_graphs"),
    [
        (6, 1, 15),  # perfect matchings: 5!!
        (5, 1, 30),  # a path of three items, 3 C(5, 3), and the other two
        (4, 2, 3),  # closed rounds: (n - 1)! / 2
        (5, 2, 12),
        (6, 2, 60),
        (5, 3, 15),  # all pairs except two disjoint ones
        (6, 3, 70),  # complements of 2-regular graphs: OEIS A001205(6)
        (6, 4, 15),  # all pairs except a perfect matching
        (5, 6, 12),  # all pairs and a 2-regular graph: rounds of five
        (4, 5, 3),  # all pairs, and all except a perfect matching a second time
    ],
)
def test_small_draws_are_uniform(n_items, presentations, n_graphs):
    rng = np.random.default_rng(2020)
    graph_counts = Counter(
        tuple(sorted(pairs(draw_ballot(n_items, presentations, 2, rng)))) for _ in range(30 * n_graphs)
    )
    assert len(graph_counts) == n_graphs
    assert chisquare(list(graph_counts.values())).pvalue > 0.001


@pytest.mark.parametrize(("n_items", "presentations", "voters"), [(4, 2, 2), (4, 3, 3), (3, 4, 3), (3, 1, 4)])
@pytest.mark.parametrize("place", [0, -1])
def test_order_sides_and_voters_are_uniform(n_items, presentations, voters, place):
    rng = np.random.default_rng(1945)
    outcomes = Counter()
    n_outcomes = n_items * (n_items - 1) * voters
    for _ in range(30 * n_outcomes):
        ballot = draw_ballot(n_items, presentations, voters, rng)
        outcomes[int(ballot.left[place]), int(ballot.right[place]), int(ballot.voter[place])] += 1
    assert len(outcomes) == n_outcomes
    assert chisquare(list(outcomes.values())).pvalue > 0.001


def test_copies_of_a_pair_are_with_any_two_voters():
    rng = np.random.default_rng(7)
    voter_pairs = Counter()
    for _ in range(300):
        ballot = draw_ballot(4, 6, 5, rng)  # every pair twice
        voters = sorted(zip(pairs(ballot), ballot.voter.tolist(), strict=True))
        voter_pairs.update(tuple(sorted((u, v))) for (_, u), (_, v) in list(pairwise(voters))[::2])
    assert len(voter_pairs) == 10
    assert chisquare(list(voter_pairs.values())).pvalue > 0.001


def test_copies_of_a_pair_are_with_many_pairs_of_voters_in_one_ballot():
    # dealt next to each other to six voters in turn, two copies would go to one of three pairs of voters
    ballot = draw_ballot(8, 14, 6, np.random.default_rng(7))
    by_pair = sorted(zip(pairs(ballot), ballot.voter.tolist(), strict=True))
    voter_pairs = {(u, v) for (_, u), (_, v) in list(pairwise(by_pair))[::2]}
    assert len(voter_pairs) > 6


@pytest.mark.parametrize(("n_items", "presentations"), [(60, 2), (20, 14), (20, 38)])
def test_successive_comparisons_share_items_only_by_chance(n_items, presentations):
    ballot = draw_ballot(n_items, presentations, 3, np.random.default_rng(7))
    shared = [bool(set(pair) & set(following)) for pair, following in pairwise(pairs(ballot))]
    by_chance = 4 / n_items  # approximately: each of two items, on each of two sides
    assert np.mean(shared) < by_chance + 4 * np.sqrt(by_chance / len(shared))
    if presentations > n_items:
        assert sum(pair == following for pair, following in pairwise(pairs(ballot))) < len(shared) / 20


def test_an_unconnected_ballot_is_drawn_again():
    # 35 of the 19,355 graphs in which 8 items have 3 neighbours each are two parts of four
    for seed in range(3_000):
        first, second, _ = kernels.draw_pairs(8, 0, 3, -1, np.random.default_rng(seed))
        if not kernels.is_connected(8, first, second):
            break
    else:
        pytest.fail("no seed draws two parts")
    ballot = draw_ballot(8, 3, 1, np.random.default_rng(seed))
    assert ballot.certificate().n_components == 1
    unjoined = Ballot(range(8), 3, range(1), first, second, np.zeros(12, int))
    assert unjoined.certificate().n_components == 2


def test_a_seed_draws_the_same_ballot_in_every_version():
    """Recorded with version 0.1.0, because saved protocols draw their ballots again."""
    ballot = draw_ballot(6, 3, 2, np.random.default_rng(5))
    assert ballot.left.tolist() == [4, 1, 0, 5, 0, 2, 2, 3, 3]
    assert ballot.right.tolist() == [5, 0, 3, 1, 2, 4, 5, 4, 1]
    assert ballot.voter.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]


@pytest.mark.wide
def test_plain_python_draws_the_same_ballots():
    sizes = ((5, 3, 2), (12, 5, 3), (13, 11, 4), (6, 11, 9), (30, 7, 3), (7, 2, 2))
    program = (
        "import numpy as np; from adaptive._draw import draw_ballot\n"
        "rng = np.random.default_rng(1)\n"
        f"ballots = [draw_ballot(*each, rng) for each in {sizes}]\n"
        "print([[side.tolist() for side in (each.left, each.right, each.voter)] for each in ballots])"
    )
    environment = dict(os.environ, NUMBA_DISABLE_JIT="1" if JIT else "0")  # without numba here, with it there
    command = [sys.executable, "-W", "error", "-c", program]
    other = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    rng = np.random.default_rng(1)
    ballots = [draw_ballot(*size, rng) for size in sizes]
    assert json.loads(other.stdout) == [[side.tolist() for side in (b.left, b.right, b.voter)] for b in ballots]


def test_labels_and_names_are_kept():
    ballot = draw_ballot(["b", "a", ("c", 1)], 2, ["Ann", "Bob"], np.random.default_rng(0))
    assert ballot.items == ("b", "a", ("c", 1))
    assert ballot.voters == ("Ann", "Bob")
    assert draw_ballot(np.array(["b", "a"]), 1, 1, np.random.default_rng(0)).items == ("b", "a")
    assert draw_ballot(iter("ab"), 1, 1, np.random.default_rng(0)).items == ("a", "b")
    assert draw_ballot(range(5, 8), 1, 1, np.random.default_rng(0)).items == (5, 6, 7)


def test_a_number_of_items_gives_their_indices_as_labels():
    three = (draw_ballot(items, 2, 2, np.random.default_rng(0)) for items in (4, range(4), [0, 1, 2, 3]))
    by_number, by_range, by_label = three
    assert by_number == by_range == by_label
    assert hash(by_number) == hash(by_label)
    assert by_number != draw_ballot(list("abcd"), 2, 2, np.random.default_rng(0))


def test_ballot_is_a_value():
    ballot = draw_ballot(5, 2, 2, np.random.default_rng(0))
    with pytest.raises(AttributeError, match="cannot assign"):
        ballot.presentations = 3
    for field, other in [("presentations", 4), ("items", "abcde"), ("voters", ("Ann", "Bob")), ("left", ballot.right)]:
        assert replace(ballot, **{field: other}) != ballot
    assert repr(ballot) == "<Ballot of 5 comparisons: 5 items, 2 presentations each, 2 voters>"


def test_days_in_nanoseconds_stay_days():
    days = np.arange("2026-03-01", "2026-03-04", dtype="datetime64[D]").astype("datetime64[ns]")
    ballot = draw_ballot(days, 2, list(days[:1]), np.random.default_rng(0))
    assert (ballot.items, ballot.voters) == (
        (datetime(2026, 3, 1), datetime(2026, 3, 2), datetime(2026, 3, 3)),
        (datetime(2026, 3, 1),),
    )


def test_ballot_copies_its_arrays():
    left = np.array([0, 1])
    ballot = Ballot(range(2), 2, range(1), left, np.array([1, 0]), np.zeros(2, int))
    left[0] = 1
    assert ballot.left.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"left": [0, 1, 2, 3, 0]}, "items are presented 1 to 3 times in 5 comparisons, not 2 times each"),
        ({"left": [0, 1, 2, 3]}, "items are presented"),
        ({"right": [1, 2, 3, 4, 4]}, "1 comparisons are of an item with itself"),
        ({"right": [1, 0, 3, 4, 0]}, "pairs are compared 0 to 2 times, not 0 to 1"),
        ({"left": [0, 2, 2, 3, 4], "right": [1, 1, 3, 4, 0]}, "an item is on one side 2 times more than on the other"),
        ({"voter": [0, 0, 0, 0, 1]}, "voters get 1 to 4 comparisons"),
        ({"voters": range(3)}, "voters get 0 to 3 comparisons"),
        ({"right": [1, 0, 3, 4, 0], "voter": [0, 0, 1, 1, 1]}, "voters get a pair again in 1 comparisons, not 0"),
        ({"left": [0, 1, 2, 3, 4], "right": [1, 2, 0, 4, 3]}, "the comparisons fall into 2 parts"),
        ({"presentations": 3}, "not 3 times each, one of them once more"),
    ],
)
def test_certificate_names_the_violated_guarantee(changes, sentence):
    fields = {"items": range(5), "presentations": 2, "voters": range(2)}
    fields |= {"left": [0, 1, 2, 3, 4], "right": [1, 2, 3, 4, 0], "voter": [0, 1, 0, 1, 0]}
    assert Ballot(**fields).certificate().broken == ()
    changed = fields | changes
    if len(changed["left"]) == 4:
        changed |= {"right": [1, 2, 3, 4], "voter": [0, 1, 0, 1]}
    assert any(sentence in broken for broken in Ballot(**changed).certificate().broken)


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 2, 1, RNG), "the number of items must be an integer of at least 2; got 1"),
        ((4.0, 2, 1, RNG), r"the number of items must be an integer of at least 2; got 4\.0"),
        ((["a"], 2, 1, RNG), "a ballot needs at least 2 items; got 1"),
        (("abc", 2, 1, RNG), "items must be a number or a list of names; got 'abc'"),
        ((["a", "b", "a"], 2, 1, RNG), "items must be unique; more than once: 'a'"),
        ((["a", ["b"]], 2, 1, RNG), r"items must be hashable, as text and tuples are; got \['b'\]"),
        ((["a", float("nan")], 2, 1, RNG), "items must have a label each; got nan"),
        (([7, "7", "a"], 2, 1, RNG), "items differ only in their types: '7'; write all in one way, such as text"),
        (([date(2026, 1, 31), "2026-01-31"], 2, 1, RNG), "items differ only in their types: '2026-01-31'"),
        ((4, 2, [np.int64(1), "1"], RNG), "voters differ only in their types: '1'"),
        ((["a", np.datetime64(1, "ns")], 2, 1, RNG), r"items that are times must be whole microseconds .*; got:"),
        (([np.timedelta64(5), "a"], 2, 1, RNG), r"items that are times must be whole .*; got: np.timedelta64\(5\)"),
        ((["a", "b"], 2, ["v", None], RNG), "voters must have a label each; got None"),
        ((4, 0, 1, RNG), "presentations must be an integer of at least 1; got 0"),
        ((4, 2.5, 1, RNG), r"presentations must be an integer of at least 1; got 2\.5"),
        ((4, 2, 0, RNG), "the number of voters must be an integer of at least 1; got 0"),
        ((4, 2, [], RNG), "a ballot needs at least 1 voter; got 0"),
        ((4, 2, ["Ann", "Ann"], RNG), "voters must be unique; more than once: 'Ann'"),
        ((4, 2, 1, 5), r"rng must be a numpy\.random\.Generator, .*; got 5"),
        ((2**29, 4, 1, RNG), "a ballot holds at most 1073741823 comparisons; got 1073741824"),
        ((4, 10**5000, 1, RNG), "a ballot holds at most 1073741823 comparisons; got int that cannot be shown"),
        ((10**30, 2, 1, RNG), "a ballot holds at most 1073741823 items; got 10000"),
        ((4, 2, range(2**30), RNG), "a ballot holds at most 1073741823 voters; got 1073741824"),
    ],
)
def test_invalid_draws_are_refused(arguments, message):
    with pytest.raises(DrawError, match=message):
        draw_ballot(*arguments)


def test_a_failed_draw_does_not_advance_the_rng():
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(DrawError, match="at least 1"):
        draw_ballot(4, 0, 1, rng)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"left": [0, 4]}, "left must be indices from 0 to 3; got: 4"),
        ({"right": [-1, 2]}, "right must be indices from 0 to 3; got: -1"),
        ({"voter": [0, 1]}, "voter must be indices from 0 to 0; got: 1"),
        ({"voter": [0]}, "left, right and voter must be of one length; got 2 and voter of 1"),
        ({"left": np.ma.masked_equal([0, 1], 1)}, "left has masked entries: leave these comparisons out"),
        ({"left": [0.0, 1.0]}, r"left must be integers in one dimension; got float64 of shape \(2,\)"),
        ({"left": [[0, 1]]}, r"left must be integers in one dimension; got int64 of shape \(1, 2\)"),
        ({"presentations": 0}, "presentations must be an integer of at least 1; got 0"),
        ({"items": range(1)}, "a ballot needs at least 2 items; got 1"),
        ({"voters": ()}, "a ballot needs at least 1 voter; got 0"),
    ],
)
def test_invalid_ballots_are_refused(changes, message):
    base = {"items": range(4), "presentations": 1, "voters": range(1), "left": [0, 1], "right": [2, 3], "voter": [0, 0]}
    with pytest.raises(DrawError, match=message):
        Ballot(**base | changes)


def n_triangles(graphs, n_items):
    adjacent = np.zeros((len(graphs), n_items, n_items))
    for matrix, (first, second) in zip(adjacent, graphs, strict=True):
        matrix[first, second] = matrix[second, first] = 1
    return np.einsum("gij,gji->g", adjacent @ adjacent, adjacent) / 6


def connect(degree, others):
    """Ways to connect an item to `degree` others, given their open degrees, with the open degrees afterwards."""
    if not others:
        return [(1, ())] if degree == 0 else []
    need, n_alike = others[0], others.count(others[0])
    return [
        (comb(n_alike, n) * n_ways, (need,) * (n_alike - n) + (need - 1,) * n + left)
        for n in range(min(degree, n_alike if need else 0) + 1)
        for n_ways, left in connect(degree - n, others[n_alike:])
    ]


@cache
def n_graphs(degrees):
    """Number of graphs without loops and repeats whose items have these degrees."""
    if not degrees:
        return 1
    return sum(n * n_graphs(tuple(sorted(left, reverse=True))) for n, left in connect(degrees[0], degrees[1:]))


def n_triangles_of_uniform(n_items, degree):
    """Mean number of triangles over all graphs, by counting the graphs that contain a given triangle."""
    ways = [(1, (degree,) * (n_items - 3))]
    for _ in range(3):
        ways = [
            (n * more, tuple(sorted(left, reverse=True))) for n, at in ways for more, left in connect(degree - 2, at)
        ]
    n_with = sum(n * n_graphs(left) for n, left in ways)
    return comb(n_items, 3) * n_with / n_graphs((degree,) * n_items)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_larger_draws_have_as_many_triangles_as_uniform_ones():
    # 10,000 draws without mixing are 7 standard errors off
    rng = np.random.default_rng(12)
    n_items, degree, n_draws = 12, 5, 10_000
    assert n_graphs((3,) * 8) == 19_355  # as known for cubic graphs
    result = n_triangles([kernels.draw_pairs(n_items, 0, degree, -1, rng)[:2] for _ in range(n_draws)], n_items)
    assert abs(result.mean() - n_triangles_of_uniform(n_items, degree)) < 3.5 * result.std() / np.sqrt(n_draws)


def test_a_stuck_repair_is_abandoned():
    stubs = np.repeat(np.arange(2, dtype=np.int32), 3)
    assert not kernels.draw_by_exchanges(stubs, 2, kernels.pair_set(4, 3), 1, np.random.default_rng(0))


@given(st.lists(st.integers(0, 40)), st.booleans())
def test_pair_set_is_a_set(keys, hashed):
    """Both kinds; the hash table starts a third full and may become two thirds full, so keys collide."""
    members = kernels.pair_set(2**62 if hashed else 2**10, 20)
    assert (members[0].size == 0) == hashed
    factor = (2**31 - 1) * 2**20 + 1 if hashed else 1
    naive = set()
    for key in [*range(0, 41, 2), *keys]:
        if key in naive:
            kernels.discard(members, key * factor)
            naive.discard(key)
        else:
            kernels.insert(members, key * factor)
            naive.add(key)
        assert [other for other in range(41) if kernels.contains(members, other * factor)] == sorted(naive)


def test_assignments_take_items_without_ratings_first():
    counts = {"a": 0, "b": 5, "c": 0, "d": 1}
    rng = np.random.default_rng(1)
    assert {frozenset(draw_assignment(counts, 2, rng=rng)) for _ in range(20)} == {frozenset("ac")}
    assert sorted(draw_assignment(counts, 4, rng=rng)) == list("abcd")


def test_assignments_are_drawn_by_inverse_counts():
    counts, rng, number = {"a": 1, "b": 2, "c": 4}, np.random.default_rng(2), 6_000
    firsts = [draw_assignment(counts, 1, rng=rng)[0] for _ in range(number)]
    for item, expected in {"a": 4 / 7, "b": 2 / 7, "c": 1 / 7}.items():
        assert abs(firsts.count(item) / number - expected) < 4 * (0.25 / number) ** 0.5


def test_assignments_balance_the_number_of_ratings():
    counts, rng = dict.fromkeys(range(40), 0), np.random.default_rng(3)
    for _ in range(200):
        for item in draw_assignment(counts, 15, rng=rng):
            counts[item] += 1
    assert sum(counts.values()) == 3_000
    assert np.std(list(counts.values())) < 6  # 6.8 if items were drawn uniformly


@pytest.mark.parametrize(
    ("counts", "size", "message"),
    [
        ({"a": 0}, 2, "size is 2, and there are 1 items to rate"),
        ({"a": -1}, 1, "number of ratings of 'a' must be"),
        ({"a": 0}, 0, "size must be"),
        (["a"], 1, "counts must map each item to its number of ratings"),
        ({"a": 1, 7: 1, "7": 1}, 1, "items differ only in their types: '7'"),
    ],
)
def test_assignments_need_counts_and_enough_items(counts, size, message):
    with pytest.raises(DrawError, match=message):
        draw_assignment(counts, size, rng=np.random.default_rng(0))
    with pytest.raises(DrawError, match="rng must be"):
        draw_assignment({"a": 0}, 1, rng=0)


@given(st.integers(3, 30), st.integers(3, 6), st.integers(1, 9), st.integers(0, 99))
def test_sets_are_balanced(n_items, size, presentations, seed):
    if n_items < size:
        return
    sets = draw_sets(n_items, size, presentations, np.random.default_rng(seed))
    assert all(len(set(members)) == size for members in sets)
    counts = np.bincount(np.concatenate(sets), minlength=n_items)
    n_more = len(sets) * size - n_items * presentations
    assert 0 <= n_more < size
    assert sorted(counts.tolist()) == [presentations] * (n_items - n_more) + [presentations + 1] * n_more
    assert draw_sets(n_items, size, presentations, np.random.default_rng(seed)) == sets


@given(st.integers(6, 20), st.integers(3, 6), st.integers(1, 9), st.integers(0, 99))
def test_sets_for_a_seed_are_those_of_the_naive_draw(n_items, size, presentations, seed):
    rng, naive_rng = np.random.default_rng(seed), np.random.default_rng(seed)
    labels = [f"item {place}" for place in range(n_items)]
    expected = draw_sets_naively(n_items, size, presentations, naive_rng)
    assert draw_sets(labels, size, presentations, rng) == tuple(
        tuple(labels[place] for place in members) for members in expected
    )
    assert rng.random() == naive_rng.random()


@pytest.mark.parametrize(("n_items", "size", "presentations"), [(20, 4, 8), (99, 4, 8), (13, 4, 12), (30, 3, 10)])
def test_items_of_a_set_have_rarely_been_in_a_set_together(n_items, size, presentations):
    """With random sets, some pair occurs five times or more in each of these designs."""
    sets = draw_sets(n_items, size, presentations, np.random.default_rng(1))
    met = np.zeros((n_items, n_items), int)
    for members in sets:
        met[np.ix_(members, members)] += 1
    np.fill_diagonal(met, 0)
    assert met.max() <= presentations * (size - 1) / (n_items - 1) + 2


def test_sets_are_random():
    places, firsts = np.zeros(4, int), np.zeros(12, int)
    for seed in range(600):
        sets = draw_sets(12, 4, 1, np.random.default_rng(seed))
        places[next(members.index(0) for members in sets if 0 in members)] += 1
        firsts[sets[0][0]] += 1
    assert chisquare(places).pvalue > 1e-3
    assert chisquare(firsts).pvalue > 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((12, 7, 1), r"size must be at most 6; got 7"),
        ((list("abca"), 3, 1), r"'a'"),
        ((list("abc"), 4, 1), r"sets of 4 items need at least 4 items; got 3"),
        ((12, 4, 0), r"presentations must be an integer of at least 1; got 0"),
        ((2**29, 4, 8), r"sets hold at most 1073741823 items in all"),
        ((12, 2, 1), r"size must be an integer of at least 3; got 2"),
    ],
)
def test_invalid_sets_are_refused(arguments, message):
    with pytest.raises(DrawError, match=message):
        draw_sets(*arguments, np.random.default_rng(1))
    with pytest.raises(DrawError, match="rng"):
        draw_sets(12, 4, 2, 1)
