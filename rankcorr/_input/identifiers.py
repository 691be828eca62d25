"""One rule for identifiers of queries, documents, items and voters, whatever they were read from.

An identifier is text or a whole number. Integers of numpy and of Python are equal, and so is their decimal text: 7 in
JSON is "7" in CSV. Text of numpy is text. Identifiers of one source have one kind; a mixture is an error. Labels of
items may also be dates and times: those of numpy are Python's, and a time at midnight is written as its date is. A time
with a zone differs from all without one, as in Python, and no list may have labels that differ only in their types.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from datetime import date, timedelta
from itertools import chain, filterfalse
from typing import Any, Final
from unicodedata import normalize

import numpy as np

from rankcorr._checks import give_notice, offending, repeated
from rankcorr.errors import ColumnError, UnicodeFormWarning

NUMPY_TIMES: Final = (np.datetime64, np.timedelta64)
WHOLE_TIMES: Final = "must be whole microseconds of the years 1 to 9999"
_FINER_THAN_PYTHON: Final = ("ns", "ps", "fs", "as")


def plain_identifier(identifier: Any) -> Any:
    """Return an identifier with Python's types in the place of numpy's; parts of a tuple too, anything else unchanged.

    Times that Python cannot hold, such as odd nanoseconds and NaT, are unchanged.

    Examples
    --------
    >>> plain_identifier(np.int64(7)), plain_identifier(np.str_("a")), plain_identifier((np.int8(1), "b"))
    (7, 'a', (1, 'b'))
    >>> plain_identifier(np.datetime64("2026-01-31", "ns")), plain_identifier(np.datetime64("2026-01-31"))
    (datetime.datetime(2026, 1, 31, 0, 0), datetime.date(2026, 1, 31))
    """
    if type(identifier) is str:  # as nearly always
        return identifier
    if isinstance(identifier, NUMPY_TIMES):
        is_finer = np.datetime_data(identifier.dtype)[0] in _FINER_THAN_PYTHON  # whose item() is a plain integer
        time = identifier.astype(f"{identifier.dtype.kind}8[us]") if is_finer else identifier
        is_exact = isinstance(time.item(), date | timedelta) and time == identifier
        return time.item() if is_exact else identifier
    if isinstance(identifier, np.integer):
        return int(identifier)
    if isinstance(identifier, np.str_):
        return str(identifier)
    return tuple(map(plain_identifier, identifier)) if type(identifier) is tuple else identifier


def plain_times(labels: Iterable[Hashable]) -> list[Hashable]:
    """Return labels with Python's dates and times in the place of numpy's, whose hashes may differ.

    Examples
    --------
    >>> plain_times(["a", np.timedelta64(90, "s")])
    ['a', datetime.timedelta(seconds=90)]
    """
    labels = list(labels)
    has_times = not {*NUMPY_TIMES, tuple}.isdisjoint(map(type, labels))
    return list(map(plain_identifier, labels)) if has_times else labels


def identifier_text(identifier: Any) -> Any:
    """Return the text that equals an identifier; of a tuple, that of its parts. Other values are unchanged.

    Examples
    --------
    >>> identifier_text(7), identifier_text(np.int64(7)), identifier_text("07"), identifier_text((1, "b"))
    ('7', '7', '07', ('1', 'b'))
    >>> identifier_text(date(2026, 1, 31)), identifier_text(np.datetime64("2026-01-31T00:00"))
    ('2026-01-31', '2026-01-31')
    """
    if type(identifier) is str:
        return identifier
    plain = plain_identifier(identifier)
    if type(plain) is tuple:
        return tuple(map(identifier_text, plain))
    if isinstance(plain, date):
        return str(plain).removesuffix(" 00:00:00")
    return str(plain) if type(plain) is int else plain


def type_twins(labels: Collection[Hashable]) -> list[Hashable]:
    """Texts of several labels of one list: the labels differ only in their types, which a file cannot tell.

    Examples
    --------
    >>> type_twins([7, "7", "a"]), type_twins([(7, "x"), ("7", "x")]), type_twins([7, "a"])
    (['7'], [('7', 'x')], [])
    """
    return repeated(map(identifier_text, labels)) if len(_kinds(labels) - {tuple}) > 1 else []


def inexact_times(labels: Collection[Hashable]) -> list[Hashable]:
    """Labels that are times of numpy which Python cannot hold, also as parts of tuples: odd nanoseconds, or no unit.

    Examples
    --------
    >>> inexact_times([np.datetime64("2026-01-31"), np.timedelta64(5), (1, np.datetime64(1, "ns"))])
    [np.timedelta64(5), (1, np.datetime64('1970-01-01T00:00:00.000000001'))]
    """
    if _kinds(labels).isdisjoint(NUMPY_TIMES):
        return []
    return [label for label in labels if not _kinds([plain_identifier(label)]).isdisjoint(NUMPY_TIMES)]


def _kinds(labels: Collection[Any]) -> set[type]:
    """Types of labels and of all their parts."""
    kinds = set(map(type, labels))
    if tuple in kinds:
        kinds |= _kinds(list(chain.from_iterable(label for label in labels if type(label) is tuple)))
    return kinds


def is_array(kind: type) -> bool:
    """Whether values of a type are arrays, such as tensors of one number: equal tensors differ as labels.

    Examples
    --------
    >>> is_array(np.ndarray), is_array(np.int64), is_array(str)
    (True, False, False)
    """
    return hasattr(kind, "__array__") and not issubclass(kind, np.generic)


def check_identifiers(identifiers: Iterable[Hashable], noun: str) -> None:
    """Refuse identifiers that are empty, or not all text or all whole numbers; `noun` names them in messages.

    Examples
    --------
    >>> check_identifiers(["a", "b"], "query")
    >>> check_identifiers([1, "a"], "query")
    Traceback (most recent call last):
        ...
    rankcorr.errors.ColumnError: query ids must be all text or all whole numbers; got both, such as 'a' and 1: ...
    """
    identifiers = list(identifiers)
    kinds = set(map(_kind, set(map(type, identifiers))))
    if not kinds <= {str, int}:
        others = [identifier for identifier in identifiers if _kind(type(identifier)) is None]
        message = offending(f"each {noun} id must be text or a whole number; got", others)
        raise ColumnError(f"{message}, of type {type(others[0]).__name__}")
    if str in kinds and "" in identifiers:
        raise ColumnError(f"each {noun} needs an id; one is empty")
    if len(kinds) > 1:
        text, number = (next(one for one in identifiers if _kind(type(one)) is kind) for kind in (str, int))
        raise ColumnError(
            f"{noun} ids must be all text or all whole numbers; got both, such as {plain_identifier(text)!r} and "
            f"{plain_identifier(number)!r}: write all of them in one way"
        )


def comparable(*sources: Collection[Hashable]) -> tuple[Collection[Hashable], ...]:
    """Return the identifiers of several sources so that equal ones compare equal: as text, unless all have one type.

    Examples
    --------
    >>> comparable([1, 2], [2, 3]), comparable([1, 2], ["2", "x"])
    (([1, 2], [2, 3]), (['1', '2'], ['2', 'x']))
    """
    if len({type(identifier) for source in sources for identifier in source}) <= 1:
        return sources
    return tuple(list(map(identifier_text, source)) for source in sources)


def unicode_twins(identifiers: Iterable[Hashable]) -> list[tuple[str, str]]:
    r"""Pairs of different identifiers that Unicode normalisation (NFC) makes equal.

    Examples
    --------
    >>> [tuple(map(ascii, pair)) for pair in unicode_twins(["caf\u00e9", "tea", "cafe\u0301"])]
    [("'caf\\xe9'", "'cafe\\u0301'")]
    """
    identifiers = list(identifiers)
    others = set(filterfalse(str.isascii, _texts(identifiers)))
    if not others:  # as nearly always
        return []
    texts = set(_texts(identifiers))
    forms: dict[str, str] = {}
    twins = []
    for text in sorted(others):
        form = normalize("NFC", text)
        twin = form if form != text and form in texts else forms.setdefault(form, text)
        if twin != text:
            twins.append((twin, text))
    return twins


def warn_unicode_twins(identifiers: Iterable[Hashable], noun: str, *, stacklevel: int = 4) -> None:
    """Warn of identifiers that differ only by Unicode normalisation: they look the same, and stay different."""
    twins = unicode_twins(identifiers)
    if twins:
        pairs = [f"{first!a} and {second!a}" for first, second in twins]
        more = f", ... ({len(pairs):,} pairs)" if len(pairs) > 3 else ""
        give_notice(
            f"{noun} ids that look the same differ in their Unicode normalisation (NFC, NFD), and are not matched: "
            f"{'; '.join(pairs[:3])}{more}",
            UnicodeFormWarning,
            stacklevel=stacklevel,
        )


def _kind(of_type: type) -> type | None:
    if issubclass(of_type, str):
        return str
    is_number = issubclass(of_type, int | np.integer) and not issubclass(of_type, bool | np.timedelta64)
    return int if is_number else None


def _texts(identifiers: Sequence[Hashable]) -> list[str]:
    """Texts among identifiers, and among their parts."""
    kinds = set(map(type, identifiers))
    if kinds == {str}:
        return identifiers  # type: ignore[return-value]
    if not kinds & {str, tuple}:
        return []
    parts = [part for identifier in identifiers if isinstance(identifier, tuple) for part in identifier]
    return [identifier for identifier in identifiers if isinstance(identifier, str)] + (_texts(parts) if parts else [])
