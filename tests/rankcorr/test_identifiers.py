from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import DuplicateLabelError, LabelMismatchError, Ranking, UnicodeFormWarning, align
from rankcorr._input.identifiers import check_identifiers, comparable, identifier_text, plain_identifier, unicode_twins
from rankcorr.errors import ColumnError

KINDS = (int, np.int64, np.int8, np.uint16)
PARTS = st.one_of(st.integers(0, 99), st.text(min_size=1, max_size=3))


@given(st.integers(0, 99), st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_integers_equal_their_decimal_text(number, first, second):
    assert identifier_text(first(number)) == identifier_text(second(number)) == identifier_text(np.str_(number))
    assert type(plain_identifier(first(number))) is int
    assert type(plain_identifier(np.str_(number))) is str


@given(st.lists(PARTS, min_size=1), st.lists(PARTS, min_size=1))
def test_identifiers_of_two_sources_are_equal_if_they_print_alike(first, second):
    left, right = comparable(first, second)
    assert [[a == b for a in left] for b in right] == [[str(a) == str(b) for a in first] for b in second]


@pytest.mark.parametrize(
    ("identifiers", "message"),
    [
        (
            ["a", 7],
            "item ids must be all text or all whole numbers; got both, such as 'a' and 7: write all of them in one way",
        ),
        ([np.int64(7), np.str_("a")], "got both, such as 'a' and 7: write all of them in one way"),
        ([True], "each item id must be text or a whole number; got: True, of type bool"),
        (["a", 1.5], "got: 1.5, of type float"),
        (["a", ""], "each item needs an id; one is empty"),
    ],
)
def test_identifiers_that_cannot_be_used(identifiers, message):
    with pytest.raises(ColumnError, match=message):
        check_identifiers(identifiers, "item")
    with pytest.raises(TypeError, match=message):
        check_identifiers(identifiers, "item", TypeError)


@given(st.lists(st.text("ae\u00e9\u0301\u212aK", min_size=1, max_size=3), unique=True))
def test_twins_are_those_that_normalisation_makes_equal(texts):
    twins = {text for pair in unicode_twins(texts) for text in pair}
    forms = [normalize("NFC", text) for text in texts]
    assert twins == {text for text, form in zip(texts, forms, strict=True) if forms.count(form) > 1}


@pytest.mark.parametrize("missing", ["raise", "intersection", "bottom", "gold"])
@pytest.mark.parametrize(("x", "y"), [(7, "7"), ("7", 7), (np.int64(7), "7"), (("a", 7), ("a", "7"))])
def test_labels_that_differ_only_in_type_are_refused(x, y, missing):
    with pytest.raises(LabelMismatchError, match=r"of gold and label .* of run differ only in their types"):
        align({x: 2, "tea": 1, "rice": 3}, {y: 2, "tea": 1, "rice": 3}, names=("gold", "run"), missing=missing)


@pytest.mark.parametrize("number", [7, np.int64(7)])
def test_a_ranking_has_no_label_that_differs_from_another_only_in_its_type(number):
    message = "labels mix whole numbers with the same numbers as text: '7'; write all labels as text, or"
    with pytest.raises(DuplicateLabelError, match=message):
        Ranking.from_scores({number: 2, "7": 1, "tea": 3})
    with pytest.raises(DuplicateLabelError, match=message):
        Ranking.from_order([number, "tea", "7"])
    assert Ranking.from_order([number, "tea", "8", (7, "7")]).n_items == 4


def test_an_item_of_another_unicode_form_is_named():
    with pytest.warns(UnicodeFormWarning, match="item ids that look the same") as warned:
        align({"caf\u00e9": 2, "tea": 1}, {"cafe\u0301": 2, "tea": 1}, missing="bottom")
    assert warned[0].filename == __file__
