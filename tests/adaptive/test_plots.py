"""Figures of strengths, the top, voters and accuracy draw the numbers of the results."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from adaptive import Choices, Comparisons, ModelError, borda, bradley_terry
from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.plots import agreement, plot_accuracy, plot_in_top, plot_strengths, plot_voters
from rankcorr import OptionError
from rankcorr.plots import MissingMatplotlibError
from tests.rankcorr.plots.conftest import (
    legend_of,
    matplotlib,  # noqa: F401
    new_axes,
    title_of,
)

pytestmark = pytest.mark.wide


def votes_of(n_items, n_votes=400, n_voters=5, seed=0):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    winner = np.where(rng.random(n_votes) < 0.8, np.where(left < right, LEFT, RIGHT), TIE)
    names = [f"item {number}" for number in range(n_items)]
    return Comparisons(names, left, right, winner, n_voters, rng.integers(0, n_voters, n_votes))


FIT_10 = bradley_terry(votes_of(10))
FIT_60 = bradley_terry(votes_of(60, 600))
FIT_300 = bradley_terry(votes_of(300, 3_000))
ANONYMOUS = bradley_terry(Comparisons(2, [0], [1], [1]))


def names_on(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def best_first(strengths):
    return [row["item"] for row in strengths.to_dict()["items"]]


def points_of(axes):
    (line,) = [line for line in axes.lines if line.get_marker() == "o"]
    return line.get_xdata()


def ends_of(axes):
    return np.array([[start[0], stop[0]] for start, stop in axes.collections[0].get_segments()])


@pytest.mark.parametrize("level", [0.9, 0.5])
def test_strengths_are_drawn_with_their_intervals(level):
    (axes,) = plot_strengths(FIT_10, level=level).axes
    rows = FIT_10.to_dict()["items"]
    assert names_on(axes) == [row["item"] for row in rows]
    assert_allclose(points_of(axes), [row["strength"] for row in rows])
    half = norm.ppf((1 + level) / 2) * np.array([row["standard_error"] for row in rows])
    assert_allclose(ends_of(axes), np.column_stack([points_of(axes) - half, points_of(axes) + half]))
    assert axes.get_xlabel() == f"Strength, with its {100 * level:g} % interval"
    assert title_of(axes) == f"Strengths of all 10 items, {FIT_10.comparisons.left.size:,} votes"
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the best item is at the top


def test_the_best_items_are_drawn_in_columns():
    figure = plot_strengths(FIT_60)
    first, second = figure.axes  # in columns, so the figure is not too high
    assert names_on(first) + names_on(second) == best_first(FIT_60)[:50]
    assert first.get_xlim() == second.get_xlim()
    assert np.concatenate([points_of(first), points_of(second)]).tolist() == sorted(FIT_60.theta, reverse=True)[:50]
    assert title_of(figure) == "Strengths of the best 50 of 60 items, 600 votes"
    (axes,) = plot_strengths(FIT_60, top=3).axes
    assert names_on(axes) == best_first(FIT_60)[:3]
    assert sum(len(names_on(axes)) for axes in plot_strengths(FIT_60, top=None).axes) == 60
    assert max(plot_strengths(strengths, top=None).get_size_inches()[1] for strengths in (FIT_10, FIT_60, FIT_300)) <= 8


def test_titles_and_axis_labels_have_room_next_to_long_names():
    """The title belongs to the whole figure, and the label below fits the width of the axes."""
    for n_items, n_columns in ((10, 1), (45, 2)):
        votes = votes_of(n_items)
        named = Comparisons(
            [f"a/name-of-many-letters-{name}" for name in votes.items], votes.left, votes.right, votes.winner
        )
        figure = plot_strengths(bradley_terry(named))
        figure.draw_without_rendering()
        assert len(figure.axes) == n_columns
        assert title_of(figure) == f"Strengths of all {n_items} items, 400 votes"
        for axes in figure.axes:
            label = axes.xaxis.label.get_window_extent()
            assert figure.bbox.x0 <= label.x0 < label.x1 <= figure.bbox.x1
        assert figure._suptitle.get_window_extent().x1 <= figure.bbox.x1


def test_many_items_are_drawn_as_a_band():
    (axes,) = plot_strengths(FIT_300, top=None).axes
    assert names_on(axes)[0] == "1"
    assert axes.get_ylabel() == "Place, best first"
    (band,) = axes.collections
    vertices = band.get_paths()[0].vertices
    assert vertices[:, 1].min() == 0
    assert vertices[:, 1].max() == 299
    assert_allclose(axes.lines[0].get_xdata(), np.sort(FIT_300.theta)[::-1])


def test_low_axes_name_only_some_rows():
    axes = new_axes()
    assert plot_strengths(FIT_60, ax=axes) is axes
    named = names_on(axes)
    step = best_first(FIT_60).index(named[1])
    assert step > 1
    assert named == best_first(FIT_60)[:50:step]
    assert all(label.get_fontsize() >= 6 for label in axes.get_yticklabels())


def test_ranks_are_drawn_with_their_intervals():
    (axes,) = plot_strengths(FIT_10, scale="rank", level=0.8).axes
    assert all(tick == int(tick) for tick in axes.get_xticks())
    rows = FIT_10.rank_intervals(0.8).to_frame().to_dict("list")
    assert names_on(axes) == rows["item"]
    assert_allclose(points_of(axes), rows["rank"])
    assert_allclose(ends_of(axes), np.column_stack([rows["low"], rows["high"]]))
    assert axes.get_xlabel() == "Rank, with its 80 % interval"


def test_the_top_is_drawn_with_its_cut():
    figure = plot_in_top(FIT_10, 3, seed=4)
    (axes,) = figure.axes
    expected = FIT_10.in_top(3, seed=4).probability
    names = names_on(axes)
    assert names == best_first(FIT_10)[: len(names)]
    lengths = [bar.get_width() for bar in itertools.chain.from_iterable(axes.containers)]
    assert_allclose(lengths, [expected[FIT_10.items.index(name)] for name in names])
    assert [len(container) for container in axes.containers] == [3, len(names) - 3]
    assert lengths[-1] >= 0.005
    n_votes = FIT_10.comparisons.left.size
    assert title_of(axes) == f"Probability of the top 3: the first {len(names)} of 10 items, {n_votes:,} votes"
    assert [text.get_text() for text in axes.texts] == [f"{length:.2f}" for length in lengths]
    assert all(expected[FIT_10.items.index(name)] < 0.005 for name in best_first(FIT_10)[len(names) :])
    (cut,) = axes.lines
    assert list(cut.get_ydata()) == [2.5, 2.5]
    assert legend_of(figure) == ["the best 3 of the ranking", "items after them"]


def test_the_part_of_the_list_drawn_for_a_top():
    assert len(names_on(plot_in_top(FIT_60, 5, top=2).axes[0])) == 2
    assert legend_of(plot_in_top(FIT_60, 5, top=2)) == ["the best 5 of the ranking"]
    (axes,) = plot_in_top(FIT_10, 10).axes
    assert len(names_on(axes)) == 10
    assert not axes.lines
    (axes,) = plot_in_top(FIT_300, 60).axes
    assert axes.get_ylabel() == "Place, best first"
    assert sum(map(len, axes.containers)) == 120


def test_agreement_counts_by_hand():
    """Ann: two of her three votes agree, and a tie counts by half; Wilson's interval of 2.5 of 4."""
    winners, voter = ["left", "left", "tie", *["left"] * 4], ["Ann"] * 4 + ["Bob"] * 3
    voters = ["Ann", "Bob", "Zoë"]
    votes = Comparisons.from_labels(list("aabcaab"), list("bccacbc"), winners, voter=voter, voters=voters)
    strengths = bradley_terry(votes, prior=1)
    assert best_first(strengths) == ["a", "b", "c"]
    result = agreement(strengths, level=0.9)
    assert list(result) == ["Ann", "Bob"]
    share, low, high = result["Ann"]
    assert share == 2.5 / 4
    z = norm.ppf(0.95)
    for end in (low, high):  # the ends are where the test of the share begins to reject
        assert_allclose(abs(share - end), z * np.sqrt(end * (1 - end) / 4))
    assert result["Bob"][0] == result["Bob"][2] == 1


