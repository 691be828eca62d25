import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from rankcorr import DimensionError, DuplicateLabelError, LabelError, LengthError, NonNumericError
from rankcorr.measures import AnnotatorError, krippendorff_alpha

NAN = math.nan


def test_ways_to_give_ratings():
    matrix = [[1, 2, 3], [1, NAN, 2], [2, 2, 3]]
    expected = krippendorff_alpha(matrix, level="ordinal")
    frame = pd.DataFrame(np.transpose(matrix), columns=["ann", "bob", "cat"], index=["x", "y", "z"])
    masked = np.ma.masked_invalid(matrix)
    for ratings in (
        frame,
        frame.to_dict(),
        masked,
        {"ann": [1, 2, 3], "bob": masked[1], "cat": (2, 2, Decimal(3))},
        {"ann": {"x": 1, "y": 2, "z": 3}, "bob": {"z": 2, "x": 1}, "cat": pd.Series([3, 2, 2], ["z", "y", "x"])},
        np.array(matrix, dtype=object),
        list(masked),
        np.ma.array([[1, 2, 3], [1, 99, 2], [2, 2, 3]], mask=np.isnan(matrix)),
        [[1, 2, 3], np.ma.array([1, 99, 2], mask=[0, 1, 0]), (2, 2, 3)],
        [[1, 2, 3], [1, Decimal("sNaN"), 2], [2, 2, 3]],
    ):
        assert krippendorff_alpha(ratings, level="ordinal") == expected


@pytest.mark.parametrize(
    ("ratings", "error", "message"),
    [
        ({}, AnnotatorError, "agreement needs at least two annotators; got 0"),
        ([1, 2], DimensionError, r"ratings must have a row for each annotator; got an array of shape \(2,\)"),
        ([[1, 2], [1]], DimensionError, "ratings must form an array; their rows differ in length"),
        ([["a", "b"], ["a", "b"]], NonNumericError, "every rating must be a number, or nan; got: 'a', 'b', 'a', 'b'"),
        ([[1, None], [1, 2]], NonNumericError, "every rating must be a number, or nan; got: None"),
        ([[1, math.inf], [1, 2]], NonNumericError, r"every rating must be finite; infinite at .*: \(0, 1\)"),
        ({"a": [1, 2], "b": [1]}, LengthError, "with nan for a missing one; got lengths 1, 2"),
        ({"a": [1, 2], "b": {"x": 1}}, LabelError, "the ratings of 'b' have labels and those of 'a' have none"),
        ({"a": [[1, 2]], "b": [1]}, DimensionError, r"the ratings of 'a' must have one dimension; got shape \(1, 2\)"),
        (np.ma.array([["x", "y"], ["z", "w"]], mask=[[1, 0], [0, 0]]), NonNumericError, "got: 'y', 'z', 'w'"),
        (np.ma.array([[1j, 1], [1, 2]], mask=[[1, 0], [0, 0]]), NonNumericError, r"or nan; got: \(1\+0j\)"),
        ([[10**400, 1], [1, 2]], NonNumericError, r"rating that is not a float must be at most 2\^53 in size; got"),
        ([[2**53 + 1, NAN], [2**53, 1]], NonNumericError, r"at most 2\^53 in size; got: 9007199254740993$"),
        ({"a": np.array([2**60, 1]), "b": [1, 2]}, NonNumericError, "every rating of 'a' that is not a float must be"),
        ([[Fraction(10**400), 1], [1, 2]], NonNumericError, r"at most 2\^53 in size; got: Fraction"),
        ({"a": ["x"], "b": [1]}, NonNumericError, "every rating of 'a' must be a number, or nan; got: 'x'"),
        ({"a": pd.Series([1, 2], ["x", "x"]), "b": {"x": 1}}, DuplicateLabelError, "'a' name an item more than once"),
        (pd.DataFrame([[1, 2], [1, 2]], columns=["a", "a"]), DuplicateLabelError, "unique; more than once: 'a'"),
    ],
)
def test_invalid_ratings(ratings, error, message):
    with pytest.raises(error, match=message):
        krippendorff_alpha(ratings)
