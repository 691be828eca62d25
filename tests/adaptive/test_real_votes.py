"""The protocol replayed on real votes, and benchmarks/paper.py: rows of Table 2, and the content of each figure."""

import csv
import gzip
import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import sem, ttest_1samp

from adaptive._draw import draw_ballot
from adaptive._plan import plan_ballots
from adaptive._scores import borda_scores
from adaptive._votes import LEFT, RIGHT, TIE
from adaptive.simulation._similarity import SIMILARITIES, exponential_similarity
from adaptive.simulation._simulate import simulate
from adaptive.simulation._voters import VoterPool, VoterPopulation, true_ranking
from rankcorr import Ranking, weighted_rho

HEADER = "topic,item_a,item_b,worker,vote\n"
ADAPTIVE, UNIFORM = 0, 1


@pytest.fixture(scope="module")
def benchmark(script):
    return script("replay_real_votes")


@pytest.fixture(scope="module")
def votes_file(data_dir):
    return data_dir / "ukpconvarg1_votes.csv.gz"


@pytest.fixture(scope="module")
def topics(benchmark, votes_file):
    return benchmark.read_topics(votes_file)


def write_votes(folder, *lines):
    path = folder / "votes.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(HEADER + "".join(f"{line}\n" for line in lines))
    return path


def borda_by_hand(path):
    """(wins + ties / 2) / votes of every item, by topic, as exact fractions."""
    earned, judged = defaultdict(Fraction), Counter()
    credit = {"a1": (Fraction(1), Fraction(0)), "a2": (Fraction(0), Fraction(1)), "equal": (Fraction(1, 2),) * 2}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for column, share in zip(("item_a", "item_b"), credit[row["vote"]], strict=True):
                earned[row["topic"], row[column]] += share
                judged[row["topic"], row[column]] += 1
    return {key: earned[key] / votes for key, votes in judged.items()}


# How a comparison is answered, on made-up votes


def test_either_side_of_a_pair_may_come_first(benchmark, tmp_path):
    # a > b > c > d > e by every vote; the file names the winner first in some rows and second in others.
    votes = ["t,a,b,w,a1", "t,c,a,w,a2", "t,a,d,w,a1", "t,e,a,w,a2", "t,b,c,w,a1"]
    votes += ["t,d,b,w,a2", "t,b,e,w,a1", "t,d,c,w,a2", "t,c,e,w,a1", "t,e,d,w,a2"]
    (topic,) = benchmark.read_topics(write_votes(tmp_path, *votes))
    assert topic.items == ("a", "b", "c", "d", "e")
    assert_allclose(topic.borda_scores(), [1, 0.75, 0.5, 0.25, 0])
    rng = np.random.default_rng(0)
    ballot = draw_ballot(5, 8, 1, rng)
    assert_array_equal(topic.answer(ballot, rng), np.where(ballot.left < ballot.right, LEFT, RIGHT))
    second_ballot = draw_ballot([4, 1, 2], 4, 1, rng)  # a later ballot: some of the items, in another order
    items = np.array(second_ballot.items)
    first = items[second_ballot.left] < items[second_ballot.right]
    assert_array_equal(topic.answer(second_ballot, rng), np.where(first, LEFT, RIGHT))


def test_votes_on_a_pair_are_equally_likely_and_ties_are_kept(benchmark, tmp_path):
    votes = ["t,a,b,w1,equal", "t,b,a,w2,a2", "t,a,b,w3,a2", "t,a,b,w4,equal"]  # two ties, a wins, b wins
    (topic,) = benchmark.read_topics(write_votes(tmp_path, *votes, "t,a,c,w1,a1", "t,b,c,w1,a1"))
    rng = np.random.default_rng(1)
    ballot = draw_ballot([0, 1], 4000, 1, rng)
    answers = topic.answer(ballot, rng)
    a_wins = np.where(ballot.left == 0, answers, -answers)
    shares = [(a_wins == code).mean() for code in (LEFT, TIE, RIGHT)]
    assert_allclose(shares, [0.25, 0.5, 0.25], atol=0.035)  # more than 4 standard errors of 4,000 answers


