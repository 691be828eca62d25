"""Ratings of many annotators -> one checked matrix, nan where a rating is missing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr import errors
from rankcorr._checks import check_unique, offending, shown
from rankcorr._input.frames import PLAIN, by_name, has_names
from rankcorr._input.numbers import as_floats, exact_array, is_real, numbers_beyond_floats
from rankcorr._input.scores import ScoresLike, is_masked, split_labels
from rankcorr._output.results import read_only
from rankcorr._ranking import checked_labels

RatingsLike: TypeAlias = Mapping[Any, ScoresLike] | ArrayLike


class AnnotatorError(errors.RankingError):
    """Too few annotators, or annotators with too few items in common, to measure how they agree.

    See Also
    --------
    krippendorff_alpha, mean_pairwise_agreement : Raise it.

    Examples
    --------
    >>> from rankcorr.measures import mean_pairwise_agreement
    >>> mean_pairwise_agreement({"ann": [1, 2, 3, 4]})
    Traceback (most recent call last):
        ...
    rankcorr.measures._ratings.AnnotatorError: agreement needs at least two annotators; got 1
    """


@dataclass(frozen=True, eq=False, slots=True)
class Ratings:
    """Ratings, shape (n_annotators, n_items), nan where one is missing; names of annotators, and labels of items."""

    values: NDArray[np.float64]
    names: tuple[Any, ...] | None
    items: tuple[Hashable, ...] | None = None

    def name(self, row: int) -> Any:
        """Name of an annotator, or its index where the annotators have no names."""
        return self.names[row] if self.names is not None else row


def read_ratings(ratings: RatingsLike) -> Ratings:
    """Check ratings: a matrix, or a mapping or frame of annotator to ratings, by item or in one order."""
    named = by_name(ratings)
    if named is not None:
        names = tuple(named.keys())
        check_unique(names, "names of annotators", errors.DuplicateLabelError)
        rows = [split_labels(named[name], f"rating of {shown(name)}") for name in names]
        parsed_ratings = Ratings(*_of_annotators(names, rows))
    elif labelled := _labelled_rows(ratings):
        values, _, items = _of_annotators(tuple(range(len(labelled))), labelled)
        if items and {*items} == {*range(len(items))} and (~np.isnan(values)).sum(axis=0).max() == 1 < len(values):
            raise errors.LabelError(
                "the series share no item: their labels seem to be row numbers of one frame; "
                "series.reset_index(drop=True) matches ratings by position"
            )
        parsed_ratings = Ratings(values, None, items)
    else:
        parsed_ratings = Ratings(_matrix(cast(ArrayLike, ratings)), None)
    if len(parsed_ratings.values) < 2:
        raise AnnotatorError(f"agreement needs at least two annotators; got {len(parsed_ratings.values)}")
    infinite = np.argwhere(np.isinf(parsed_ratings.values))
    if infinite.size:
        infinite_ratings = [(parsed_ratings.name(row), column) for row, column in infinite.tolist()]
        raise errors.NonNumericError(
            offending("every rating must be finite; infinite at (annotator, item)", infinite_ratings)
        )
    read_only(parsed_ratings.values)
    return parsed_ratings


def _labelled_rows(ratings: Any) -> list[tuple[list[Hashable] | None, ArrayLike]]:
    """Labels and values of each annotator in a list of mappings or of pandas Series; empty for anything else."""
    if not isinstance(ratings, list | tuple) or all(
        isinstance(row, PLAIN) and not isinstance(row, dict) for row in ratings
    ):
        return []
    rows = [split_labels(row, f"rating of {place}") for place, row in enumerate(ratings)]
    return rows if any(labels is not None for labels, _ in rows) else []


def _matrix(ratings: ArrayLike) -> NDArray[np.float64]:
    array = _unmask(ratings)
    if array.ndim != 2:
        raise errors.DimensionError(f"ratings must have a row for each annotator; got an array of shape {array.shape}")
    return _floats("every rating", array)


def _of_annotators(
    names: tuple[Any, ...], rows: list[tuple[list[Hashable] | None, ArrayLike]]
) -> tuple[NDArray[np.float64], tuple[Any, ...], tuple[Hashable, ...] | None]:
    """Ratings of named annotators, with a column for each item that any of them rated; the names; labels of items.

    If some ratings have no labels, those of a series that pandas numbered from 0 have none either.
    """
    if any(labels is None for labels, _ in rows):
        rows = [(labels if labels is not None and has_names(labels, ()) else None, values) for labels, values in rows]
    labelled = [labels is not None for labels, _ in rows]
    if not rows:
        return np.empty((0, 0)), names, None
    if any(labelled) != all(labelled):
        with_labels, unlabelled = names[labelled.index(True)], names[labelled.index(False)]
        raise errors.LabelError(
            f"the ratings of {shown(with_labels)} have labels and those of {shown(unlabelled)} have none, "
            "so their items cannot be matched"
        )
    vectors = [_vector(name, values) for name, (_, values) in zip(names, rows, strict=True)]
    if not all(labelled):
        lengths = {vector.size for vector in vectors}
        if len(lengths) > 1:
            raise errors.LengthError(
                f"ratings without labels must have the same length, with nan for a missing one; got lengths "
                f"{', '.join(map(str, sorted(lengths)))}"
            )
        return np.array(vectors), names, None
    place: dict[Hashable, int] = {}
    for name, (labels, _) in zip(names, rows, strict=True):
        if len(set(labels or ())) < len(labels or ()):
            raise errors.DuplicateLabelError(f"the ratings of {shown(name)} name an item more than once")
        for label in labels or ():
            place.setdefault(label, len(place))
    checked_labels(list(place), len(place))
    matrix = np.full((len(rows), len(place)), np.nan)
    for row, ((labels, _), vector) in enumerate(zip(rows, vectors, strict=True)):
        matrix[row, [place[label] for label in labels or ()]] = vector
    return matrix, names, tuple(place)


def _vector(name: Any, values: ArrayLike) -> NDArray[np.float64]:
    array = _unmask(values)
    if array.ndim != 1:
        raise errors.DimensionError(f"the ratings of {shown(name)} must have one dimension; got shape {array.shape}")
    return _floats(f"every rating of {shown(name)}", array)


def _unmask(values: ArrayLike) -> NDArray[Any]:
    """Return an array with nan for masked values, and with integers unchanged."""
    if is_masked(values):
        array = exact_array(values.data, "rating").astype(object)
        array[np.ma.getmaskarray(values)] = np.nan
        return array
    if isinstance(values, list | tuple):
        values = [_unmask(row) if is_masked(row) else row for row in values]  # numpy would drop the masks of rows
    return exact_array(values, "rating")


def _floats(subject: str, array: NDArray[Any]) -> NDArray[np.float64]:
    """Check that these are numbers, and that no two integers become the same float."""
    if array.dtype.kind not in "biuf":
        array = np.frompyfunc(lambda value: np.nan if value is None else value, 1, 1)(array)  # null in JSON
        wrong = [value for value in array.ravel().tolist() if not is_real(value)]
        if wrong:
            raise errors.NonNumericError(offending(f"{subject} must be a number, or nan; got", wrong))
    if large := numbers_beyond_floats(array):
        raise errors.NonNumericError(
            offending(f"{subject} that is not a float must be at most 2^53 in size; got", large)
        )
    return as_floats(array)


# The functions below sum d(c, k) over the ordered pairs of values in each group. `values` holds group after group, each
# in ascending order and of at least two values.
