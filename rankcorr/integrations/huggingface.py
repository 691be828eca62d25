"""A metric for Hugging Face's evaluate, also as a module script: ``evaluate.load(huggingface.__file__)``."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import datasets
import evaluate

from rankcorr._coefficients import COEFFICIENTS, CoefficientLike, as_coefficient
from rankcorr._correlation import correlate
from rankcorr.errors import NonNumericError
from rankcorr.evaluation._evaluate import correlate_groups
from rankcorr.evaluation._metrics import name_of

DESCRIPTION: Final = "Tie-aware rank correlations that weigh the top of the list most, and the plain ones."
CITATION: Final = """
@inproceedings{lombardo2020top,
  title = {Top-Rank-Focused Adaptive Vote Collection for the Evaluation of Domain-Specific Semantic Models},
  author = {Lombardo, Pierangelo and others},
  booktitle = {Proceedings of EMNLP},
  year = {2020}
}
"""


class RankCorrelationMetric(evaluate.Metric):  # type: ignore[misc]
    """Rank correlations of references and predictions, as a metric of evaluate.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     metric = RankCorrelationMetric(cache_dir=folder)
    ...     values = metric.compute(predictions=[9.5, 7.5, 0.5, 1.5], references=[4, 3, 2, 1])
    >>> {name: round(value, 4) for name, value in values.items()}
    {'rho_w': 0.879, 'tau_w': 0.8843, 'rho': 0.8, 'tau': 0.6667}
    """

    def _info(self) -> Any:
        number = datasets.Value("float64")
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=inspect.getdoc(self._compute),
            features=datasets.Features({"predictions": number, "references": number}),
            reference_urls=["https://aclanthology.org/2020.emnlp-main.249/"],
        )

    def add(self, **row: Any) -> None:
        """Add a row, as any metric does."""
        with _within_range():
            super().add(**row)

    def add_batch(self, **rows: Any) -> None:
        """Add rows, as any metric does."""
        with _within_range():
            super().add_batch(**rows)

    def _compute(
        self,
        predictions: Sequence[float],
        references: Sequence[float],
        coefficients: Sequence[CoefficientLike] = COEFFICIENTS,
        groups: Sequence[Any] | None = None,
    ) -> dict[str, float]:
        """Return the coefficients by name.

        Parameters
        ----------
        predictions, references : list of float
            Scores of the system, and gold scores; larger is better.
        coefficients : list of str or of rankcorr's coefficients, optional
            By default "rho_w", "tau_w", "rho" and "tau"; with options as TauW(n0=10).
        groups : list of str or int, optional
            The query of each row: values are means over the queries that have a coefficient.

        Returns
        -------
        dict of str to float
        """
        if groups is None:
            results = correlate(list(references), list(predictions), coefficients=coefficients)
            named_results = zip(coefficients, results.values(), strict=True)
            return {name_of(as_coefficient(coefficient)): float(value) for coefficient, value in named_results}
        columns = list(predictions), list(references), list(groups)
        values = [
            correlate_groups(*columns, coefficient=as_coefficient(coefficient)).mean for coefficient in coefficients
        ]
        return {
            name_of(as_coefficient(coefficient)): value for coefficient, value in zip(coefficients, values, strict=True)
        }


@contextmanager
def _within_range() -> Iterator[None]:
    """Refuse by name a whole number that a float cannot hold."""
    try:
        yield
    except OverflowError as error:
        raise NonNumericError(f"scores must be in the range of 64-bit floats: {error}") from error
