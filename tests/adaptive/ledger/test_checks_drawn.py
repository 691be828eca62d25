"""The checks of a ballot: no pair that the voter gets anyway, repeats far from their comparisons, even distribution."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive._plan import plan_ballots
from adaptive.ledger import CampaignSettings, LedgerError
from adaptive.ledger._campaign.plan import expected_probes
from adaptive.ledger._campaign.settings import KnownPair, Pay, Probing
from adaptive.ledger._store.schema import json_of
from adaptive.ledger._votes.imports import read_known_pairs
from rankcorr.errors import TableError
from tests.adaptive.ledger.campaigns import draw_slots, known_pairs, places_by_sheet, probes_of


@st.composite
def ballots_with_probes(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_items = draw(st.integers(2, 9))
    draw_of_ballot = draw_slots(
        n_items, draw(st.integers(1, 8)), draw(st.integers(1, 5)), draw(st.sampled_from([None, 1, 2, 3, 5])), rng
    )
    # Some known pairs are among the items of the ballot, and some are not.
    n_labels = 2 * ((n_items + draw(st.integers(0, 6))) // 2)
    known = known_pairs(rng.permutation(n_labels).tolist()[: 2 * draw(st.integers(0, 5))], draw(st.integers(0, 2)))
    shares = st.floats(0, 0.5)
    probing = Probing(known, draw(st.integers(0, 3)), draw(shares), draw(shares))
    return probing, known, draw_of_ballot, rng


def pairs_by_slot(draw):
    """The pairs of all comparisons of each slot."""
    pairs = {slot: set() for slot in draw.slots.tolist()}
    for place, sheet in enumerate(draw.sheet.tolist()):
        pairs[int(draw.slots[sheet])].add(pair(*draw.items[place]))
    return pairs


def pair(left, right):
    return frozenset([int(left), int(right)])


@given(ballots_with_probes())
def test_only_repeats_ask_a_pair_twice(case):
    probing, known, draw, rng = case
    probes = probes_of(probing, known, draw, rng=rng)
    pairs = pairs_by_slot(draw)
    check_counts, overlaps = Counter(), Counter()
    for probe in probes:
        if probe.kind == "repeat":
            continue
        slot = int(draw.slots[probe.sheet])
        checked_pair = pair(probe.left, probe.right)
        assert checked_pair not in pairs[slot]
        check_counts[probe.sheet, checked_pair] += 1
        overlaps[slot, checked_pair] += probe.kind == "overlap"
    assert max(check_counts.values(), default=1) == 1
    assert max(overlaps.values(), default=1) <= 1


@given(ballots_with_probes())
def test_repeats_come_later_with_swapped_sides(case):
    probing, known, draw, rng = case
    again = [probe for probe in probes_of(probing, known, draw, rng=rng) if probe.kind == "repeat"]
    sizes = {sheet: len(places) for sheet, places in places_by_sheet(draw).items()}
    for probe in again:
        place = probe.repeats
        assert draw.sheet[place] == probe.sheet
        assert (probe.left, probe.right, probe.expected) == (*draw.items[place, ::-1], None)
        between = probe.position - draw.position[place] - 1
        assert between >= (sizes[probe.sheet] - 1) // 2
        assert probe.position < sizes[probe.sheet]  # before the last comparison, so it is certainly asked
    assert len({probe.repeats for probe in again}) == len(again)
    numbers = Counter(probe.sheet for probe in again)
    for sheet, size in sizes.items():
        most = (size - 1) - (size - 1) // 2 if size > 2 else 0
        assert numbers[sheet] <= most
        assert abs(numbers[sheet] - min(most, probing.repeats * size)) < 1


@given(ballots_with_probes())
def test_overlaps_are_comparisons_of_others(case):
    probing, known, draw, rng = case
    overlaps = [probe for probe in probes_of(probing, known, draw, rng=rng) if probe.kind == "overlap"]
    known_ones = {pair(check.left, check.right) for check in known}
    for probe in overlaps:
        place = probe.repeats
        assert draw.slots[draw.sheet[place]] != draw.slots[probe.sheet]
        assert pair(probe.left, probe.right) == pair(*draw.items[place])
        assert pair(probe.left, probe.right) not in known_ones
    numbers = Counter(probe.sheet for probe in overlaps)
    for sheet, places in places_by_sheet(draw).items():
        assert numbers[sheet] < probing.overlap * len(places) + 1


@given(ballots_with_probes())
def test_known_pairs_keep_their_answer_on_either_side(case):
    probing, known, draw, rng = case
    expected = {pair(check.left, check.right): check for check in known}
    codes = {"left": 1, "right": -1, "tie": 0}
    pairs = pairs_by_slot(draw)
    probes = probes_of(probing, known, draw, rng=rng)
    dealt = Counter()
    for probe in probes:
        if probe.kind in ("repeat", "overlap"):
            continue
        check = expected[pair(probe.left, probe.right)]
        assert probe.kind == check.kind
        assert probe.expected == (codes[check.expected] if probe.left == check.left else -codes[check.expected])
        dealt[probe.sheet] += probe.kind != "practice"
    for sheet, slot in enumerate(draw.slots.tolist()):
        free = sum(p not in pairs[slot] and check.kind != "practice" for p, check in expected.items())
        assert dealt[sheet] == min(probing.known_per_sheet, free)


def test_practice_begins_the_first_sheet_of_a_new_voter():
    rng = np.random.default_rng(1)
    draw = draw_slots(8, 6, 4, 3, rng)
    known = known_pairs(range(8, 14), practice=3)
    probes = probes_of(Probing(known, 1), known, draw, practised={2}, rng=rng)
    first = {slot: draw.slots.tolist().index(slot) for slot in (0, 1, 3)}
    assert Counter((probe.sheet, probe.position) for probe in probes if probe.kind == "practice") == {
        (sheet, 0): 3 for sheet in first.values()
    }


def test_known_pairs_take_turns_over_sheets_and_ballots():
    rng = np.random.default_rng(2)
    known = known_pairs(range(8, 18))
    draw = draw_slots(8, 12, 2, 3, rng)  # 24 comparisons of each slot, in 8 sheets
    counts = {(0, 0): 1, (0, 1): 1, (0, 2): 1}
    probes = probes_of(Probing(known, 1), known, draw, counts_by_pair=counts, rng=rng)
    index = {pair(known_pair.left, known_pair.right): at for at, known_pair in enumerate(known)}
    for slot in (0, 1):
        times = Counter({at: number for (of, at), number in counts.items() if of == slot})
        times.update(index[pair(p.left, p.right)] for p in probes if draw.slots[p.sheet] == slot)
        assert max(times.values()) - min(times[at] for at in range(5)) <= 1
    assert len({probe.left < probe.right for probe in probes}) == 2  # sides are drawn


def test_the_same_seed_draws_the_same_checks():
    draw = draw_slots(8, 6, 4, None, np.random.default_rng(1))
    known = known_pairs(range(8, 14))
    probing = Probing(known, 1, 0.2, 0.2)
    first, again, other = (probes_of(probing, known, draw, rng=np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    assert [probe.sheet for probe in first] == sorted(probe.sheet for probe in first)


GOLD = KnownPair("gold", "a", "b", "left")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KnownPair("trap", "a", "b", "left"), r"'practice', 'attention' or 'gold'; got 'trap'"),
        (lambda: KnownPair("gold", "a", "b", "cannot say"), r"'left', 'right' or 'tie'; got 'cannot say'"),
        (lambda: KnownPair("gold", "a", "a", "tie"), r"'a' is compared with itself"),
        (lambda: Probing(known_per_sheet=-1), r"known_per_sheet must be a whole number from 0 on; got -1"),
        (lambda: Probing(repeats=0.51), r"repeats must be a number from 0 to 0\.5; got 0\.51"),
        (lambda: Probing(overlap=float("nan")), r"overlap must be a number from 0 to 0\.5; got nan"),
        (lambda: Probing((GOLD, KnownPair("practice", "b", "a", "tie"))), r"the pair 'b', 'a' is listed twice"),
        (lambda: Probing((GOLD,)).check_items(["a", "c"]), "'b' of a check is not an item of the campaign"),
        (lambda: CampaignSettings(probing={"repeats": 0.1}), r"probing must be None or a Probing; got \{"),
    ],
)
def test_invalid_settings_are_refused(make, message):
    with pytest.raises(LedgerError, match=message):
        make()


def test_settings_come_back_from_json():
    known = (GOLD, KnownPair("practice", ("x", "y"), 7, "tie"))
    for settings in (
        CampaignSettings(),
        CampaignSettings(probing=Probing(known, 2, 0.1, 0.2), pay=Pay(per_vote=0.05, fee=0.3)),
    ):
        assert CampaignSettings.from_dict(json.loads(json_of(settings.to_dict()))) == settings


def test_settings_of_a_campaign_without_probes_are_read():
    assert CampaignSettings.from_dict(
        {"sheet_size": 5, "assigned": False, "lease_minutes": None, "least_answered": 0.5}
    ) == (CampaignSettings(sheet_size=5, assigned=False, least_answered=0.5))


HEADER = "left,right,winner,kind\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "a,b,left,trap\n", r'p\.csv:2: column "kind" must be practice, attention or gold; got \'trap\''),
        (HEADER + "a,b,,gold\n", r'p\.csv:2: column "winner" must hold the expected answer: left, right or tie'),
        (HEADER + "a,b,cannot say,gold\n", r"p\.csv:2: the expected answer must be .left., .right. or .tie.; got"),
        (HEADER + "a,b,tie,gold\nb,a,tie,gold\n", r"p\.csv:3: this pair is also on line 2"),
        (HEADER + "a,a,tie,gold\n", r"p\.csv:2: 'a' is compared with itself"),
        (HEADER + "a,z,tie,gold\n", r"p\.csv:2: 'z' is not an item of the campaign"),
        ("left,winner,kind\na,tie,gold\n", r'p\.csv:1: no column "right"'),
    ],
)
def test_errors_in_a_file_of_known_pairs_name_the_line(tmp_path, text, message):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(TableError, match=message):
        read_known_pairs(tmp_path / "p.csv", ["a", "b", "c"])


def test_a_file_of_known_pairs_has_items_of_several_parts(tmp_path):
    (tmp_path / "p.csv").write_text("kind,left_1,left_2,right_1,right_2,winner,note\ngold,a,b,c,d,right,x\n")
    assert read_known_pairs(tmp_path / "p.csv", [("a", "b"), ("c", "d")]) == (
        KnownPair("gold", ("a", "b"), ("c", "d"), "right"),
    )


@pytest.mark.wide
@pytest.mark.parametrize("size", [None, 7, 2])
def test_the_expected_number_of_checks_is_the_mean_of_draws(size):
    plan = plan_ballots(12, n_ballots=2, fraction=0.5, presentations=9)
    probing = Probing((), 2, 0.15, 0.25)
    expected = expected_probes(plan, 5, CampaignSettings(sheet_size=size, probing=probing))
    rng = np.random.default_rng(3)
    counts = []
    for _ in range(300):
        counts.append(0)
        for number in (1, 2):
            draw = draw_slots(plan.sizes[number - 1], plan.presentations, 5, size, rng)
            counts[-1] += len(probes_of(probing, (), draw, rng=rng))
    error = np.std(counts) / np.sqrt(len(counts))
    assert error < 0.5
    assert abs(np.mean(counts) - expected) < 4 * error + 1e-9


def test_known_pairs_are_counted_by_sheet_and_practice_by_slot():
    plan = plan_ballots(12, n_ballots=2, fraction=0.5, presentations=9)
    known = known_pairs(range(12, 22), practice=3)
    settings = CampaignSettings(sheet_size=4, probing=Probing(known, 1))
    # Ballots of 54 and 27 comparisons, 5 slots: 4 slots of 11 and one of 10, all in 3 sheets; then 2 of 6 and 3 of 5.
    assert expected_probes(plan, 5, settings) == 5 * 3 + 15 + 10
    assert expected_probes(plan, 5, settings, n_opened=1) == 10
    assert expected_probes(plan, 5, CampaignSettings()) == 0
