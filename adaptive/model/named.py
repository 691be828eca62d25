"""Estimators and their options by name, as commands and services take them."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from adaptive.model.borda import BordaScores, borda
from adaptive.model.comparisons import Comparisons
from adaptive.model.estimators import bradley_terry, thurstone
from adaptive.model.strengths import Strengths
from rankcorr.checks import check_choice
from rankcorr.errors import OptionError
from rankcorr.workers import Progress

__all__ = ["MODELS", "Model", "fit_named"]

Model: TypeAlias = Literal["bradley-terry", "thurstone", "borda"]

# Options of each model, by name.
MODELS: Final[dict[str, tuple[str, ...]]] = {
    "bradley-terry": ("ties", "oversight", "prior", "voters", "side_bias"),
    "thurstone": ("oversight", "prior", "voters", "side_bias"),
    "borda": (),
}


def fit_named(
    comparisons: Comparisons, model: Model = "bradley-terry", *, progress: Progress | None = None, **options: Any
) -> Strengths | BordaScores:
    """Strengths, or Borda scores, by the name of the model.

    Parameters
    ----------
    comparisons : Comparisons
    model : {"bradley-terry", "thurstone", "borda"}
    progress : callable, optional
        As in `bradley_terry`.
    **options
        Options of the model; one that is None has its default.

    Raises
    ------
    OptionError
        An unknown model, or an option that the model does not have.
    ModelError
        As `bradley_terry`.

    Examples
    --------
    >>> votes = Comparisons.from_labels(["a"], ["b"], ["left"])
    >>> fit_named(votes, "thurstone", prior=1, ties=None)
    <Strengths (Thurstone) of 1 vote: <Ranking of 2 items, 0 tied: 'a' 1, 'b' 2>>
    """
    check_choice("model", model, tuple(MODELS))
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in MODELS[model]:
            of = " and ".join(other for other, names in MODELS.items() if name in names) or "no model"
            raise OptionError(f"{name} is an option of {of}; {model} does not have it")
    if model == "borda":
        return borda(comparisons)
    fit = bradley_terry if model == "bradley-terry" else thurstone
    return fit(comparisons, progress=progress, **given)