def test_votes_held_out_are_never_drawn(benchmark, tmp_path):
    numbered_votes = list(enumerate(["a1", "a2", "equal", "a1"]))
    votes = [f"t,{a},{b},w{i},{vote}" for a, b in ("ab", "cb", "ac") for i, vote in numbered_votes]
    (topic,) = benchmark.read_topics(write_votes(tmp_path, *votes))
    firsts = set()
    for seed in range(20):
        draw, rest = topic.split(1, np.random.default_rng(seed))
        assert_array_equal(draw.votes_per_pair(), [[0, 1, 1], [0, 0, 1], [0, 0, 0]])
        assert_array_equal(rest.votes_per_pair(), [[0, 3, 3], [0, 0, 3], [0, 0, 0]])
        for first, second in ((0, 1), (0, 2), (1, 2)):
            shares = [part.votes[(part.pairs == (first, second)).all(axis=1)].tolist() for part in (draw, rest, topic)]
            assert sorted(shares[0] + shares[1]) == sorted(shares[2])
        firsts.add(tuple(draw.votes.tolist()))
    assert len(firsts) > 5  # of 27


def test_topics_do_not_mix(benchmark, tmp_path):
    one, other = benchmark.read_topics(write_votes(tmp_path, "t,a,b,w,a1", "s,a,b,w,a2"))
    assert (one.name, other.name) == ("s", "t")
    assert_array_equal(one.borda_scores(), [0, 1])
    assert_array_equal(other.borda_scores(), [1, 0])


