"""Which probes a campaign asks: what is refused, what is kept, and how many they are."""

import json

import numpy as np
import pytest

from adaptive._plan import plan_ballots
from adaptive.ledger import LedgerError, Settings
from adaptive.ledger._campaign.info import KnownPair, Pay, Probing
from adaptive.ledger._campaign.items import read_known_pairs
from adaptive.ledger._reports.spending import expected_probes
from adaptive.ledger._store.schema import json_of
from rankcorr.errors import TableError
from tests.adaptive.ledger.checks.ballots import drawn_for, known_pairs, probes_of

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
        (
            lambda: Probing((GOLD, KnownPair("practice", "b", "a", "tie"))),
            r"the pair 'b', 'a' is listed twice as a check",
        ),
        (lambda: Probing((GOLD,)).check_items(["a", "c"]), r"'b' of a check is no item of the campaign"),
        (lambda: Settings(probing={"repeats": 0.1}), r"probing must be None or a Probing; got \{"),
        (lambda: Settings(pay=0.1), r"pay must be None or a Pay; got 0\.1"),
    ],
)
def test_what_makes_no_probing_is_refused(make, message):
    with pytest.raises(LedgerError, match=message):
        make()


def test_settings_come_back_from_json():
    known = (GOLD, KnownPair("practice", ("x", "y"), 7, "tie"))
    for settings in (Settings(), Settings(probing=Probing(known, 2, 0.1, 0.2), pay=Pay(per_vote=0.05, fee=0.3))):
        assert Settings.from_dict(json.loads(json_of(settings.to_dict()))) == settings


def test_settings_of_a_campaign_without_probes_are_read():
    assert Settings.from_dict({"sheet_size": 5, "assigned": False, "lease_minutes": None, "least_answered": 0.5}) == (
        Settings(sheet_size=5, assigned=False, least_answered=0.5)
    )


HEADER = "left,right,winner,kind\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "a,b,left,trap\n", r'p\.csv:2: column "kind": practice, .* is expected; got \'trap\''),
        ("left,right,winner\na,b,left\n", r"p\.csv:2: column \"kind\": .* got ''"),
        (HEADER + "a,b,,gold\n", r'p\.csv:2: column "winner": the expected answer is needed'),
        (HEADER + "a,b,cannot say,gold\n", r"p\.csv:2: the expected answer is .left., .right. or .tie.; got"),
        (HEADER + "a,b,tie,gold\nb,a,tie,gold\n", r"p\.csv:3: this pair is also on line 2"),
        (HEADER + "a,a,tie,gold\n", r"p\.csv:2: 'a' is compared with itself"),
        (HEADER + "a,z,tie,gold\n", r"p\.csv:2: 'z' is no item of the campaign"),
        ("left,winner,kind\na,tie,gold\n", r'p\.csv:1: no column "right"'),
    ],
)
def test_a_file_of_known_pairs_is_refused_by_line(tmp_path, text, message):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(TableError, match=message):
        read_known_pairs(tmp_path / "p.csv", ["a", "b", "c"])


def test_a_file_of_known_pairs_has_items_of_several_parts(tmp_path):
    (tmp_path / "p.csv").write_text("kind,left_1,left_2,right_1,right_2,winner,note\ngold,a,b,c,d,right,x\n")
    assert read_known_pairs(tmp_path / "p.csv", [("a", "b"), ("c", "d")]) == (
        KnownPair("gold", ("a", "b"), ("c", "d"), "right"),
    )


@pytest.mark.parametrize("size", [None, 7, 2])
def test_the_expected_number_is_the_mean_of_what_is_same_draw(size):
    plan = plan_ballots(12, n_ballots=2, fraction=0.5, presentations=9)
    probing = Probing((), 2, 0.15, 0.25)
    wanted = expected_probes(plan, 5, Settings(sheet_size=size, probing=probing))
    rng = np.random.default_rng(3)
    counts = []
    for _ in range(300):
        counts.append(0)
        for number in (1, 2):
            drawn = drawn_for(plan.sizes[number - 1], plan.presentations, 5, size, rng)
            counts[-1] += len(probes_of(probing, (), drawn, rng=rng))
    error = np.std(counts) / np.sqrt(len(counts))
    assert error < 0.5
    assert abs(np.mean(counts) - wanted) < 4 * error + 1e-9


def test_known_pairs_are_counted_by_sheet_and_practice_by_slot():
    plan = plan_ballots(12, n_ballots=2, fraction=0.5, presentations=9)
    known = known_pairs(range(12, 22), practice=3)
    settings = Settings(sheet_size=4, probing=Probing(known, 1))
    # Ballots of 54 and 27 comparisons, 5 slots: 4 slots of 11 and one of 10, all in 3 sheets; then 2 of 6 and 3 of 5.
    assert expected_probes(plan, 5, settings) == 5 * 3 + 15 + 10
    assert expected_probes(plan, 5, settings, n_opened=1) == 10
    assert expected_probes(plan, 5, Settings()) == 0
