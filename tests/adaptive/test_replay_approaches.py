"""Every approach replayed on recorded votes: none is drawn twice, and none of those held out."""

from itertools import combinations

import numpy as np
import pytest

from adaptive._draw import draw_ballot
from adaptive._votes import LEFT, UNANSWERED
from rankcorr import Ranking


@pytest.fixture(scope="module")
def benchmark(script):
    return script("replay_approaches")


@pytest.fixture
def topic(benchmark):
    """12 items, five votes on each pair, all for the item that comes first but one."""
    pairs = np.repeat(list(combinations(range(12), 2)), 5, axis=0)
    votes = np.tile(np.array([LEFT, LEFT, LEFT, LEFT, -LEFT], np.int8), len(pairs) // 5)
    return benchmark.Topic("t", tuple("abcdefghijkl"), pairs, votes)


def test_each_vote_is_drawn_once(benchmark, topic):
    urn = benchmark.Urn(topic, np.random.default_rng(1))
    ballots = [draw_ballot(12, 11, 1, np.random.default_rng(k)) for k in range(5)]  # every pair once
    answers = [urn.answer(ballot) * np.where(ballot.left < ballot.right, 1, -1).astype(np.int8) for ballot in ballots]
    assert sum(int((given == LEFT).sum()) for given in answers) == 4 * 66
    assert sum(int((given == -LEFT).sum()) for given in answers) == 66
    assert urn.comparisons().n_comparisons == topic.votes.size
    with pytest.raises(benchmark.SpentError):
        urn.answer(ballots[0])
    assert (urn.asked[-1][1] == UNANSWERED).all()


@pytest.mark.needs_numba
@pytest.mark.parametrize("voting", ["uniform", "adaptive", "matched ballots", "matched"])
def test_every_voting_ranks_by_votes_that_can_be_drawn(benchmark, topic, voting):
    drawn, held_out = topic.split(benchmark.N_DRAWN, np.random.default_rng(2))
    assert drawn.votes.size + held_out.votes.size == topic.votes.size
    budgets = (40, 120, 190)
    found = benchmark.rankings(drawn, voting, budgets, 3)
    for budget, (by_borda, by_strength, n_votes) in zip(budgets, found, strict=True):
        assert 0 < n_votes <= min(budget, drawn.votes.size)
        assert isinstance(by_borda, Ranking)
        assert by_strength.n_items == 12
    assert np.corrcoef(found[-1][1].ranks, np.arange(12))[0, 1] > 0.8


@pytest.mark.needs_numba
def test_a_task_has_a_figure_for_each_approach(benchmark, topic):
    values, used = benchmark.Task(topic, np.random.SeedSequence(5))()
    assert values.shape == (4, 2, 4, 4)
    assert np.isfinite(values).all()
    assert (used <= np.array(benchmark.SHARES) + 0.01).all()
    again, _ = benchmark.Task(topic, np.random.SeedSequence(5))()
    np.testing.assert_array_equal(values, again)


def test_without_the_file_the_script_says_so(benchmark, tmp_path, capsys):
    with pytest.raises(SystemExit):
        benchmark.main([str(tmp_path / "none.csv.gz")])
    assert "there is no file of votes" in capsys.readouterr().err
