"""Scorers for scikit-learn: ``GridSearchCV(model, grid, scoring=tau_w_scorer)``."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sklearn.metrics import make_scorer

from rankcorr._coefficients import CoefficientLike, as_coefficient
from rankcorr.errors import OptionError
from rankcorr.evaluation._evaluate import correlate_groups


@dataclass(frozen=True)
class RankScore:
    """A rank correlation as a score function of scikit-learn: ``score(y_true, y_pred)``.

    Both are matched by position, as in scikit-learn: an index of pandas is ignored.

    Parameters
    ----------
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        The true values are x.

    Examples
    --------
    >>> RankScore("tau")([3, 2, 1], [0.9, 0.1, 0.5])
    0.3333333333333333
    >>> RankScore("tau")([3, 2, 1, 2, 1], [0.9, 0.4, 0.1, 0.3, 0.6], groups=["q", "q", "q", "r", "r"])
    0.0
    """

    coefficient: CoefficientLike = "tau_w"

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficient", as_coefficient(self.coefficient))

    def __call__(self, y_true: Any, y_pred: Any, *, groups: Any = None, sample_weight: Any = None) -> float:
        """Coefficient of two columns, or the mean of the coefficients within groups.

        Parameters
        ----------
        y_true, y_pred : array_like of shape (n_samples,)
            Larger is better.
        groups : array_like of str or int, shape (n_samples,), optional
            The query of each sample: the score is the mean over queries, without those that have no coefficient.
        sample_weight : None
            Must be None: items are weighted by their ranks.

        Raises
        ------
        RankingError
            The subclass tells what is wrong.
        """
        if sample_weight is not None:
            raise OptionError("sample_weight cannot be used: a rank correlation weighs the items by their ranks")
        x, y = _by_position(y_true), _by_position(y_pred)
        coefficient = as_coefficient(self.coefficient)
        if groups is not None:
            return correlate_groups(y, x, groups, coefficient=coefficient, workers=1).mean
        return float(coefficient.correlate(x, y))

    @property
    def __name__(self) -> str:  # scikit-learn's scorers show it
        return repr(self.coefficient)


def _by_position(values: Any) -> Any:
    """Drop the index of values; lists, tuples and arrays pass unchanged, with masks and mixed numbers."""
    return values if isinstance(values, list | tuple | np.ndarray) else np.asarray(values)


def rank_scorer(coefficient: CoefficientLike = "tau_w", *, response_method: Any = "predict") -> Any:
    """Return a scorer of scikit-learn that is a rank correlation of true and predicted values.

    Parameters
    ----------
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
    response_method : str or sequence of str, default "predict"
        As in `sklearn.metrics.make_scorer`: "decision_function" ranks the samples of a classifier.

    Returns
    -------
    scorer
        For `scoring` of `GridSearchCV`, `cross_val_score` and the like. With metadata routing,
        ``scorer.set_score_request(groups=True)`` makes it the mean over groups, see `RankScore`. A fold with an
        undefined coefficient scores nan.

    Raises
    ------
    OptionError
        The coefficient is unknown.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from rankcorr import TauW
    >>> x = [[1.0], [2.0], [3.0], [4.0]]
    >>> rank_scorer(TauW(n0=10))(LinearRegression().fit(x, [1, 2, 3, 4]), x, [1, 2, 3, 4])
    1.0
    """
    return make_scorer(RankScore(coefficient), response_method=response_method)


tau_w_scorer: Final = rank_scorer("tau_w")
rho_w_scorer: Final = rank_scorer("rho_w")
tau_scorer: Final = rank_scorer("tau")
rho_scorer: Final = rank_scorer("rho")
