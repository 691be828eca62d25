"""Draw ballots: random pairs of items for voters, with items, sides and voters balanced exactly."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._plan import LEAST_SET, MOST_SET
from adaptive._tables import VoterComparisons
from adaptive.errors import AdaptiveError, DrawError
from rankcorr._checks import check_rng, check_unique, equals_itself, is_unhashable, offending, shown, whole_number
from rankcorr._input.frames import python_values
from rankcorr._input.identifiers import WHOLE_TIMES, inexact_times, plain_identifier, type_twins
from rankcorr._input.scores import is_masked
from rankcorr._output.results import Result, read_only

Indices: TypeAlias = NDArray[np.int32]
Names: TypeAlias = tuple[Hashable, ...] | range
LIMIT = 2**30 - 1  # each comparison has two ends, which need int32 indices
_NEVER = 2**62  # above LIMIT**2, and adding meetings to it does not overflow


@runtime_checkable
class Asked(Protocol):
    """Comparisons for voters to answer, as flat columns: a `Ballot`, or a batch of `Matches`."""

    @property
    def items(self) -> Names:
        """Labels of the items."""

    @property
    def voters(self) -> Names:
        """Names of the voters."""

    @property
    def left(self) -> Indices:
        """Index of the item on the left of each comparison, shape (n_comparisons,)."""

    @property
    def right(self) -> Indices:
        """Index of the item on the right."""

    @property
    def voter(self) -> Indices:
        """Index of the voter."""

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons."""