VOTERS = {"Ann": (0.9, 0.8, 0.95), "Bob": (0.5, 0.4, 0.6), "Cyd": (0.7, 0.7, 0.7)}


def test_voters_are_drawn_lowest_first():
    figure = plot_voters(VOTERS, quantity="Discrimination", reference=(1, "the mean voter"))
    (axes,) = figure.axes
    assert names_on(axes) == ["Bob", "Cyd", "Ann"]
    assert_allclose(points_of(axes), [0.5, 0.7, 0.9])
    assert_allclose(ends_of(axes), [[0.4, 0.6], [0.7, 0.7], [0.8, 0.95]])
    assert axes.get_xlabel() == "Discrimination"
    assert legend_of(figure) == ["the mean voter"]
    figure = plot_voters(VOTERS, top=2)
    assert names_on(figure.axes[0]) == ["Bob", "Cyd"]
    assert title_of(figure.axes[0]) == "Votes of the lowest 2 of 3 voters"
    assert legend_of(figure) == []
    axes = new_axes()
    assert plot_voters(VOTERS, ax=axes) is axes
    (axes,) = plot_voters({f"voter {number}": (number, number, number) for number in range(150)}, top=None).axes
    assert axes.get_ylabel() == "Place, lowest first"


CURVES = {"b": ([2_000, 1_000], [0.9, 0.8], [0.01, 0.02]), "a": (1_500, 0.5, 0)}


