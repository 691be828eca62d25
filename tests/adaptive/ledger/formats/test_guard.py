"""Cells of CSV that spreadsheets would run."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adaptive._tables import guarded
from rankcorr._io.table import read_ranking, unguarded
from tests.adaptive.ledger.voted import ITEMS, voted

CELLS = st.one_of(st.text(), st.text("'=+-@\t\r1.a", max_size=6))


@given(CELLS)
@example("''=")
@example("'-1")
def test_reading_takes_away_what_writing_has_put_there(cell):
    assert unguarded(guarded(cell)) == cell


@given(CELLS)
def test_no_cell_begins_as_a_formula(cell):
    safe = guarded(cell)
    if safe[:1] in {"=", "+", "-", "@", "\t", "\r"} and safe:
        assert safe[0] in "+-"
        float(safe)


@pytest.mark.parametrize(
    ("prefix", "cells"),
    [
        ("'", ["=HYPERLINK(1)", "+1+1", "-1+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", "-", "-1e5"]),
        ("", ["-1", "+2.5", "-0", "plum", "", "a=b", "'quoted'", "1-2"]),
    ],
)
def test_formulas_are_guarded_and_harmless_cells_stay(prefix, cells):
    assert [*map(guarded, cells)] == [prefix + cell for cell in cells]


@pytest.mark.parametrize("guard", [True, False])
def test_the_ranking_of_a_campaign_has_its_items_when_it_is_read(tmp_path, guard):
    table = voted(str(tmp_path / "ledger.sqlite")).result(interim=True).to_csv(guard=guard)
    (tmp_path / "ranking.csv").write_text(table, newline="")
    ranking = read_ranking(tmp_path / "ranking.csv", id_columns=["item"], score_column="strength")
    assert ("'=1+1" in table, set(ranking.labels)) == (guard, set(ITEMS))


def test_other_tables_keep_their_apostrophes(tmp_path):
    (tmp_path / "ranking.csv").write_text("item,rank,strength\n'=1+1,1,2\nplum,2,1\n")
    assert read_ranking(tmp_path / "ranking.csv", id_columns=["item"], score_column="strength").labels[0] == "'=1+1"
