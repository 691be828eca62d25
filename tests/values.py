"""Results as values, in every package: equal and hashed by content, read-only also in copies."""

import copy
import pickle
from dataclasses import fields, is_dataclass

import numpy as np

from rankcorr import Ranking


def arrays_in(value):
    """Every array of a result, in whatever it is nested."""
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
    """Two results of one content, and one of another."""
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
