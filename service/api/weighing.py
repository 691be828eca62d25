"""Translate the options of a request into those of a library call; no other module of the service does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankcorr import Coefficient
from rankcorr.coefficients import named_coefficient


def of_coefficient(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a library call for one coefficient; rho and tau ignore n0 and weigher.

    Examples
    --------
    >>> of_coefficient("tau", {"n0": 7.0, "variant": "b", "missing": "raise"})
    {'coefficient': Tau(), 'missing': 'raise'}
    """
    return {"coefficient": of_name(name, options), "missing": options["missing"]}


def of_coefficients(names: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a library call for several coefficients.

    >>> of_coefficients(["tau_w", "tau"], {"n0": 7.0, "missing": "raise"})
    {'coefficients': [TauW(n0=7), Tau()], 'missing': 'raise'}
    """
    return {"coefficients": [of_name(name, options) for name in names], "missing": options["missing"]}


def of_name(name: str, options: Mapping[str, Any]) -> Coefficient:
    """Return the coefficient with this name.

    >>> of_name("rho_w", {"n0": 7.0})
    RhoW(n0=7)
    """
    return named_coefficient(name, **options)
