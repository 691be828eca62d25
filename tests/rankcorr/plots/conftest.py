"""Shared by tests of figures: rankings to draw, and functions that read figures."""

import numpy as np
import pytest

RNG = np.random.default_rng(5)
GOLD = np.round(RNG.normal(0, 2, 60))
SYSTEMS = {f"system {number}": GOLD + RNG.normal(0, 1 + number, 60) for number in range(12)}


def minus(text):
    """Replace hyphens by minus signs, as figures do."""
    return text.replace("-", "\N{MINUS SIGN}")


def legend_of(artist):
    """Entries of the only legend of a figure or of axes, without line breaks."""
    panels = getattr(artist, "axes", None)
    owners = [artist] if not isinstance(panels, list) else [artist, *panels]
    legends = [
        legend
        for owner in owners
        for legend in (owner.legends if hasattr(owner, "legends") else [owner.get_legend()])
        if legend is not None
    ]
    if not legends:
        return []
    (legend,) = legends
    return [" ".join(text.get_text().split("\n")) for text in legend.get_texts()]


def new_axes():
    """Axes of a figure that belongs to the caller."""
    from matplotlib.figure import Figure

    return Figure(figsize=(4, 4), layout="constrained").add_subplot()


def title_of(axes):
    """Title of axes or of a figure, without line breaks."""
    text = axes.get_suptitle() if hasattr(axes, "get_suptitle") else axes.get_title(loc="left") or axes.get_title()
    return " ".join(text.split("\n"))


def labels_of(axes):
    """Annotations of axes."""
    return [text.get_text() for text in axes.texts]


@pytest.fixture(autouse=True)
def matplotlib(request):
    if "without_matplotlib" not in request.fixturenames:
        pytest.importorskip("matplotlib")
