"""Choose the next comparisons: items whose uncertain rank costs most, against items of similar strength.

strengths -> draws of the ranking -> loss by each item's uncertain rank -> items -> opponents -> voters and sides

Each draw is a ranking from the posterior (Thompson sampling). Opponents are neighbours in the fitted ranking, not in a
drawn one, because a vote is most informative when both answers are equally likely. (6,000 votes on 990 items of
power-law similarity reached a rho_w of .929 with neighbours in a drawn ranking, and .947 with these; means of 16
simulations, standard errors .006 and .002.) If neighbours mostly tie, votes on them carry little information, so
opponents are farther away. (With 23 % ties between random items of exponential similarity, 19,660 votes reached a tau_w
of .19 with neighbours, and .87 with these; 2 and 3 simulations.)

The draws are normal and hardly ever lift an item far above its rank, but a top item may have lost its first comparisons
by oversights. The probability that an item belongs far above (`rank_chances`) therefore adds to its loss. The item then
meets a stronger one, which shows sooner whether its victories were luck.

Voters may not follow the model. A tenth of the items meet a random opponent, which connects distant parts of the
ranking. If votes on the same pair agree more than the strengths explain (`Misfit.pairs`), as with cyclic preferences,
items meet new neighbours instead of the same few, so that effects of single pairs average out. (With cyclic
preferences, "intransitive .6" in benchmarks/crowds.py, 30 items and 200 votes, tau_w was .53 without this rule and .63
with it; 100 simulations, standard error of the difference .02.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._draw import LIMIT, Indices, Names, labels_at
from adaptive._protocol import Items, checked_labels
from adaptive._tables import NextComparisons
from adaptive.comparisons._columns import ShownPairs, same_labels
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ModelError
from adaptive.matching._rank_losses import losses_above, rank_losses
from adaptive.model._strengths import Strengths
from rankcorr import _checks as checks
from rankcorr._input.identifiers import identifier_text
from rankcorr._output.results import Result, read_only
from rankcorr._weights import DEFAULT_N0

Array: TypeAlias = NDArray[Any]

FOCUS: Final = 0.6
FIRST: Final = 1
RANDOM: Final = 0.1  # share of the chosen items that meet a random opponent
# A call draws a tenth of the items without replacement, then again a tenth of all items, and so on.
PARTS: Final = 10
LEAST_PART: Final = 4
MOST_PARTS: Final = 100
# If `Misfit.pairs` is above the first number, an item has at most the second share of its comparisons on one pair.
PAIR_SHARES: Final = ((2.0, 0.05), (1.0, 0.1))
DRAWS: Final = 6
FAR: Final = 2.5  # a rank is far above an item if its strength is at least this many standard errors higher
# These values had the best rho_w among shares of .4 to 1 and steps of 1 to half of the way, with 6,000 votes on
# power-law, exponential and embedding similarity (60 simulations each).
FAR_SHARE: Final = 0.5
STEP: Final = 1.5
MAX_SIZE: Final = 10_000_000  # comparisons of one call, which take 200 MB
MAX_SLOTS: Final = 2_000_000  # combinations of a voter and a prompt; sorting them takes 2 s


@dataclass(frozen=True, eq=False, repr=False)
class Matches(Result):
    """Comparisons to show next, in this order.

    Attributes
    ----------
    items, voters : tuple of hashable, or range
        Labels of all items, and names of the voters.
    left, right, voter : ndarray of int32, shape (n_comparisons,), read-only
        Indices into `items` and `voters`.
    reason : str
        Reason why there are fewer comparisons than requested; empty if there are enough.
    prompts : tuple of hashable, or range, or None
        Names of the prompts; None without prompts.
    prompt : ndarray of int32, shape (n_comparisons,), read-only, or None
        Index into `prompts`: the prompt that both items of a comparison answer.

    See Also
    --------
    next_comparisons : Returns it.
    Ballot : Comparisons fixed before the votes.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import Comparisons, bradley_terry, next_comparisons
    >>> votes = Comparisons.from_labels(["a", "c"], ["b", "d"], ["left", "left"], voter=["Ann", "Bob"])
    >>> matches = next_comparisons(bradley_terry(votes), 2, rng=np.random.default_rng(1))
    >>> matches.n_comparisons, len(matches.pairs), [matches.voters[voter] for voter in matches.voter]
    (2, 2, ['Ann', 'Bob'])
    """

    items: Names
    voters: Names
    left: Indices
    right: Indices
    voter: Indices
    reason: str = ""
    prompts: Names | None = None
    prompt: Indices | None = None

    def __post_init__(self) -> None:
        read_only((self.left, self.right, self.voter, self.prompt))

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons."""
        return self.left.size

    @property
    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Labels of the items on the left and on the right of each comparison."""
        labels = self.by_labels()
        return list(zip(labels.left, labels.right, strict=True))

    def by_labels(self) -> NextComparisons:
        """Return the comparisons by the labels of items, voters and prompts.

        Examples
        --------
        >>> from adaptive import Comparisons, bradley_terry, next_comparisons
        >>> votes = Comparisons.from_labels(["a"], ["b"], ["left"], voter=["Ann"])
        >>> next_comparisons(bradley_terry(votes), 1, rng=np.random.default_rng(1), voters=["Bob"]).by_labels().voter
        ['Bob']
        """
        left, right = labels_at(self.items, self.left), labels_at(self.items, self.right)
        prompt = None if self.prompts is None or self.prompt is None else labels_at(self.prompts, self.prompt)
        return NextComparisons(left, right, labels_at(self.voters, self.voter), prompt)

    def __len__(self) -> int:
        return self.n_comparisons

    def __repr__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        size, voters = checks.counted(self.n_comparisons, "comparison"), checks.counted(len(self.voters), "voter")
        return f"<Matches of {size} for {voters}{why}>"


def next_comparisons(
    strengths: Strengths,
    size: int,
    *,
    rng: np.random.Generator,
    voters: Items | None = None,
    voter_history: Comparisons | None = None,
    prompts: Items | None = None,
    prompt_history: Sequence[Hashable] | None = None,
    n0: float = DEFAULT_N0,
    focus: float = FOCUS,
    first: int = FIRST,
) -> Matches:
    """Choose the comparisons that are most informative about the top of the list, given all votes so far.

    Rankings are drawn from the posterior. If the rank of an item differs between draws, the coefficients are lower,
    most of all near the top: tau_w by the weight of the items between the two ranks, rho_w by the squared difference.
    Items are drawn in proportion to the part of this loss that a vote is expected to save. Each meets a neighbour in
    the fitted ranking. If more than half of the votes between equal items tie, the opponent is instead stronger or
    weaker by the distance at which half of the votes tie (Davidson's model).

    An item may belong far above its rank, because votes against it can be oversights. The loss by that distance, times
    its probability (`rank_chances`), is added, and the item meets a somewhat stronger opponent. A tenth of the items
    meet a random opponent. If votes contradict the model (`Strengths.misfit`), pairs are repeated less often. Small
    batches choose better than large ones, because they use more of the votes.

    Parameters
    ----------
    strengths : Strengths
    size : int
        Number of comparisons.
    rng : numpy.random.Generator
    voters : int or sequence of hashable, optional
        The voters. The next comparison goes to the voter who was shown the fewest. By default the voters of the
        history, or a single voter if they are unknown.
    voter_history : Comparisons, optional
        Comparisons already shown, answered or not: no voter gets a pair twice. By default the votes of `strengths`.
    prompts : int or sequence of hashable, optional
        Prompts that the items answer, such as questions to language models. Both items of a comparison answer the same
        prompt, and a voter may get a pair again with another prompt. The prompt that was shown least often comes next.
    prompt_history : sequence of hashable, optional
        Prompt of each comparison already shown, in the order of `Comparisons.shown_pairs`: answered comparisons, then
        those without an answer. Only with `prompts`.
    n0 : float
        Offset of the weights 1 / (n + n0)^2.
    focus : float
        Share of the choice, from 0 to 1, that follows tau_w, which depends on the order of the top. The rest follows
        rho_w, which also depends on the ranks of all items.
    first : int
        Items with fewer comparisons than this come first, and meet each other.

    Returns
    -------
    Matches
        Fewer comparisons than requested, or none, if the voters have seen all pairs; see `reason`.

    Raises
    ------
    ModelError
        The size is not positive or is above 10,000,000, an option is out of range, `rng` is not a generator, the
        history has other items, there are more than 2,000,000 combinations of a voter and a prompt, or a prompt history
        has no prompts or another length.

    See Also
    --------
    run_matching : Collect all votes in this way.
    bradley_terry : Fit the strengths.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import Comparisons, bradley_terry, next_comparisons
    >>> votes = Comparisons.from_labels(["a", "c"], ["b", "d"], ["left", "left"], voter=["Ann", "Bob"])
    >>> next_comparisons(bradley_terry(votes), 2, rng=np.random.default_rng(1))
    <Matches of 2 comparisons for 2 voters>
    >>> votes = Comparisons.from_labels(["a"], ["b"], ["left"])
    >>> rng, prompts = np.random.default_rng(1), ["sum", "rhyme", "plan"]
    >>> matches = next_comparisons(bradley_terry(votes), 5, rng=rng, prompts=prompts, prompt_history=["sum"])
    >>> [matches.prompts[prompt] for prompt in matches.prompt], matches.reason
    (['plan', 'rhyme'], 'the voter has seen all other pairs with every prompt')
    """
    n_comparisons = checks.checked_count(size, "size", ModelError)
    if n_comparisons > MAX_SIZE:
        raise ModelError(f"size must be at most {MAX_SIZE:,}; got {checks.shown(size)}")
    Matching(first=first, n0=n0, focus=focus)  # checks the ranges
    if not isinstance(strengths, Strengths):
        raise ModelError(f"strengths must be Strengths; got {checks.shown(strengths)}")
    history = strengths.comparisons if voter_history is None else voter_history
    if not isinstance(history, Comparisons) or not same_labels(history.items, strengths.items):
        raise ModelError(f"voter_history must be Comparisons of the same items; got {checks.shown(history)}")
    checks.check_rng(rng, ModelError)
    pairs = history.shown_pairs
    names, seen_by = _voters(voters, history.voters, pairs)
    if prompts is not None and history.voters is None and voters is None:
        seen_by = np.zeros(len(pairs), np.int32)  # a single voter, who must not get a pair and a prompt again
    slots = _slots(names, seen_by, prompts, prompt_history, rng)
    from adaptive.matching._matching_kernels import Candidates, deal_matches

    presentations = strengths.comparisons.presentations
    items, order, aim = _choose_items(strengths, presentations, n0, focus, first, n_comparisons, rng)
    # New items are first in the order, and meet each other.
    has_new = bool((presentations < first).any())
    distance = 0.0 if has_new else informative_distance(strengths.tie_parameter)
    places = np.full(items.size, -1, np.int64)
    if not has_new:
        is_random = rng.random(items.size) < RANDOM
        places[is_random] = rng.integers(0, order.size, int(np.count_nonzero(is_random)))
    around, n_missing = _places_around(strengths.theta, order, distance, aim), np.maximum(first - presentations, 0)
    n_left, n_right = (np.bincount(side, minlength=order.size) for side in (pairs.left, pairs.right))
    left, right, voter = deal_matches(
        Candidates(items, places, order, around, n_missing),
        (pairs.left, pairs.right, slots.history),
        n_left - n_right,
        slots.load,
        slots.queue,
        _frequent_pairs(strengths, pairs),
        n_comparisons,
        rng,
    )
    prompt = None
    if slots.prompts is not None:
        voter, prompt = (numbers.astype(np.int32) for numbers in np.divmod(voter, len(slots.prompts)))
    reason = ""
    if left.size < n_comparisons:
        reason = f"{'the voter has' if len(names) == 1 else 'the voters have'} seen all other pairs"
        reason += "" if prompt is None else " with every prompt"
    return Matches(_names(strengths.items), names, left, right, voter, reason, slots.prompts, prompt)


def _choose_items(
    strengths: Strengths, presentations: Array, n0: float, focus: float, first: int, size: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return the items by priority, an order in which neighbours should meet, and target strengths of opponents.

    Only items that may belong far above their rank have a target strength; others have nan.
    """
    n_items = presentations.size
    width = 1.0 / np.sqrt(strengths.curvature.diagonal)
    draws = strengths.theta + width * rng.standard_normal((DRAWS, n_items))
    ranks = np.empty((DRAWS, n_items))
    for row, order in zip(ranks, falling_orders(draws), strict=True):
        row[order] = np.arange(1.0, n_items + 1)
    of_tau, of_rho = rank_losses(ranks, n0)
    # Shuffle items of equal strength, because neighbours in the order of their labels may be alike.
    permutation = rng.permutation(n_items)
    order = permutation[falling_orders(strengths.theta[np.newaxis, permutation])[0]]
    step = max(STEP, informative_distance(strengths.tie_parameter))
    far_tau, far_rho, aim = losses_above(strengths, strengths.theta + FAR * width, order, n0, step)
    # A vote saves the share width^2 / 4 of the loss near an item's rank, but much of the loss by a far rank.
    top = (1 + n0) ** -2.0
    # Losses below this are 0, such as those of far ranks if all draws agree.
    negligible = 1e-9 * np.array([top * top, top])
    shares = np.array([focus, 1 - focus]) / np.maximum([of_tau.sum(), of_rho.sum()], negligible)
    near = width * width * (shares @ np.stack([of_tau, of_rho]))
    far = FAR_SHARE * (shares @ np.stack([far_tau, far_rho]))
    aim[far < near] = np.nan
    # A vote gains nothing if all draws agree on an item; those items come last, by the weight of their rank.
    weight = (ranks[0] + n0) ** -2.0
    gain = near + far + 1e-9 * width * width * weight / weight.sum()
    with np.errstate(divide="ignore"):
        # The largest values of log(p) + Gumbel noise are a draw without replacement in proportion to p.
        key = np.log(gain) + rng.gumbel(size=n_items)
    is_new = presentations < first
    if is_new.any():  # new items come first, in random order, and together, so that they meet each other
        key[is_new] = np.finfo(float).max * (1 - 0.5 * rng.random(int(is_new.sum())))
        order = np.concatenate([rng.permutation(np.flatnonzero(is_new)), order[~is_new[order]]])
        aim[:] = np.nan
    candidates = falling_orders(key[np.newaxis])[0]
    part = max(LEAST_PART, n_items // PARTS)
    n_parts = 0 if is_new.any() else min(MOST_PARTS, -(-size // part))
    repeats = [
        falling_orders((np.log(gain) + rng.gumbel(size=n_items))[np.newaxis])[0, :part] for _ in range(1, n_parts)
    ]
    candidates = np.concatenate([candidates[:part], *repeats, candidates[part:]])
    return candidates, order, aim


def _frequent_pairs(strengths: Strengths, pairs: ShownPairs) -> Array:
    """Return the keys of pairs that must not be asked again while others are open.

    If votes on the same pair agree more than the strengths explain, a further vote would only confirm the effect of
    this pair, so each item should meet many others instead.
    """
    shares = [share for least, share in PAIR_SHARES if strengths.misfit.pairs > least]
    if not shares:
        return np.empty(0, np.int64)
    n_items = strengths.comparisons.n_items
    number = np.bincount(pairs.left, minlength=n_items) + np.bincount(pairs.right, minlength=n_items)
    lower, upper = np.minimum(pairs.left, pairs.right).astype(np.int64), np.maximum(pairs.left, pairs.right)
    keys, times = np.unique(lower * n_items + upper, return_counts=True)
    fewest = np.minimum(number[keys // n_items], number[keys % n_items])
    return np.asarray(keys[times >= np.maximum(1.0, shares[0] * fewest)])


def falling_orders(values: Array) -> Array:
    """Return the stable descending sort order of each row; values are finite or infinite."""
    return np.argsort(-values, axis=1, kind="stable")


def informative_distance(nu: float) -> float:
    """Return the difference of strengths where half of the votes tie in Davidson's model; 0 if equal items tie less.

    With c = cosh(d / 2), votes tie with probability nu / (nu + 2 c), and their Fisher information on d is
    (nu c + 2) / (2 (nu + 2 c)^2). At c = nu / 2, this is at least 90 % of its maximum for every nu. The maximum itself
    is at d = 0 up to nu = 4, where voters who cannot distinguish similar items would give no information.

    Examples
    --------
    >>> informative_distance(2.0), round(informative_distance(4.0), 3)
    (0.0, 2.634)
    """
    return 0.0 if nu <= 2 else float(2 * np.arccosh(nu / 2))


def _places_around(theta: Array, order: Array, distance: float, aim: Array) -> Array:
    """Return two places in `order` (descending `theta`) for each item, around which to search for opponents.

    They are the places at a distance below and above the item, so both are the item's place if the distance is 0. If
    one side has no item at that distance, both are the place on the other side; if neither side has one, both are the
    farther end. If `aim` is a number, both are the place of that strength.
    """
    n_items, falling = order.size, -theta[order]
    if distance:
        below = np.searchsorted(falling, distance - theta)
        above = np.searchsorted(falling, -distance - theta, side="right") - 1
        none_below, none_above = below == n_items, above < 0
        farther = np.where(theta - theta.min() > theta.max() - theta, n_items - 1, 0)
        below[none_below] = np.where(none_above, farther, above)[none_below]
        above[none_above] = below[none_above]
    else:
        below = above = np.empty(n_items, np.int64)
        below[order] = np.arange(n_items)
    around = np.stack([below, above])
    aimed = np.flatnonzero(~np.isnan(aim))
    around[:, aimed] = np.minimum(np.searchsorted(falling, -aim[aimed]), n_items - 1)
    return around


def _voters(voters: Items | None, before: Sequence[Hashable] | None, pairs: ShownPairs) -> tuple[Names, Array]:
    """Return the names of the voters, and the index of the voter, or -1, for each pair shown before."""
    # Read-only like the other case, because the kernel would be compiled again for a writeable array.
    unknown = read_only(np.full(len(pairs), -1, np.int32))
    names = before or range(1) if voters is None else checked_labels(voters, "voters", ModelError)
    if not len(names):
        raise ModelError("comparisons need at least one voter; got none")
    labels = _names(names)
    if before is None or pairs.voter is None:
        return labels, unknown
    if labels == before:
        return labels, pairs.voter
    index = {identifier_text(name): place for place, name in enumerate(labels)}
    places = np.array([index.get(identifier_text(name), -1) for name in before], np.int32)[pairs.voter]
    return labels, read_only(places)


class _Slots(NamedTuple):
    """Slots that can be shown a pair once: voters or, with prompts, combinations of a voter and a prompt.

    Attributes
    ----------
    history : ndarray of int32, shape (n_shown,)
        Slot of each pair shown before; -1 if unknown.
    load : ndarray of int64, shape (n_slots,)
        Number of pairs that each slot was shown.
    queue : ndarray of int64, shape (n_slots,) or (0,)
        Slots by priority: by load, then in this order. Empty for a random order of equal loads.
    prompts : tuple of hashable, range, or None
    """

    history: Array
    load: Array
    queue: Array
    prompts: Names | None = None


def _slots(
    voters: Names,
    seen_by: Array,
    prompts: Items | None,
    prompt_history: Sequence[Hashable] | None,
    rng: np.random.Generator,
) -> _Slots:
    if prompts is None:
        if prompt_history is not None:
            raise ModelError("prompt_history needs prompts")
        return _Slots(seen_by, np.bincount(seen_by[seen_by >= 0], minlength=len(voters)), np.empty(0, np.int64))
    names = _names(checked_labels(prompts, "prompts", ModelError))
    n_voters, n_prompts = len(voters), len(names)
    if not n_prompts:
        raise ModelError("comparisons within prompts need at least one; got none")
    if n_voters * n_prompts > MAX_SLOTS:
        raise ModelError(
            f"voters times prompts must be at most {MAX_SLOTS:,}; got {n_voters:,} and {n_prompts:,}: name fewer"
        )
    if isinstance(prompt_history, str) or not isinstance(prompt_history, Iterable | None):
        raise ModelError(f"prompt_history must be a list of prompts; got {checks.shown(prompt_history)}")
    labels = [] if prompt_history is None else list(prompt_history)
    if odd := [label for label in labels if checks.is_unhashable(label)]:
        raise ModelError(f"a prompt must be a label, such as text or a number; got {checks.shown(odd[0])}")
    if len(labels) != seen_by.size:
        raise ModelError(
            f"prompt_history must have the prompt of each of the {seen_by.size:,} pairs shown; got {len(labels):,}"
        )
    index = {identifier_text(name): place for place, name in enumerate(names)}
    shown_with = np.array([index.get(identifier_text(label), -1) for label in labels], np.int64)
    known = (seen_by >= 0) & (shown_with >= 0)
    history = np.where(known, seen_by.astype(np.int64) * n_prompts + shown_with, -1).astype(np.int32)
    load = np.bincount(history[known], minlength=n_voters * n_prompts)
    of_voter = np.bincount(seen_by[seen_by >= 0], minlength=n_voters)
    of_prompt = np.bincount(shown_with[shown_with >= 0], minlength=n_prompts)
    return _Slots(
        read_only(history), load, _slot_queue(load.reshape(n_voters, n_prompts), of_voter, of_prompt, rng), names
    )


def _slot_queue(load: Array, of_voter: Array, of_prompt: Array, rng: np.random.Generator) -> Array:
    """Return the combinations of voter and prompt by load; for equal loads, voters and prompts shown least come first.

    Each voter begins with the prompt shown least. Each further prompt moves the voter back in the queue.
    """
    shape = load.shape
    by_prompt = np.lexsort((rng.random(shape), np.broadcast_to(of_prompt, shape), load))
    turn = np.empty(shape, np.int64)
    np.put_along_axis(turn, by_prompt, np.broadcast_to(np.arange(shape[1]), shape), axis=1)
    turn += of_voter[:, np.newaxis]
    return np.lexsort((rng.random(load.size), turn.ravel(), load.ravel()))


def _names(labels: Sequence[Hashable]) -> Names:
    return labels if isinstance(labels, range | tuple) else tuple(labels)


BATCH_OF_ITEMS: Final = 10  # items for each comparison of a batch
BATCHES: Final = (4, 50)


@dataclass(frozen=True, eq=False)
class Matching(Result):
    """Options of `run_matching`.

    Attributes
    ----------
    batch : int, optional
        Number of comparisons chosen at a time; by default a tenth of the items, from 4 to 50. Small batches choose
        better.
    first : int
        Number of comparisons of each item with random others, before any other comparison.
    n0 : float
        Offset of the weights 1 / (n + n0)^2, which determine how much the top counts.
    focus : float
        From 0 to 1, as in `next_comparisons`.
    voters_from : float
        Number of comparisons per voter from which each voter's discrimination and oversight are fitted, too, so that
        careless votes count less in the choice. By default only the fit after the last vote includes them.

    Raises
    ------
    ModelError
        A number is out of range.

    See Also
    --------
    run_matching : Run matching with these options.
    next_comparisons : Choose one batch.

    Examples
    --------
    >>> from adaptive import Matching
    >>> Matching(batch=10).focus == Matching().focus
    True
    """

    batch: int | None = checks.declare(
        int, None, least=1, about="Comparisons chosen at a time; by default a tenth of the items."
    )
    first: int = checks.declare(
        int,
        FIRST,
        least=0,
        most=LIMIT,
        about="Comparisons of every item with random others before any other comparison.",
    )
    n0: float = checks.declare(float, DEFAULT_N0, above=-1, about="Offset of the weights 1/(n + n0)^2.")
    focus: float = checks.declare(
        float,
        FOCUS,
        least=0,
        most=1,
        about="What to measure most precisely, from 0 (the ranks of all items, as in rho_w) to 1 (the order of the "
        "top, as in tau_w).",
    )
    voters_from: float = float("inf")

    def __post_init__(self) -> None:
        checks.check_declared(self, ModelError)
        if not checks.real_number(self.voters_from) >= 0:
            raise ModelError(f"voters_from must be a number, not negative; got {checks.shown(self.voters_from)}")

    def batch_of(self, n_items: int) -> int:
        """Return the size of a batch for a number of items."""
        return self.batch or min(max(n_items // BATCH_OF_ITEMS, BATCHES[0]), BATCHES[1])


MATCHING: Final = Matching()
