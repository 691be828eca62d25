"""Cells of CSV that spreadsheets would run."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adaptive._tables import guarded, unguarded

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
