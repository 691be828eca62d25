"""Ratings of many annotators become one checked matrix, nan where a rating is missing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.checks import check_unique, offending, shown
from rankcorr.errors import (
    DimensionError,
    DuplicateLabelError,
    LabelError,
    LengthError,
    NonNumericError,
    RankingError,
)
from rankcorr.frames import by_name
from rankcorr.scores import ScoresLike, is_masked, split_labels

RatingsLike: TypeAlias = Mapping[Any, ScoresLike] | ArrayLike

EXACT: Final = 2**53  # up to here every integer is a float


class AnnotatorError(RankingError):
    """Too few annotators, or annotators with too few items in common, to measure how they agree."""


@dataclass(frozen=True, eq=False, slots=True)
class Ratings:
    """Ratings, shape (n_annotators, n_items), nan where one is missing, and the names of the annotators."""

    values: NDArray[np.float64]
    names: tuple[Any, ...] | None

    def name(self, row: int) -> Any:
        """Name of an annotator, or its index where the annotators have no names."""
        return self.names[row] if self.names is not None else row


def read_ratings(ratings: RatingsLike) -> Ratings:
    """Check ratings: a matrix, or a mapping or frame of annotator to ratings, by item or in one order."""
    named = by_name(ratings)
    if named is not None:
        names = tuple(named.keys())
        check_unique(names, "names of annotators", DuplicateLabelError)
        values = _of_annotators(names, [split_labels(named[name], f"rating of {shown(name)}") for name in names])
        found = Ratings(values, names)
    else:
        found = Ratings(_matrix(cast(ArrayLike, ratings)), None)
    if len(found.values) < 2:
        raise AnnotatorError(f"agreement needs at least two annotators; got {len(found.values)}")
    infinite = np.argwhere(np.isinf(found.values))
    if infinite.size:
        which = [(found.name(row), column) for row, column in infinite.tolist()]
        raise NonNumericError(offending("every rating must be finite; infinite at (annotator, item)", which))
    found.values.flags.writeable = False
    return found


def _matrix(ratings: ArrayLike) -> NDArray[np.float64]:
    array = _unmasked(ratings)
    if array.ndim != 2:
        raise DimensionError(f"ratings must have a row for each annotator; got an array of shape {array.shape}")
    return _floats("every rating", array)


def _of_annotators(names: tuple[Any, ...], rows: list[tuple[list[Hashable] | None, ArrayLike]]) -> NDArray[np.float64]:
    """Matrix of the ratings of named annotators; a column for each item that any of them rated."""
    labelled = [labels is not None for labels, _ in rows]
    if not rows:
        return np.empty((0, 0))
    if any(labelled) != all(labelled):
        with_labels, without = names[labelled.index(True)], names[labelled.index(False)]
        raise LabelError(
            f"the ratings of {shown(with_labels)} have labels and those of {shown(without)} have none, "
            "so their items cannot be matched"
        )
    vectors = [_vector(name, values) for name, (_, values) in zip(names, rows, strict=True)]
    if not all(labelled):
        lengths = {vector.size for vector in vectors}
        if len(lengths) > 1:
            raise LengthError(
                f"ratings without labels must have the same length, with nan for a missing one; got lengths "
                f"{', '.join(map(str, sorted(lengths)))}"
            )
        return np.array(vectors)
    place: dict[Hashable, int] = {}
    for name, (labels, _) in zip(names, rows, strict=True):
        if len(set(labels or ())) < len(labels or ()):
            raise DuplicateLabelError(f"the ratings of {shown(name)} name an item more than once")
        for label in labels or ():
            place.setdefault(label, len(place))
    matrix = np.full((len(rows), len(place)), np.nan)
    for row, ((labels, _), vector) in enumerate(zip(rows, vectors, strict=True)):
        matrix[row, [place[label] for label in labels or ()]] = vector
    return matrix


def _vector(name: Any, values: ArrayLike) -> NDArray[np.float64]:
    array = _unmasked(values)
    if array.ndim != 1:
        raise DimensionError(f"the ratings of {shown(name)} must have one dimension; got shape {array.shape}")
    return _floats(f"every rating of {shown(name)}", array)


def _unmasked(values: ArrayLike) -> NDArray[Any]:
    """Return an array with nan for masked values, and with integers unchanged."""
    if is_masked(values):
        array = np.array(values.data, dtype=object)
        array[np.ma.getmaskarray(values)] = np.nan
        return array
    if isinstance(values, list | tuple):
        values = [_unmasked(row) if is_masked(row) else row for row in values]  # numpy would drop the masks of rows
    try:
        array = np.asarray(values)
    except ValueError as error:  # how numpy reports rows of different lengths
        raise DimensionError("ratings must form an array; their rows differ in length") from error
    made_floats = array.dtype.kind == "f" and not isinstance(values, np.ndarray)
    return np.array(values, dtype=object) if made_floats and (np.abs(array) >= EXACT).any() else array


def _floats(what: str, array: NDArray[Any]) -> NDArray[np.float64]:
    """Check that these are numbers, and that no two integers become the same float."""
    if array.dtype.kind in "bf":
        return array.astype(np.float64)
    if array.dtype.kind in "iu" and (array.size == 0 or -EXACT <= int(array.min()) <= int(array.max()) <= EXACT):
        return array.astype(np.float64)
    given = array.ravel().tolist()
    wrong = [value for value in given if not isinstance(value, Real | Decimal)]
    if wrong:
        raise NonNumericError(offending(f"{what} must be a number, or nan; got", wrong))
    large = [value for value in given if isinstance(value, Integral) and abs(int(value)) > EXACT]
    if large:
        raise NonNumericError(offending(f"{what} that is an integer must be at most 2^53 in size; got", large))
    return np.array([_as_float(value) for value in given], np.float64).reshape(array.shape)


def _as_float(value: Any) -> float:
    if isinstance(value, Decimal) and value.is_nan():  # float() refuses a signaling nan
        return np.nan
    try:
        return float(value)
    except OverflowError:  # a fraction beyond the largest float
        return np.inf
