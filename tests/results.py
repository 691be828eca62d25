"""Results in tests: equality and hash by content, and coefficients made of separately drawn options."""

import copy
import pickle
import warnings
from dataclasses import fields, is_dataclass

import numpy as np

from rankcorr import Ranking, UndefinedCorrelationWarning
from rankcorr._coefficients import named_coefficient


def arrays_in(value):
    """Every array of a result, also nested ones."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Ranking):
        yield value.ranks
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from arrays_in(entry)
    elif is_dataclass(value):
        yield from arrays_in([getattr(value, field.name) for field in fields(value)])
    elif hasattr(value, "values"):
        yield from arrays_in(list(value.values()))


def check_equality(one, again, other):
    """Check equality and hash of two results with equal content, and one with different content."""
    assert one == again
    assert hash(one) == hash(again)
    assert one != other
    assert one != "a text"
    assert len({one, again, other}) == 2


def check_copies(result):
    n_arrays = len(list(arrays_in(result)))
    for copied in (result, pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert copied == result
        assert repr(copied) == repr(result)
        assert [array.flags.writeable for array in arrays_in(copied)] == [False] * n_arrays


OPTIONS = ("n0", "weigher", "scheme", "tied_weights", "variant")


def with_coefficient(**keywords):
    """Keywords of a library call, with a coefficient made of its options."""
    options = {name: keywords.pop(name) for name in OPTIONS if name in keywords}
    coefficient = keywords.pop("coefficient", "tau_w")
    if not options and coefficient == "tau_w":
        return keywords
    return {"coefficient": named_coefficient(coefficient, **options) if options else coefficient, **keywords}


def statistic_of(coefficient, x, y, **options):
    """The value, or nan without a warning."""
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        return coefficient(x, y, **options).statistic
