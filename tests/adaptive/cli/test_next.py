"""`ballots next`: the comparisons are those of the library, and the file, once filled, is one more file of votes."""

import numpy as np
import pytest

from adaptive import bradley_terry, next_comparisons, read_comparisons
from tests.adaptive.cli.commands import as_csv, invoke, rows_of, run_ok, vote

pytestmark = pytest.mark.wide

VOTES = "comparison,voter,left,right,winner\n" + "".join(
    f"{n},{'Ann' if n % 2 else 'Bob'},i{n},i{n + 1},{'left' if n % 3 else 'tie'}\n" for n in range(8)
)


def matched(votes, size, seed, **options):
    matches = next_comparisons(bradley_terry(votes), size, rng=np.random.default_rng(seed), **options)
    return [
        {"comparison": str(votes.n_comparisons + n), "voter": matches.voters[who], "left": a, "right": b, "winner": ""}
        for n, (who, (a, b)) in enumerate(zip(matches.voter.tolist(), matches.pairs, strict=True))
    ]


def test_the_comparisons_are_those_of_the_library(votes, folder):
    assert rows_of(run_ok("next", "v.csv", "--size", 5, "--seed", 3)) == matched(votes, 5, 3)
    chosen = ("--voter", "Zoë", "--n0", 5, "--focus", 0.1, "--out", "n.csv")
    assert run_ok("next", "v.csv", "--size", 5, "--seed", 3, *chosen) == "5 comparisons written to n.csv\n"
    assert rows_of((folder / "n.csv").read_text()) == matched(votes, 5, 3, voters=["Zoë"], n0=5, focus=0.1)


def test_from_items_to_votes_batch_by_batch(folder):
    """No votes, then votes of one batch, then of both: nobody gets a pair twice, every item is compared."""
    (folder / "items.csv").write_text("item\n" + "".join(f"{n}\n" for n in range(12)))
    rng, files, rows = np.random.default_rng(1), [], []
    for batch in range(6):
        out = f"{batch}.csv"
        voters = ["--voter", "Ann", "--voter", "Bob"]
        run_ok("next", *files, "--items", "items.csv", *voters, "--size", 8, "--seed", batch, "--out", out)
        shown = rows_of((folder / out).read_text())
        assert len(shown) == 8
        assert all(row["winner"] == "" for row in shown)
        assert read_comparisons(out).n_unanswered == 8
        for row in shown:
            row["winner"] = rng.choice(["left", "right", "tie"])
        (folder / out).write_text(as_csv(shown))
        files.append(out)
        rows += shown
    assert [int(row["comparison"]) for row in rows] == list(range(48))
    pairs = [(row["voter"], *sorted([row["left"], row["right"]])) for row in rows]
    assert len(set(pairs)) == len(pairs)
    assert {row["voter"] for row in rows} == {"Ann", "Bob"}
    assert {label for row in rows for label in (row["left"], row["right"])} == {str(n) for n in range(12)}
    together = rows_of(run_ok("next", *files, "--size", 1, "--seed", 1))
    (folder / "all.csv").write_text(as_csv(rows))
    assert rows_of(run_ok("next", "all.csv", "--size", 1, "--seed", 1))[0].keys() == together[0].keys()


@pytest.mark.usefixtures("opened")
def test_a_voting_goes_on_with_comparisons_of_our_choice(folder):
    vote(folder / "ballot.csv", folder / "some.csv", skipped={"b1-0-0", "b1-0-1", "b1-0-2", "b1-0-3"})
    run_ok("run", "record", "v.db", "some.csv")
    rows = rows_of(run_ok("next", "v.db", "--size", 4, "--seed", 1, "--voter", "0"))
    assert [row["comparison"] for row in rows] == ["20", "21", "22", "23"]
    assert {row["voter"] for row in rows} == {"0"}
    seen = [row for row in rows_of((folder / "some.csv").read_text()) if row["voter"] == "0"]

    def pair(row):
        return tuple(sorted([(row["left_1"], row["left_2"]), (row["right_1"], row["right_2"])]))

    assert not {pair(row) for row in rows} & {pair(row) for row in seen}
    for row in rows:
        row["winner"] = "left"
    (folder / "more.csv").write_text(as_csv(rows))
    assert "10 items, 20 votes" in invoke("fit", "v.db", "more.csv").stdout


@pytest.mark.parametrize(
    ("ids", "first"), [((1, 2, 3), "4"), ((0, 40, 7), "41"), (("a", "b", "9" * 30), "3"), ((5, "x-9", "007"), "8")]
)
def test_ids_go_on_above_those_of_all_files(folder, ids, first):
    """A file may count from 1, or from anywhere; ids that are no numbers cannot clash."""
    rows = zip(ids, ("Ann,a,b,left", "Bob,b,c,tie", "Ann,c,d,"), strict=True)
    (folder / "v.csv").write_text("comparison,voter,left,right,winner\n" + "".join(f"{n},{row}\n" for n, row in rows))
    (folder / "plain.csv").write_text("voter,left,right,winner\nAnn,a,c,left\n")
    shown = rows_of(run_ok("next", "v.csv", "--size", 2, "--seed", 1))
    assert [row["comparison"] for row in shown] == [first, str(int(first) + 1)]
    more = rows_of(run_ok("next", "v.csv", "plain.csv", "--size", 1, "--seed", 1))
    assert more[0]["comparison"] == str(max(4, int(first)))
    (folder / "all.csv").write_text((folder / "v.csv").read_text() + "".join(as_csv(shown).splitlines(True)[1:]))
    assert read_comparisons("all.csv").n_unanswered == 3


def test_a_batch_that_nobody_has_answered_yet_is_not_given_again(folder):
    (folder / "v.csv").write_text(VOTES)
    pairs = []
    for batch in range(4):
        files = ["v.csv", *(f"{n}.csv" for n in range(batch))]
        run_ok("next", *files, "--size", 9, "--seed", 1, "--out", f"{batch}.csv")
        shown = rows_of((folder / files[-1]).read_text())
        pairs += [(row["voter"], *sorted([row["left"], row["right"]])) for row in shown]
    assert len(set(pairs)) == len(pairs)


def test_votes_whose_voters_are_not_known(folder):
    (folder / "v.csv").write_text("left,right,winner\na,b,left\nb,c,left\n")
    result = invoke("next", "v.csv", "--size", 9, "--seed", 1)
    assert list(rows_of(result.stdout)[0]) == ["comparison", "left", "right", "winner"]
    assert result.stderr == "ballots: note: 3 of 9 comparisons: the voter has seen all other pairs\n"


def test_no_possible_pair_is_left(folder):
    (folder / "v.csv").write_text("voter,left,right,winner\nAnn,a,b,left\n")
    result = invoke("next", "v.csv", "--size", 2, "--seed", 1, "--out", "n.csv")
    assert (result.exit_code, result.stdout) == (0, "0 comparisons written to n.csv\n")
    assert result.stderr == "ballots: note: 0 of 2 comparisons: the voter has seen all other pairs\n"
    assert (folder / "n.csv").read_text() == "comparison,voter,left,right,winner\n"
