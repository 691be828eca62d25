"""From the options of a request to those of a library call; no other module of the service translates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankcorr.weights import DEFAULT_N0


def of_coefficient(coefficient: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a library call for one coefficient; rho and tau have no use for n0 and a weigher.

    >>> of_coefficient("tau", {"n0": 7.0, "variant": "b"})
    {'coefficient': 'tau', 'n0': 2.0, 'variant': 'b', 'weigher': None}
    """
    ignored = {"n0": DEFAULT_N0, "weigher": None} if coefficient in ("rho", "tau") else {}
    return {"coefficient": coefficient, **options, **ignored}


def of_coefficients(coefficients: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of the library call for several coefficients, which itself knows what rho and tau ignore.

    >>> of_coefficients(["tau_w", "tau"], {"n0": 7.0})
    {'coefficients': ['tau_w', 'tau'], 'n0': 7.0}
    """
    return {"coefficients": coefficients, **options}
