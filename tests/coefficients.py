"""Coefficients in tests: options drawn one by one make one value, and values that may be undefined are quiet."""

import warnings

from rankcorr import UndefinedCorrelationWarning
from rankcorr._coefficients import named_coefficient

OPTIONS = ("n0", "weigher", "scheme", "tied_weights", "variant")


def collapsed(**keywords):
    """Keywords of a library call, with the options of the coefficient collapsed into its value."""
    options = {name: keywords.pop(name) for name in OPTIONS if name in keywords}
    coefficient = keywords.pop("coefficient", "tau_w")
    if not options and coefficient == "tau_w":
        return keywords
    return {"coefficient": named_coefficient(coefficient, **options) if options else coefficient, **keywords}


def statistic_of(coefficient, x, y, **options):
    """The value, nan included."""
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        return coefficient(x, y, **options).statistic