def test_accuracy_is_drawn_against_votes():
    (axes,) = plot_accuracy(CURVES, coefficient="rho_w").axes
    first, second = axes.lines
    assert list(first.get_xdata()) == [1_000, 2_000]
    assert list(first.get_ydata()) == [0.8, 0.9]
    assert list(second.get_xdata()) == [1_500]
    assert first.get_color() != second.get_color()
    assert first.get_linestyle() != second.get_linestyle()
    vertices = axes.collections[0].get_paths()[0].vertices
    corners = {(x, round(y, 9)) for x, y in vertices.tolist()}
    assert {(1_000, 0.78), (1_000, 0.82), (2_000, 0.89), (2_000, 0.91)} <= corners
    assert axes.get_ylabel() == r"Accuracy, $\rho_w$"
    assert axes.get_xscale() == "linear"
    assert [text.get_text() for text in axes.texts] == ["b", "a"]
    assert title_of(axes) == r"$\rho_w$ of 2 approaches, by votes; bands: one standard error"
    axes = new_axes()
    assert plot_accuracy(CURVES, ax=axes) is axes
    assert plot_accuracy({"wide": ([100, 10_000], [0, 1], [0, 0])}).axes[0].get_xscale() == "log"
    few_votes = plot_accuracy({"few": ([1, 2, 3], [0, 0.5, 1], [0, 0, 0])}).axes[0].get_xticks()
    assert all(tick == int(tick) for tick in few_votes)


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda: plot_strengths(FIT_10, top=0), OptionError, "top must be a positive whole number, or None for all"),
        (lambda: plot_strengths(FIT_10, level=1), OptionError, "level must be a number above 0 and below 1; got 1"),
        (lambda: plot_strengths(FIT_10, ax=[]), OptionError, "ax must be one Axes of matplotlib"),
        (lambda: plot_strengths(borda(votes_of(3))), ModelError, "the figure is one of Strengths; got <BordaScores"),
        (lambda: plot_in_top(FIT_10, 11), ModelError, "k must be a whole number from 1 to the 10 items; got 11"),
        (lambda: plot_in_top(FIT_10, 1, seed=-1), ModelError, "seed must be a whole number of 0 or more; got -1"),
        (lambda: plot_strengths(FIT_10, scale="x"), OptionError, "scale must be one of 'strength', 'rank'; got 'x'"),
        (lambda: agreement(FIT_10, level=np.nan), OptionError, "level must be a number above 0 and below 1; got nan"),
        (lambda: agreement(ANONYMOUS), ModelError, "the voters of these votes are not known"),
        (lambda: plot_voters({}), OptionError, "voters must be a mapping of at least one name to numbers; got {}"),
        (lambda: plot_voters({"Ann": (1, 2, 3)}), OptionError, "voter 'Ann' needs a value between the ends"),
        (lambda: plot_voters({"Ann": (1, 2)}), OptionError, r"voter 'Ann' needs .*; got \(1, 2\)"),
        (lambda: plot_accuracy({}), OptionError, "curves must be a mapping of 1 to 8 approaches; got {}"),
        (lambda: plot_accuracy({"a": ([1], [1])}), OptionError, "approach 'a' needs votes, means and standard errors"),
        (lambda: plot_accuracy({"a": ([1], [1, 2], [0])}), OptionError, r"'a' needs as many .* \(1,\), \(2,\)"),
        (lambda: plot_accuracy({"a": ([0], [1], [0])}), OptionError, "approach 'a' needs positive votes"),
        (lambda: plot_accuracy({"a": ([1], [1], [-1])}), OptionError, "approach 'a' needs positive votes"),
        (lambda: plot_in_top(borda(votes_of(3)), 1), ModelError, "the figure is one of Strengths"),
    ],
)
def test_invalid_arguments_are_refused(draw, error, message):
    with pytest.raises(error, match=message):
        draw()


@pytest.mark.usefixtures("without_matplotlib")
@pytest.mark.parametrize(
    ("plot", "arguments"),
    [(plot_strengths, (FIT_10,)), (plot_in_top, (FIT_10, 1)), (plot_voters, (VOTERS,)), (plot_accuracy, (CURVES,))],
)
def test_without_matplotlib_figures_are_refused(plot, arguments):
    with pytest.raises(MissingMatplotlibError, match="figures need matplotlib"):
        plot(*arguments)


def test_strengths_of_choices_are_drawn_too():
    fit = Choices.from_rankings([["a", "b", "c"], ["a", "c", "b"]]).fit(prior=1)
    (axes,) = plot_strengths(fit).axes
    assert names_on(axes) == ["a", "b", "c"]
    assert plot_strengths(fit, scale="rank").axes


@pytest.mark.parametrize("votes", [[1e3, 9e6], [1e3, 1e12], [5e8, 7e8, 9e8], [1, 10]])
def test_numbers_of_votes_do_not_overlap(votes):
    figure = plot_accuracy({"a": (votes, np.linspace(0.5, 0.9, len(votes)), np.zeros(len(votes)))})
    figure.draw_without_rendering()
    (axes,) = figure.axes
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    low, high = axes.get_xlim()
    boxes = [label.get_window_extent() for label in labels if low <= label.get_position()[0] <= high]
    assert len(boxes) >= 2
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_one_voter_is_one():
    assert title_of(plot_voters({"Ann": (0.5, 0.4, 0.6)}).axes[0]) == "Votes of 1 voter"
