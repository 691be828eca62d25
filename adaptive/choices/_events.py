"""Choices among outcomes, whose logits are sparse linear forms in the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Events:
    """Choices among outcomes.

    Attributes
    ----------
    outcome_starts : ndarray of int64, shape (n_events + 1,)
        First outcome of each event, and the number of outcomes.
    design : scipy.sparse.csr_array, shape (n_outcomes, n_parameters)
        Coefficients of the linear form of each outcome.
    choice : ndarray of int64, shape (n_events,)
        The outcome that each event chose.
    count : ndarray of float64, shape (n_events,)
        How often each event occurred.
    """

    outcome_starts: Array
    design: Any
    choice: Array
    count: Array

    @classmethod
    def of(
        cls, sizes: Sequence[int], terms: Sequence[Mapping[int, float]], choice: ArrayLike, count: ArrayLike, n: int
    ) -> Events:
        """Build events from the number of outcomes of each, and parameter to coefficient of each outcome."""
        from scipy.sparse import csr_array

        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        ends = np.cumsum([0, *map(len, terms)])
        parameter = np.array([number for outcome in terms for number in outcome], np.int64)
        coefficient = np.array([value for outcome in terms for value in outcome.values()], np.float64)
        design = csr_array((coefficient, parameter, ends), shape=(len(terms), n))
        return cls(starts, design, starts[:-1] + np.asarray(choice, np.int64), np.asarray(count, np.float64))

    @cached_property
    def event(self) -> Array:
        """Event of each outcome."""
        return np.repeat(np.arange(self.choice.size), np.diff(self.outcome_starts))

    def probabilities(self, parameters: Array) -> tuple[float, Array]:
        """Return the log-likelihood and the probability of each outcome."""
        logits = self.design @ parameters
        starts = self.outcome_starts[:-1]
        largest = np.maximum.reduceat(logits, starts)
        exponentials = np.exp(logits - largest[self.event])
        totals = np.add.reduceat(exponentials, starts)
        total = float(self.count @ (logits[self.choice] - largest - np.log(totals)))
        return total, exponentials / totals[self.event]

    def scores(self, probabilities: Array) -> Any:
        """Slope of the log-likelihood of each event, shape (n_events, n_parameters), without its count; sparse."""
        return self.design[self.choice] - self.means(probabilities)

    def means(self, probabilities: Array) -> Any:
        """Mean of the coefficients over the outcomes of each event; sparse."""
        from scipy.sparse import csr_array

        columns, shape = np.arange(probabilities.size), (self.choice.size, probabilities.size)
        return csr_array((probabilities, columns, self.outcome_starts), shape=shape) @ self.design

    def information(self, probabilities: Array) -> Array:
        """Negative second derivative of the log-likelihood, shape (n_parameters, n_parameters)."""
        weights = probabilities * self.count[self.event]
        means = self.means(probabilities)
        squares = self.design.T @ (self.design * weights[:, np.newaxis])
        products = means.T @ (means * self.count[:, np.newaxis])
        return np.asarray((squares - products).toarray())
