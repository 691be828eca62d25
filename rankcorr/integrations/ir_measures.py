"""Measures of ir_measures: importing this module registers ours with it, as ``tau_w(n0=10)@20``.

>>> import ir_measures
>>> import rankcorr.integrations.ir_measures
>>> qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}}
>>> run = {"q1": {"a": 9.1, "c": 8.7, "b": 1.2}, "q2": {"d": 3.3, "a": 1.0}}
>>> measures = [ir_measures.parse_measure(name) for name in ("tau_w", "tau_w(n0=10)@2", "AP")]
>>> means = ir_measures.calc_aggregate(measures, qrels, run)
>>> [(str(measure), round(means[measure], 4)) for measure in measures]
[('tau_w', 0.8126), ('tau_w(n0=10)@2', 0.7199), ('AP', 0.9167)]
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from rankcorr._checks import shown
from rankcorr._coefficients import VARIANTS, Coefficient, named_coefficient
from rankcorr._output.results import mean_of
from rankcorr._weights import DEFAULT_N0, SCHEMES, TIED_WEIGHTS, WEIGHER_NAMES, named_weigher
from rankcorr.errors import MissingMeasuresError, OptionError
from rankcorr.evaluation._evaluate import evaluate
from rankcorr.evaluation._matching import UNJUDGED, UNRETRIEVED, Policies

try:
    import ir_measures
    from ir_measures import Metric, providers
    from ir_measures.measures import Measure, ParamInfo, register, registry
    from ir_measures.util import QrelsConverter, RunConverter
except ImportError as _error:
    raise MissingMeasuresError("this adapter needs ir_measures: pip install ir_measures") from _error


def _choice(choices: Sequence[str], description: str) -> Any:
    """Return an option that takes one of some words, by default the first."""
    return ParamInfo(dtype=str, choices=list(choices), default=choices[0], desc=description)


_MATCHING: Final = {
    "cutoff": ParamInfo(dtype=int, desc="how many documents of a query are kept"),
    "unjudged": _choice(UNJUDGED, "as in rankcorr.evaluation"),
    "unretrieved": _choice(UNRETRIEVED, "as in rankcorr.evaluation"),
    "standardized": ParamInfo(dtype=bool, default=False, desc="scaled so that chance gives 0 for each query"),
}
_WEIGHTS: Final = {
    "n0": ParamInfo(dtype=(int, float), default=DEFAULT_N0, desc="offset of the weight 1/(n + n0)^2"),
    "weigher": ParamInfo(dtype=str, desc=f"another weight instead: {WEIGHER_NAMES}"),
    "scheme": _choice(SCHEMES, "how two weights combine"),
    "tied_weights": _choice(TIED_WEIGHTS, "weights of tied documents"),
}
_VARIANT: Final = {"variant": ParamInfo(dtype=str, choices=list(VARIANTS), default="b", desc="divisor of tau")}


class KnownMean(list[float]):
    """Mean of the queries that have a value, as `Evaluation.mean`; nan if none has."""

    add = list.append

    def result(self) -> float:
        """Return the mean of the values so far."""
        return mean_of(np.array(self))


class RankMeasure(Measure):  # type: ignore[misc]
    """A rank correlation of qrels and run; nan for a query without a defined value.

    Raises
    ------
    RankingError
        `OptionError` or `WeightError`, for an unknown or invalid option.
    """

    DEFAULT: ClassVar[float] = math.nan

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        for name, value in params.items():
            if name not in self.SUPPORTED_PARAMS:
                raise OptionError(f"{self.NAME} has no option {name!r}; it has {', '.join(self.SUPPORTED_PARAMS)}")
            info = self.SUPPORTED_PARAMS[name]
            if not info.validate(value):
                raise OptionError(f"{name} cannot be {shown(value)}: {self.NAME} takes {_accepted_values(info)}")
        Policies(depth=params.get("cutoff"))
        self.coefficient()

    def aggregator(self) -> KnownMean:
        """Return a new object that computes the mean over queries."""
        return KnownMean()

    def coefficient(self) -> Coefficient:
        """Return the coefficient with its options.

        Raises
        ------
        RankingError
            An option is invalid.
        """
        options = {name: value for name, value in self.params.items() if name not in _MATCHING}
        if "weigher" in options:
            options["weigher"] = named_weigher(options["weigher"])
        return named_coefficient(self.NAME, **options)

    def matching(self) -> tuple[tuple[str, Any], ...]:
        """Return the options for `evaluate`."""
        parameters = {name: self.params.get(name, info.default) for name, info in _MATCHING.items() if name != "cutoff"}
        return tuple({"depth": self.params.get("cutoff"), **parameters}.items())


class RankEvaluator(providers.Evaluator):  # type: ignore[misc]
    """Computes measures of a run by `rankcorr.evaluation.evaluate`."""

    def __init__(self, measures: Iterable[RankMeasure], qrels: Any) -> None:
        self._qrels = QrelsConverter(qrels).as_dict_of_dict()
        super().__init__(list(measures), set(self._qrels))

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        scores = {query: documents for query, documents in RunConverter(run).as_dict_of_dict().items() if documents}
        if not scores:  # each query gets the default, as when a run lacks the query
            for measure in self.measures:
                for query in self._qrels:
                    yield Metric(query_id=query, measure=measure, value=measure.DEFAULT)
            return
        for matching in dict.fromkeys(measure.matching() for measure in self.measures):
            coefficient_of = {
                measure: measure.coefficient() for measure in self.measures if measure.matching() == matching
            }
            coefficients = list(dict.fromkeys(coefficient_of.values()))
            evaluation = evaluate(self._qrels, scores, metrics=coefficients, **dict(matching))
            values = evaluation.standardized if evaluation.standardized is not None else evaluation.values
            for measure, coefficient in coefficient_of.items():
                own_values = values[0, coefficients.index(coefficient)].tolist()
                for query, value in zip(evaluation.queries, own_values, strict=True):
                    yield Metric(query_id=query, measure=measure, value=value)


class RankProvider(providers.Provider):  # type: ignore[misc]
    """Provides the four coefficients."""

    NAME: ClassVar[str] = "rankcorr"
    SUPPORTED_MEASURES: ClassVar[list[RankMeasure]] = []

    def _evaluator(self, measures: Iterable[RankMeasure], qrels: Any) -> RankEvaluator:
        return RankEvaluator(measures, qrels)


def _accepted_values(info: Any) -> str:
    """Return the values that an option takes."""
    choices = getattr(info, "choices", None)
    if isinstance(choices, list):
        return f"one of {', '.join(map(repr, choices))}"
    kinds = info.dtype if isinstance(info.dtype, tuple) else (info.dtype,)
    return " or ".join(kind.__name__ for kind in kinds)


def _measure(name: str, title: str, params: dict[str, ParamInfo]) -> RankMeasure:
    """Return the registered measure of a name; importing this module again gives the same object."""
    if name not in registry:
        attributes = {
            "__doc__": f"{title} of qrels and run.",
            "__name__": name,
            "NAME": name,
            "PRETTY_NAME": title,
            "SHORT_DESC": f"{title} of qrels and run.",
            "SUPPORTED_PARAMS": {**_MATCHING, **params},
        }
        register(type(f"_{name}", (RankMeasure,), attributes)())
    measure: RankMeasure = registry[name]
    return measure


tau_w: Final = _measure("tau_w", "Top-weighted Kendall correlation", {**_WEIGHTS, **_VARIANT})
rho_w: Final = _measure("rho_w", "Top-weighted Spearman correlation", _WEIGHTS)
tau: Final = _measure("tau", "Kendall correlation", _VARIANT)
rho: Final = _measure("rho", "Spearman correlation", {})

RankProvider.SUPPORTED_MEASURES[:] = [tau_w, rho_w, tau, rho]
if RankProvider.NAME not in providers.registry:
    ir_measures.DefaultPipeline.providers.append(providers.register(RankProvider()))