def test_a_missing_file_is_a_one_line_error(benchmark, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        benchmark.main([str(tmp_path / "none.csv.gz")])
    assert stop.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == f"there is no file of votes {tmp_path / 'none.csv.gz'}; give its path as the argument\n"


def test_the_interval_is_over_the_topics(benchmark):
    rng = np.random.default_rng(5)
    differences = rng.normal(0.1, 0.02, size=(7, 1)) + rng.normal(0, 0.3, size=(7, 40))
    result = benchmark.finding(differences)
    of_topics = differences.mean(axis=1)
    expected = ttest_1samp(of_topics, 0).confidence_interval(0.95)
    assert_allclose([result.low, result.high], [expected.low, expected.high])
    assert result.mean == pytest.approx(of_topics.mean())
    assert result.n_better == sum(of_topics > 0)
    # The error of the repetitions is that of a mean of independent means.
    assert result.simulation_error == pytest.approx(np.sqrt(sum(sem(of_topic) ** 2 for of_topic in differences)) / 7)


def test_the_error_of_one_repetition_is_unknown(benchmark):
    assert np.isnan(benchmark.finding(np.array([[0.1], [0.3]])).simulation_error)


@pytest.mark.parametrize(
    ("differences", "better"),
    [([0.1, 0.2, 0.15], "adaptive"), ([-0.1, -0.2, -0.15], "uniform"), ([-0.1, 0.1, 0.3], "unclear")],
)
def test_an_interval_that_holds_0_is_unclear(benchmark, differences, better):
    assert benchmark.finding(np.array(differences)[:, None]).better == better


def test_breaking_ties_at_random_keeps_the_order_of_untied_items(benchmark):
    ranking, rng = Ranking.from_ranks([2.5, 1, 2.5, 4]), np.random.default_rng(2)
    result = {tuple(benchmark.ties_at_random(ranking, rng).ranks.tolist()) for _ in range(50)}
    assert result == {(2, 1, 3, 4), (3, 1, 2, 4)}


def test_the_same_figures_with_any_number_of_workers(benchmark, tmp_path, capsys, monkeypatch):
    pairs = [(a, b) for a in "abcdef" for b in "abcdef" if a < b]
    votes = [
        f"{topic},{a},{b},w{i},{vote}"
        for topic in "st"
        for a, b in pairs
        for i, vote in enumerate(["a1", "a2" if topic == "s" else "a1", "equal", "a1"])
    ]
    steps = []

    @contextmanager
    def bar(total, unit, _of):
        steps.append((total, unit))
        yield steps.append

    monkeypatch.setattr(benchmark, "progress_bar", bar)
    monkeypatch.setattr(benchmark, "ProcessPoolExecutor", lambda number, _: ThreadPoolExecutor(number))
    monkeypatch.setattr(benchmark, "LARGEST_TASK", 2)
    arguments = [str(write_votes(tmp_path, *votes)), "--repetitions", "5", "--ballots", "2", "--presentations", "4"]
    printed = []
    for more in ([], ["--workers", "2"], ["--seed", "1"]):
        benchmark.main([*arguments, *more])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert printed[0] != printed[2]
    assert steps == 3 * [(20, "replay"), *4 * [2, 2, 1]]


# The real votes


@pytest.mark.real_data
def test_every_pair_of_every_topic_is_judged(topics):
    assert len(topics) == 16
    assert sum(topic.votes.size for topic in topics) == 41_750
    assert {min(topic.n_items for topic in topics), max(topic.n_items for topic in topics)} == {25, 35}
    for topic in topics:
        above = np.triu_indices(topic.n_items, 1)
        counts = topic.votes_per_pair()
        assert set(counts[above].tolist()) == {4, 5}
        assert counts.sum() == counts[above].sum() == topic.votes.size
    ties = sum(int((topic.votes == TIE).sum()) for topic in topics)
    assert ties / 41_750 == pytest.approx(0.23, abs=0.005)  # data/README.md: 23 %


@pytest.mark.real_data
def test_gold_scores_are_those_of_an_independent_count(topics, votes_file):
    by_hand = borda_by_hand(votes_file)
    assert len(by_hand) == sum(topic.n_items for topic in topics)
    levels = {score: level for level, score in enumerate(sorted(set(by_hand.values())))}
    for topic in topics:
        expected = [float(by_hand[topic.name, item]) for item in topic.items]
        assert_allclose(topic.borda_scores(), expected, rtol=0, atol=1e-12)
        # Scores that are equal as fractions must tie: one rounding error would order them.
        exact = Ranking.from_scores([levels[by_hand[topic.name, item]] for item in topic.items])
        assert_array_equal(Ranking.from_scores(topic.borda_scores()).ranks, exact.ranks)


@pytest.mark.real_data
def test_many_presentations_approach_the_ranking_by_all_votes(topics):
    rng = np.random.default_rng(3)
    for topic in topics[:4]:
        ballot = draw_ballot(topic.n_items, 40 * (topic.n_items - 1), 1, rng)  # each pair 40 times
        scores = borda_scores(ballot, topic.answer(ballot, rng))
        # A score has 40 (n - 1) answers, each with a deviation of at most 1/2: 5 standard errors. Pairs of 4 votes
        # count as much as those of 5 here, and less in the gold scores.
        assert_allclose(scores, topic.borda_scores(), atol=2.5 / np.sqrt(40 * (topic.n_items - 1)) + 0.01)
        assert weighted_rho(topic.borda_scores(), scores).statistic > 0.95


@pytest.mark.wide
@pytest.mark.real_data
def test_all_topics_are_replayed_at_equal_cost(benchmark, topics):
    plans = [plan_ballots(topic.n_items, n_ballots=3, fraction=0.5, presentations=10) for topic in topics]
    for topic, plan in zip(topics, plans, strict=True):
        uniform_cost = -(-benchmark.uniform_presentations(plan) * topic.n_items // 2)
        assert uniform_cost == pytest.approx(plan.n_comparisons, rel=0.03)
    of_all, held_out = (
        benchmark.replay_all(benchmark.tasks_of(topics, plans, 8, 1, hold_out=hold_out), None, lambda _: None)
        for hold_out in (False, True)
    )
    assert of_all.shape == held_out.shape == (16, 8, 2, 2, 4)
    assert np.abs(of_all).max() <= 1
    # Well above chance, which is about -0.3 in rho_w and tau_w; below 1, because only a tenth of the votes is drawn.
    assert of_all.mean(axis=1).min() > 0
    assert of_all.mean(axis=1).max() < 0.99
    means, means_held_out = of_all.mean(axis=(0, 1)), held_out.mean(axis=(0, 1))
    for values, least in zip(np.moveaxis(means, 2, 0), (0.75, 0.5, 0.75, 0.55), strict=True):
        assert least < values.min() <= values.max() < 0.95
    assert means_held_out.max() < means.max()  # the drawn votes are no longer part of the gold ranking
    assert means_held_out.min() > 0.4
    # 800 repetitions are conclusive: the whole list is ranked worse in every topic.
    rho, tau = (held_out[:, :, 0, ADAPTIVE] - held_out[:, :, 0, UNIFORM]).mean(axis=1).T[2:]
    assert max(rho.mean(), tau.mean()) < -0.02


@pytest.mark.real_data
def test_the_printed_table_has_the_differences(benchmark, votes_file, topics, capsys):
    benchmark.main([str(votes_file), "--repetitions", "1"])
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    rows = [cells for cells in rows if cells[0] not in {"---", "coefficient"}]
    assert [cells[:2] for cells in rows[:16]] == 2 * [
        [name, ties] for ties in ("mid-ranks", "at random") for name in ("rho_w", "tau_w", "rho", "tau")
    ]
    for cells in rows[:16]:
        adaptive, uniform, difference = map(float, cells[2:5])
        assert difference == pytest.approx(adaptive - uniform, abs=1.6e-4)
        assert re.fullmatch(r"[+-]0\.\d{4} to [+-]0\.\d{4}", cells[5])
        assert re.fullmatch(r"\d+ of 16", cells[7])
    by_topic = rows[17:]
    assert [cells[0] for cells in by_topic] == [topic.name[:40] for topic in topics]
    means = np.mean([[float(cell) for cell in cells[3:]] for cells in by_topic], axis=0)
    assert_allclose(means, [float(cells[4]) for cells in rows[:4]], atol=1.1e-4)


COEFFICIENTS = ["rho_w", "tau_w", "rho", "tau"]
N_ITEMS = 130
NAMES = [f"figure_{number}.{form}" for number in (2, 3, 4) for form in ("png", "svg")]


@pytest.fixture(scope="module")
def paper(script):
    return script("paper")


@pytest.fixture
def small_paper(paper, monkeypatch):
    """Reduce the table to 130 items; nothing else differs from the paper's."""
    monkeypatch.setattr(paper, "N_ITEMS", N_ITEMS)
    return paper


def row(similarity, n_simulations, seed):
    plan = plan_ballots(similarity.size, n_ballots=7, fraction=0.5, presentations=20)
    return simulate(plan, VoterPopulation(), similarity, n_simulations=n_simulations, seed=seed).to_dict()


def to_dicts(table):
    return {name: result.to_dict() for name, result in table.items()}


@pytest.mark.wide
def test_rows_are_those_of_simulate(small_paper):
    seeds = small_paper.row_seeds(4)
    expected = {name: row(similarity(N_ITEMS), 2, seeds[name]) for name, similarity in SIMILARITIES.items()}
    assert to_dicts(small_paper.table2(n_simulations=2, seed=4)) == expected


@pytest.mark.wide
def test_rows_are_independent_experiments(small_paper):
    # With one seed for all rows, answers to the uniform ballots would correlate by .9 and more.
    results = small_paper.table2(n_simulations=60, seed=4).values()
    values = [result.statistics["uniform"]["tau_w"] for result in results]
    correlations = np.corrcoef(values)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 0.4  # 3 standard errors, 1 / sqrt(60) each


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize("n_simulations", [3, pytest.param(20, marks=pytest.mark.figures)])
def test_adaptive_orders_the_top_better_in_the_papers_setting(paper, n_simulations):
    plan = plan_ballots(paper.N_ITEMS, n_ballots=7, fraction=0.5, presentations=20)
    assert (plan.n_items, plan.n_comparisons) == (990, 19_660)  # Eq. 3
    for result in paper.table2(n_simulations=n_simulations, seed=1).values():
        for coefficient in ("rho_w", "tau_w"):
            assert result.mean["adaptive"][coefficient] > result.mean["uniform"][coefficient]


@pytest.mark.wide
def test_an_embedding_of_another_size(small_paper):
    cosines = np.linspace(0.9, -0.3, 150)
    table = to_dicts(small_paper.table2(n_simulations=2, seed=4, embedding=cosines.tolist()))
    assert table["embedding"] == row(cosines, 2, small_paper.row_seeds(4)["embedding"])
    assert table["exponential"] == row(exponential_similarity(N_ITEMS), 2, small_paper.row_seeds(4)["exponential"])


@pytest.mark.wide
def test_an_executor_gives_the_same_numbers(small_paper):
    with ThreadPoolExecutor(2) as executor:
        parallel = small_paper.table2(n_simulations=4, seed=4, executor=executor)
    assert to_dicts(parallel) == to_dicts(small_paper.table2(n_simulations=4, seed=4))


@pytest.mark.wide
def test_text_has_mean_and_deviation_of_each_cell(small_paper):
    table = small_paper.table2(n_simulations=3, seed=4)
    text = small_paper.table_text(table)
    header, *lines = [re.split(r" {2,}", line) for line in text.splitlines()]
    assert header == ["similarity", "approach", *COEFFICIENTS]
    assert lines == [
        [name, approach, *("{mean:.4f} +- {sd:.4f} ({se:.4f})".format(**cells[c]) for c in COEFFICIENTS)]
        for name, approaches in to_dicts(table).items()
        for approach, cells in approaches.items()
    ]
    assert len({len(line) for line in text.splitlines()}) == 1
    assert "+- nan" in small_paper.table_text(small_paper.table2(n_simulations=1, seed=4))


@pytest.fixture(scope="module")
def result(paper):
    pytest.importorskip("matplotlib").use("Agg")
    pool = VoterPool(np.full(20, 0.1), np.full(20, 0.01))
    return paper.simulate_protocol(pool, exponential_similarity(N_ITEMS), np.random.default_rng(1))


@pytest.fixture(scope="module")
def figure_files(paper, tmp_path_factory):
    """The files of seed 1, in a new folder."""
    pytest.importorskip("matplotlib").use("Agg")
    return paper.write_figures(tmp_path_factory.mktemp("figures") / "new" / "folder", seed=1, n_items=N_ITEMS)


@pytest.mark.wide
def test_figure_2_has_every_item_of_ballot_2_and_the_fitted_line(paper, result):
    (axes,) = paper.draw_rescaling(result).axes
    (points,) = axes.collections
    second = result.ballots[1]
    before = dict(zip(result.ballots[0].items, result.ballots[0].x, strict=True))
    expected = sorted(zip(second.x, (before[item] for item in second.items), strict=True))
    times = np.round(points.get_sizes() / points.get_sizes().min()).astype(int)
    repeated = np.repeat(points.get_offsets().data, times, 0)
    assert_allclose(repeated, expected)
    (line,) = axes.lines
    x, y = line.get_data()
    # Eq. 6, by its sums.
    mean = np.array([before[item] for item in second.items])
    slope = np.sum((1 - second.x) * (1 - mean)) / np.sum((1 - second.x) ** 2)
    assert_allclose(y, 1 - slope + slope * np.asarray(x))


@pytest.mark.wide
def test_figure_3_distinguishes_three_similarities_and_relatedness_without_colour(paper):
    pytest.importorskip("matplotlib")
    similarities = {name: distribution(N_ITEMS) for name, distribution in SIMILARITIES.items()}
    (axes,) = paper.draw_similarities(similarities).axes
    lines = axes.lines[:3]
    for line, values in zip(lines, similarities.values(), strict=True):
        assert_array_equal(line.get_ydata(), values)
    related = axes.lines[3]
    assert_array_equal(related.get_ydata(), sorted(np.abs(similarities["embedding"]), reverse=True))
    names = ["exponential", "power law", "embedding", "relatedness of pairs of one semantic area"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    assert len({line.get_linestyle() for line in lines}) == 3
    assert len({line.get_marker() for line in (*lines, related)}) == 4


@pytest.mark.wide
def test_figure_4_has_the_scores_of_five_ballots_and_the_final_ones(paper, result):
    gold = true_ranking(exponential_similarity(N_ITEMS))
    panels = paper.draw_scores(result, gold).axes
    series = [line for axes in panels for line in axes.lines]
    assert len(panels) == len(series) == len({line.get_marker() for line in series}) == 6
    for line, record in zip(series[:5], result.ballots[:5], strict=True):
        assert_array_equal(line.get_xdata(), gold.ranks[list(record.items)])
        assert_array_equal(line.get_ydata(), record.x)
    assert_array_equal(series[5].get_xdata(), gold.ranks)
    assert_array_equal(series[5].get_ydata(), result.ybar)
    # Nothing is cut off, and the panels have the same scales.
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
    low, high = panels[0].get_xlim()
    assert low < gold.ranks.min() <= gold.ranks.max() < high


@pytest.mark.wide
def test_files_are_complete_with_labels_as_text(figure_files):
    assert [path.name for path in figure_files] == NAMES
    assert sorted(path.name for path in figure_files[0].parent.iterdir()) == NAMES  # no temporary files are left
    for path in figure_files[::2]:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert data.endswith(b"IEND\xaeB`\x82")
    tag = "{http://www.w3.org/2000/svg}text"
    figure_2, figure_3, figure_4 = ({text.text for text in ET.parse(path).iter(tag)} for path in figure_files[1::2])
    assert {"Score in ballot 2, x⁽²⁾", "Score after ballot 1, ȳ⁽¹⁾"} <= figure_2
    assert {"Item, most similar first", "exponential", "power law", "embedding"} <= figure_3
    assert {"Similarity z, relatedness |z|", "relatedness of pairs of one semantic area"} <= figure_3
    assert {"True rank", "Score", "x⁽¹⁾, 130 items", "x⁽⁵⁾, 8 items", "final ȳ, 130 items"} <= figure_4


@pytest.mark.wide
def test_the_seed_determines_the_files(paper, tmp_path, figure_files):
    other = paper.write_figures(tmp_path / "2", seed=2, n_items=N_ITEMS)
    again = paper.write_figures(tmp_path / "1", seed=1, n_items=N_ITEMS)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in figure_files]
    same = [a.read_bytes() == b.read_bytes() for a, b in zip(figure_files, other, strict=True)]
    assert same == [False, False, True, True, False, False]
