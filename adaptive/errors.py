"""Define the errors of plans, draws and votes: each is an `AdaptiveError` and therefore a `ValueError`."""


class AdaptiveError(ValueError):
    """Base of every error that adaptive raises on bad input, except for `rankcorr.TableError`, for files.

    See Also
    --------
    PlanError, DrawError, VoteError, ModelError : Some of its subclasses.
    rankcorr.RankingError : Base of the errors of rankings and coefficients.

    Examples
    --------
    >>> from adaptive import AdaptiveError, plan_ballots
    >>> try:
    ...     plan_ballots(3, n_ballots=7, fraction=0.5, presentations=20)
    ... except AdaptiveError as error:
    ...     print(type(error).__name__)
    PlanError
    """


class PlanError(AdaptiveError):
    """Sizes, presentations or a budget that allow no plan.

    See Also
    --------
    plan_ballots, plan_for_budget, plan_for_top : Raise it.

    Examples
    --------
    >>> from adaptive import plan_for_budget
    >>> plan_for_budget(990, n_ballots=7, fraction=0.5, comparisons=500)
    Traceback (most recent call last):
        ...
    adaptive.errors.PlanError: a budget of 500 comparisons is too small: the smallest plan, with 1 ...
    """


class TokenError(AdaptiveError):
    """Tokens that cannot be paired.

    See Also
    --------
    pair_tokens : Raises it.
    rankcorr.TableError : The same for tokens in a file.

    Examples
    --------
    >>> from adaptive import pair_tokens
    >>> pair_tokens([("apple", "fruit"), ("oak", "tree"), ("pine", "tree")])
    Traceback (most recent call last):
        ...
    adaptive.errors.TokenError: area 'fruit' has one token, 'apple'; a pair needs two
    """


class DrawError(AdaptiveError):
    """Items, presentations or voters that allow no ballot.

    See Also
    --------
    draw_ballot : Raises it.
    PlanError : Numbers that allow no plan.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import draw_ballot
    >>> draw_ballot(["apple"], 2, 1, np.random.default_rng(0))
    Traceback (most recent call last):
        ...
    adaptive.errors.DrawError: a ballot needs at least 2 items; got 1
    """


class VoteError(AdaptiveError):
    """Votes that do not answer the ballot.

    See Also
    --------
    borda_scores, score_ballots : Raise it.
    Vote : The valid answers.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import borda_scores, draw_ballot
    >>> borda_scores(draw_ballot(["apple", "pear"], 2, 1, np.random.default_rng(0)), [1, 2])
    Traceback (most recent call last):
        ...
    adaptive.errors.VoteError: answers[1] is 2; an answer is 1 (left), 0 (tie), -1 (right) or -2 (unanswered)
    """


class ComparisonError(AdaptiveError):
    """Invalid comparisons: an unknown item or voter, an item against itself, columns of different lengths.

    See Also
    --------
    Comparisons, read_comparisons : Raise it.
    VoteError : Answers that are not valid.

    Examples
    --------
    >>> from adaptive import Comparisons
    >>> Comparisons.from_labels(["ant"], ["ant"], ["left"])
    Traceback (most recent call last):
        ...
    adaptive.errors.ComparisonError: right[0]: item 'ant' is compared with itself
    """


class ProtocolError(AdaptiveError):
    """A step that the state of the protocol does not allow, or a saved state that does not replay.

    See Also
    --------
    run_protocol, score_ballots : Raise it.
    VoteError : Answers that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import select_top
    >>> select_top([0.2, 0.9], 3, np.random.default_rng(0))
    Traceback (most recent call last):
        ...
    adaptive.errors.ProtocolError: cannot select 3 of 2 items
    """


class SimilarityError(AdaptiveError):
    """Similarities or voters that the voter model does not allow.

    See Also
    --------
    simulate, exponential_similarity : Raise it.
    rankcorr.TableError : The same for similarities in a file.

    Examples
    --------
    >>> from adaptive import true_ranking
    >>> true_ranking([0.5, 1.5])
    Traceback (most recent call last):
        ...
    adaptive.errors.SimilarityError: every similarity must lie in [-1, 1]: similarity[1] is 1.5
    """


class ModelError(AdaptiveError):
    """Invalid options of a model of votes, or votes that a model cannot be fitted to.

    See Also
    --------
    bradley_terry, thurstone : Raise it.
    voter_report, next_comparisons : Raise it for strengths that do not suit them.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> bradley_terry(Comparisons.from_labels(["ant"], ["bee"], ["left"]), voters=True)
    Traceback (most recent call last):
        ...
    adaptive.errors.ModelError: voters=True needs a column of voters, which these votes lack
    """


class NumberedItemsWarning(UserWarning):
    """Warn that whole numbers in pairs count items from 0, and that some of these items have no vote.

    See Also
    --------
    read_comparisons, Comparisons.from_frame : Issue this warning; the option `format` says what the numbers are.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from adaptive import Comparisons, NumberedItemsWarning
    >>> frame = pd.DataFrame({"winner": [101, 103], "loser": [102, 101]})
    >>> Comparisons.from_frame(frame, format="pairs").items
    (101, 102, 103)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", NumberedItemsWarning)
    ...     Comparisons.from_frame(frame)
    Traceback (most recent call last):
        ...
    adaptive.errors.NumberedItemsWarning: pairs: the numbers count items from 0, and so 101 items have ...
    """