@dataclass(frozen=True, eq=False)
class BallotCertificate(Result):
    """Counts of a finished ballot, and the guarantees of `draw_ballot` that it breaks.

    Attributes
    ----------
    n_items, n_comparisons, n_voters, presentations : int
        The requested numbers: `presentations` for each item.
    presentations_min, presentations_max : int
        Fewest and most presentations of an item.
    item_with_one_more : int or None
        Index of the only item presented once more than the others; None if all are presented equally often.
    n_self_pairs : int
        Comparisons of an item with itself.
    repeats_min, repeats_max : int
        Number of comparisons of the rarest and of the commonest of all possible pairs.
    left_excess : int
        Largest difference, over items, between presentations on the left and on the right.
    load_min, load_max : int
        Fewest and most comparisons of a voter.
    n_voter_repeats, n_unavoidable_repeats : int
        Comparisons that give a voter a pair again; and the number of unavoidable ones, because a pair is compared more
        often than there are voters.
    n_components : int
        Parts of the graph of comparisons.

    See Also
    --------
    Ballot.certificate : Returns it.
    draw_ballot : The guarantees.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import draw_ballot
    >>> certificate = draw_ballot(16, 20, 5, np.random.default_rng(0)).certificate()
    >>> certificate.repeats_min, certificate.repeats_max, certificate.load_min, certificate.load_max
    (1, 2, 32, 32)
    >>> certificate.broken
    ()
    """

    n_items: int
    n_comparisons: int
    n_voters: int
    presentations: int
    presentations_min: int
    presentations_max: int
    item_with_one_more: int | None
    n_self_pairs: int
    repeats_min: int
    repeats_max: int
    left_excess: int
    load_min: int
    load_max: int
    n_voter_repeats: int
    n_unavoidable_repeats: int
    n_components: int

    def to_dict(self, items: Names | None = None) -> dict[str, Any]:
        """Return the counts and the broken guarantees; with `items`, `item_with_one_more` is a label."""
        place = self.item_with_one_more
        label = place if place is None or items is None else items[place]
        return {**vars(self), "item_with_one_more": label, "broken": self.broken}

    @property
    def broken(self) -> tuple[str, ...]:
        """Guarantees that do not hold, one sentence each; empty for every ballot drawn by `draw_ballot`."""
        target, n_items = self.presentations, self.n_items
        one_more = target % 2 == 1 and n_items % 2 == 1
        most = target + one_more
        fewest_repeats = target // (n_items - 1)
        most_repeats = fewest_repeats + (target % (n_items - 1) > 0)
        guarantees = (
            (
                self.presentations_min == target
                and self.presentations_max == most
                and (self.item_with_one_more is not None) == one_more
                and self.n_comparisons == -(-target * n_items // 2),
                f"items are presented {self.presentations_min} to {self.presentations_max} times in "
                f"{self.n_comparisons} comparisons, not {target} times each" + ", one of them once more" * one_more,
            ),
            (self.n_self_pairs == 0, f"{self.n_self_pairs} comparisons are of an item with itself"),
            (
                fewest_repeats <= self.repeats_min and self.repeats_max <= most_repeats,
                f"pairs are compared {self.repeats_min} to {self.repeats_max} times, not {fewest_repeats} to "
                f"{most_repeats}",
            ),
            (self.left_excess <= 1, f"an item is on one side {self.left_excess} times more than on the other"),
            (self.load_max - self.load_min <= 1, f"voters get {self.load_min} to {self.load_max} comparisons"),
            (
                self.n_voter_repeats == self.n_unavoidable_repeats,
                f"voters get a pair again in {self.n_voter_repeats} comparisons, not {self.n_unavoidable_repeats}",
            ),
            (
                target < 2 or self.n_components == 1,
                f"the comparisons fall into {self.n_components} parts that are not connected",
            ),
        )
        return tuple(sentence for holds, sentence in guarantees if not holds)


@dataclass(frozen=True, eq=False)
class Ballot(Result):
    """Comparisons of one round, fixed before it starts.

    `draw_ballot` makes it. Its arrays are read-only copies.

    Attributes
    ----------
    items : tuple of hashable, or range
        Labels of the items.
    presentations : int
        Presentations of each item.
    voters : tuple of hashable, or range
        Names of the voters.
    left, right : ndarray of int32, shape (n_comparisons,)
        Index into `items` of the item on either side, in the order shown.
    voter : ndarray of int32, shape (n_comparisons,)
        Index into `voters` of the voter who gets the comparison.

    Raises
    ------
    DrawError
        Arrays that differ in length, or an index that is out of range. `Ballot.certificate` checks the counts.

    See Also
    --------
    draw_ballot : Makes it.
    BallotCertificate : The counts that it guarantees.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import draw_ballot
    >>> ballot = draw_ballot(["apple", "pear"], 2, ["Ann"], np.random.default_rng(0))
    >>> for left, right, voter in zip(ballot.left, ballot.right, ballot.voter):
    ...     print(ballot.voters[voter], ballot.items[left], ballot.items[right])
    Ann apple pear
    Ann pear apple
    """

    items: Names
    presentations: int
    voters: Names
    left: Indices
    right: Indices
    voter: Indices

    def __post_init__(self) -> None:
        _checked_count("item", len(self.items), least=2)
        _checked_count("voter", len(self.voters), least=1)
        checked_integer("presentations", self.presentations, least=1)
        for name, n_names in (("left", len(self.items)), ("right", len(self.items)), ("voter", len(self.voters))):
            indices = _checked_indices(name, getattr(self, name), n_names)
            if indices.size != np.size(self.left):
                raise DrawError(
                    f"left, right and voter must be of one length; got {np.size(self.left)} and {name} "
                    f"of {indices.size}"
                )
            object.__setattr__(self, name, indices)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.voters)

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons."""
        return self.left.size

    def by_voter(self) -> list[VoterComparisons]:
        """Return the comparisons of each voter, by their labels and in the order shown.

        Examples
        --------
        >>> ballot = draw_ballot(["apple", "pear"], 2, ["Ann"], np.random.default_rng(0))
        >>> ballot.by_voter()
        [VoterComparisons(voter='Ann', left=['apple', 'pear'], right=['pear', 'apple'])]
        """
        order = self.voter.argsort(kind="stable")
        ends = np.bincount(self.voter, minlength=self.n_voters).cumsum().tolist()
        left, right = (labels_at(self.items, places[order]) for places in (self.left, self.right))
        return [
            VoterComparisons(voter, left[start:stop], right[start:stop])
            for voter, start, stop in zip(self.voters, [0, *ends], ends, strict=False)
        ]

    def certificate(self) -> BallotCertificate:
        """Count the quantities that `draw_ballot` guarantees again, from the comparisons alone."""
        # With numpy alone, using none of the code that drew the ballot.
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n_items, n_voters, n_comparisons = self.n_items, self.n_voters, self.n_comparisons
        on_left = np.bincount(self.left, minlength=n_items)
        on_right = np.bincount(self.right, minlength=n_items)
        presentations = on_left + on_right
        loads = np.bincount(self.voter, minlength=n_voters)
        one_more = np.flatnonzero(presentations == self.presentations + 1)

        lower = np.minimum(self.left, self.right).astype(np.int64)
        upper = np.maximum(self.left, self.right)
        proper = lower != upper
        _, pair, repeats = np.unique((lower * n_items + upper)[proper], return_inverse=True, return_counts=True)
        all_compared = repeats.size == n_items * (n_items - 1) // 2
        shown_to = np.unique(pair * n_voters + self.voter[proper])
        links = coo_array((np.ones(n_comparisons), (self.left, self.right)), shape=(n_items, n_items))
        return BallotCertificate(
            n_items=n_items,
            n_comparisons=n_comparisons,
            n_voters=n_voters,
            presentations=self.presentations,
            presentations_min=int(presentations.min()),
            presentations_max=int(presentations.max()),
            item_with_one_more=int(one_more[0]) if one_more.size == 1 else None,
            n_self_pairs=int(n_comparisons - np.count_nonzero(proper)),
            repeats_min=int(repeats.min()) if all_compared else 0,
            repeats_max=int(repeats.max(initial=0)),
            left_excess=int(np.abs(on_left - on_right).max()),
            load_min=int(loads.min()),
            load_max=int(loads.max()),
            n_voter_repeats=int(pair.size - shown_to.size),
            n_unavoidable_repeats=int(np.maximum(repeats - n_voters, 0).sum()),
            n_components=int(connected_components(links, directed=False, return_labels=False)),
        )

    def __repr__(self) -> str:
        return (
            f"<Ballot of {self.n_comparisons} comparisons: {self.n_items} items, {self.presentations} presentations "
            f"each, {self.n_voters} voters>"
        )


def draw_ballot(
    items: int | Iterable[Hashable], presentations: int, voters: int | Iterable[Hashable], rng: np.random.Generator
) -> Ballot:
    """Draw the comparisons of a ballot at random (section 2.2 of Lombardo et al. 2020).

    With N items, M presentations and V voters, it guarantees for every N >= 2, M >= 1 and V >= 1:

    - Each item is presented M times; if N and M are odd, one item, chosen at random, M + 1 times.
    - No item meets itself. No pair repeats while M <= N - 1; above, each pair is compared floor(M / (N - 1)) times or
      once more.
    - Each item is equally often on the left and on the right; if its number of presentations is odd, they differ by 1.
    - Voters' numbers of comparisons differ by at most 1. No voter gets a pair twice, unless the pair is compared more
      often than there are voters; then all of them get it equally often, or some once more.
    - With M >= 2 the comparisons join all items, directly or through others.

    The pairs, their order, their sides and their voters are random. The pairs that are compared once more than the rest
    (for M < N - 1, all pairs that are compared) take R = M mod (N - 1) presentations of each item. If R or N - 1 - R is
    at most 4, they are uniform over all choices that keep these guarantees. Otherwise they are drawn with repairs and
    mixed by random exchanges until no difference from uniform is measured.

    Parameters
    ----------
    items : int, or iterable of hashable
        Unique labels, or N for the labels 0 to N - 1.
    presentations : int
        M, at least 1.
    voters : int, or iterable of hashable
        Unique names, or V for the names 0 to V - 1.
    rng : numpy.random.Generator
        The same state draws the same ballot.

    Returns
    -------
    Ballot

    Raises
    ------
    DrawError
        Fewer than two items, no voter, labels or names that repeat, are nan or are not hashable, a number that is not
        an integer or is too small, more than 2^30 - 1 items, voters or comparisons, or an `rng` that is not a
        `numpy.random.Generator`.

    See Also
    --------
    plan_ballots : The sizes of all ballots.
    borda_scores : Score the answers.
    run_protocol : Draw, vote, score and select, ballot by ballot.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import draw_ballot
    >>> ballot = draw_ballot(["apple", "pear", "plum"], 2, voters=["Ann", "Bob"], rng=np.random.default_rng(0))
    >>> ballot
    <Ballot of 3 comparisons: 3 items, 2 presentations each, 2 voters>
    >>> sorted(sorted((ballot.items[a], ballot.items[b])) for a, b in zip(ballot.left, ballot.right))
    [['apple', 'pear'], ['apple', 'plum'], ['pear', 'plum']]
    """
    labels = _checked_names("item", items, least=2)
    names = _checked_names("voter", voters, least=1)
    n_presentations = checked_integer("presentations", presentations, least=1)
    check_rng(rng, DrawError)
    n_comparisons = -(-len(labels) * n_presentations // 2)
    if n_comparisons > LIMIT:
        raise DrawError(f"a ballot holds at most {LIMIT} comparisons; got {shown(n_comparisons)}")
    from adaptive import _draw_kernels as kernels

    left, right, voter = kernels.draw_comparisons(len(labels), n_presentations, len(names), rng)
    return Ballot(labels, n_presentations, names, left, right, voter)


def draw_sets(
    items: int | Iterable[Hashable], size: int, presentations: int, rng: np.random.Generator
) -> tuple[tuple[Hashable, ...], ...]:
    """Draw sets of items for best-worst answers: which item of a set is the best, and which the worst.

    - Each item is in M sets; if the size does not divide N M, fewer items than the size are in M + 1.
    - No item is in a set twice.
    - Each item of a set is chosen so that it has met the others in as few sets as possible.

    The sets, their order and the order of items within a set are random.

    Parameters
    ----------
    items : int, or iterable of hashable
        Unique labels, or N for the labels 0 to N - 1.
    size : int
        Items of a set, from 3 to 6. Sets of 4 are usual: the two answers order 5 of their 6 pairs.
    presentations : int
        M, the number of sets that each item is in, at least 1. 8 is usual.
    rng : numpy.random.Generator
        The same state draws the same sets.

    Returns
    -------
    tuple of tuple of hashable

    Raises
    ------
    DrawError
        Fewer items than a set has, a number that is out of range, and the errors of `draw_ballot`.

    See Also
    --------
    Choices.from_best_worst : Fit the answers.

    References
    ----------
    S. Kiritchenko and S. M. Mohammad, Best-Worst Scaling More Reliable than Rating Scales: A Case Study on Sentiment
    Intensity Annotation, ACL 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import draw_sets
    >>> for item_set in draw_sets(["ant", "bee", "cat", "dog", "eel", "fox"], 4, 2, np.random.default_rng(1)):
    ...     print(item_set)
    ('eel', 'cat', 'fox', 'dog')
    ('cat', 'dog', 'ant', 'bee')
    ('ant', 'fox', 'eel', 'bee')
    """
    number = checked_integer("size", size, least=LEAST_SET)
    if number > MOST_SET:
        raise DrawError(f"size must be at most {MOST_SET}; got {shown(size)}")
    labels = _checked_names("item", items, least=2)
    if len(labels) < number:
        raise DrawError(f"sets of {number} items need at least {number} items; got {len(labels)}")
    n_presentations = checked_integer("presentations", presentations, least=1)
    check_rng(rng, DrawError)
    n_sets = -(-len(labels) * n_presentations // number)
    if n_sets * number > LIMIT:
        raise DrawError(f"sets hold at most {LIMIT} items in all; got {shown(n_sets * number)}")
    n_shown = np.zeros(len(labels), np.int64)
    met: list[list[int]] = [[] for _ in labels]  # of each item, those that were in a set with it
    sets = []
    for _ in range(n_sets):
        members: list[int] = []
        order = n_shown * LIMIT  # plus, of each item, how often it was in a set with a member
        for _ in range(number):
            fewest = np.flatnonzero(order == order.min())
            member = int(fewest[rng.integers(fewest.size)])  # rng.choice(fewest) draws the same, but takes 20 us, not 4
            order[member] = _NEVER
            np.add.at(order, met[member], 1)
            members.append(member)
        n_shown[members] += 1
        for member in members:
            met[member] += [other for other in members if other != member]
        sets.append(rng.permutation(members))
    return tuple(tuple(labels_at(labels, sets[row])) for row in rng.permutation(n_sets))


def draw_assignment(counts: Mapping[Hashable, int], size: int, *, rng: np.random.Generator) -> list[Hashable]:
    """Draw the items that the next annotator rates: the fewer ratings an item has, the likelier it is drawn.

    Items without a rating come first, at random. The others are drawn without replacement with probabilities in
    proportion to 1 / number of ratings.

    Parameters
    ----------
    counts : mapping of item to int
        Number of ratings that each item has so far.
    size : int
        Number of items to draw, at most that of all items.
    rng : numpy.random.Generator

    Returns
    -------
    list of item

    Raises
    ------
    DrawError
        More items than there are, or a number of ratings that is not a whole number from 0.

    See Also
    --------
    rankcorr.measures.mean_ratings : Scores from the ratings.
    draw_ballot : Comparisons instead of ratings.

    References
    ----------
    A. Panchenko et al., Human and Machine Judgements for Russian Semantic Relatedness (2017), section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import draw_assignment
    >>> draw_assignment({"a": 3, "b": 0, "c": 1, "d": 0}, 2, rng=np.random.default_rng(0))
    ['d', 'b']
    """
    if not isinstance(counts, Mapping):
        raise DrawError(f"counts must map each item to its number of ratings; got {shown(counts)}")
    check_rng(rng, DrawError)
    items = list(counts)
    check_names(tuple(items), "items", DrawError)
    numbers = [checked_integer(f"number of ratings of {shown(item)}", count, least=0) for item, count in counts.items()]
    number = checked_integer("size", size, least=1)
    if number > len(items):
        raise DrawError(f"size is {number:,}, and there are {len(items):,} items to rate")
    # The smallest of exponential waiting times are a draw without replacement; items without ratings do not wait.
    waiting = rng.exponential(size=len(items)) * np.array(numbers) + 1e-12 * rng.random(len(items))
    return [items[place] for place in np.argsort(waiting, kind="stable")[:number].tolist()]


def checked_integer(name: str, value: object, *, least: int) -> int:
    """Return a whole number as an int; DrawError for anything else, or a number below `least`."""
    number = whole_number(value)
    if number is None or number < least:
        raise DrawError(f"{name} must be an integer of at least {least}; got {shown(value)}")
    return number


def labels_at(names: Sequence[Hashable], places: NDArray[np.integer[Any]]) -> list[Any]:
    """Return the labels at these places; those of a range are the places.

    >>> labels_at(("fig", "kiwi"), np.array([1, 0, 1])), labels_at(range(3), np.array([2, 0]))
    (['kiwi', 'fig', 'kiwi'], [2, 0])
    """
    return places.tolist() if isinstance(names, range) else [names[place] for place in places.tolist()]


def is_label(name: Hashable) -> bool:
    """Tell whether a label names something, which None, nan and empty text do not.

    >>> is_label("fig"), is_label(0), is_label(""), is_label(float("nan"))
    (True, True, False, False)
    """
    return name is not None and equals_itself(name) and name != ""


def check_names(names: tuple[Hashable, ...], role: str, error: type[AdaptiveError]) -> None:
    """Refuse labels that are missing, repeated, or equal but for their types; messages of `error` begin with `role`.

    >>> check_names((7, "7"), "items", DrawError)
    Traceback (most recent call last):
    adaptive.errors.DrawError: items differ only in their types: '7'; write all in one way, such as text
    """
    kinds = set(map(type, names))
    for name in names if not kinds <= {str, int} or "" in names else ():
        if is_unhashable(name) and not inexact_times([name]):
            raise error(f"{role} must be hashable, as text and tuples are; got {shown(name)}")
        if not is_label(name):
            raise error(f"{role} must have a label each; got {shown(name)}")
    if inexact := inexact_times(names):
        raise error(offending(f"{role} that are times {WHOLE_TIMES}; got", inexact))
    check_unique(names, role, error)
    if twins := [] if kinds in ({str}, {int}) else type_twins(names):
        raise error(f"{offending(f'{role} differ only in their types', twins)}; write all in one way, such as text")


def _checked_names(kind: str, names: object, *, least: int) -> Names:
    if isinstance(names, numbers.Number | np.generic):
        return range(_checked_count(kind, checked_integer(f"the number of {kind}s", names, least=least), least=least))
    if isinstance(names, str | bytes | Set | Mapping) or not isinstance(names, Iterable):
        raise DrawError(f"{kind}s must be a number or a list of names; got {shown(names)}")
    if isinstance(names, range) and (names.start, names.step) == (0, 1):
        return range(_checked_count(kind, max(names.stop, 0), least=least))
    labels = tuple(map(plain_identifier, python_values(names)))
    check_names(labels, f"{kind}s", DrawError)
    _checked_count(kind, len(labels), least=least)
    return labels


def _checked_count(kind: str, count: int, *, least: int) -> int:
    if count < least:
        raise DrawError(f"a ballot needs at least {least} {kind}{'s' * (least > 1)}; got {count}")
    if count > LIMIT:
        raise DrawError(f"a ballot holds at most {LIMIT} {kind}s; got {shown(count)}")
    return count


def _checked_indices(name: str, values: ArrayLike, n_names: int) -> Indices:
    array = np.asarray(values)
    if is_masked(values):
        raise DrawError(f"{name} has masked entries: leave these comparisons out")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DrawError(f"{name} must be integers in one dimension; got {array.dtype} of shape {array.shape}")
    if array.size and not (array.min() >= 0 and array.max() < n_names):
        wrong = array[(array < 0) | (array >= n_names)]
        raise DrawError(offending(f"{name} must be indices from 0 to {n_names - 1}; got", wrong.tolist()))
    return read_only(array.astype(np.int32))
