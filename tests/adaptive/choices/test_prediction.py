"""Prediction-powered strengths are those of the definition, and the judge's bias does not reach them."""

from dataclasses import replace

import numpy as np
import pytest

from adaptive import ChoiceAnswers, Choices, prediction_powered, read_choices
from adaptive.errors import ModelError


def logistic_fit(left, right, is_left, n_items):
    """Naive Bradley-Terry by Newton's method: strengths with mean 0, and what each vote moves them."""
    design = np.zeros((left.size, n_items))
    design[np.arange(left.size), left] += 1
    design[np.arange(left.size), right] -= 1
    theta = np.zeros(n_items)
    for _ in range(100):
        share = 1 / (1 + np.exp(-design @ theta))
        information = design.T @ (design * (share * (1 - share))[:, None]) + 1 / n_items
        theta = theta + np.linalg.solve(information, design.T @ (is_left - share))
    moves = (design * (is_left - share)[:, None]) @ np.linalg.inv(information)
    return theta - theta.mean(), moves - moves.mean(axis=1, keepdims=True)


def votes(seed, n_prompts=300, n_items=5, agreement=0.85):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, n_prompts)
    right = (left + rng.integers(1, n_items, n_prompts)) % n_items
    people = rng.logistic(size=n_prompts) < (right - left) / 2
    machine = np.where(rng.random(n_prompts) < agreement, people, ~people)
    return left, right, people, machine


def choices(left, right, is_left, items=range(5)):
    return Choices.from_grades(items, left, right, np.where(is_left, 1, -1))


@pytest.mark.parametrize(("seed", "agreement"), [(0, 0.85), (1, 1.0), (2, 0.5), (3, 0.0)])
def test_estimate_weight_and_covariance_are_those_of_the_definition(seed, agreement):
    left, right, people, machine = votes(seed, agreement=agreement)
    labelled = np.random.default_rng(seed).permutation(300)[:120]
    human = choices(left[labelled], right[labelled], people[labelled])
    both = prediction_powered(human, choices(left, right, machine), labelled.tolist(), list(range(300)))
    theta, moves = np.zeros((3, 5)), np.zeros((3, 300, 5))
    for number, (rows, answers) in enumerate(((labelled, people), (np.arange(300), machine), (labelled, machine))):
        theta[number], moves[number][rows] = logistic_fit(left[rows], right[rows], answers[rows], 5)
    difference = moves[1] - moves[2]
    weight = min(1.0, max(0.0, -(moves[0] * difference).sum() / (difference**2).sum()))
    influence = moves[0] + weight * difference
    assert both.weight == pytest.approx(weight, abs=1e-9)
    assert both.theta == pytest.approx(theta[0] + weight * (theta[1] - theta[2]), abs=1e-8)
    assert both.covariance == pytest.approx(120 / 119 * influence.T @ influence, abs=1e-8)
    assert both.standard_errors == pytest.approx(np.sqrt(np.diagonal(both.covariance)), abs=1e-12)
    assert (both.n_prompts, both.n_events, both.human.n_events) == (120, 120, 120)


def test_votes_of_a_prompt_belong_together():
    """Repeating the votes on each prompt adds no information."""
    left, right, people, machine = votes(6)
    rows = np.concatenate([np.arange(100), np.arange(100)])
    single = prediction_powered(
        choices(left[:100], right[:100], people[:100]), choices(left, right, machine), range(100), range(300)
    )
    repeated = prediction_powered(
        choices(left[rows], right[rows], people[rows]), choices(left, right, machine), rows.tolist(), range(300)
    )
    assert repeated.theta == pytest.approx(single.theta, abs=1e-8)
    assert repeated.standard_errors == pytest.approx(single.standard_errors, abs=1e-8)


def test_items_in_another_order_and_other_prompts():
    left, right, people, machine = votes(7)
    human = choices(left[:100], right[:100], people[:100])
    judge = choices(left, right, machine)
    order = [3, 1, 4, 0, 2]
    place = np.argsort(order)
    turned = choices(place[left], place[right], machine, items=order)
    expected = prediction_powered(human, judge, range(100), range(300))
    both = prediction_powered(human, turned, range(100), range(300))
    assert both.theta == pytest.approx(expected.theta, abs=1e-9)
    # Prompts with votes of people only count for people.
    alone = prediction_powered(human, choices(left[50:], right[50:], machine[50:]), range(100), range(50, 300))
    assert alone.n_prompts == 50
    assert alone.better(0, 4).probability > 0.9


def test_prompts_come_with_the_answers_and_ambiguous_ones_are_noted():
    left, right, people, machine = votes(8)
    sides = [("abcde"[i], "abcde"[j]) for i, j in zip(left, right, strict=True)]
    rows = [(*pair, "left" if wins else "right") for pair, wins in zip(sides, machine, strict=True)]
    of_people = [(*pair, "left" if wins else "right") for pair, wins in zip(sides, people, strict=True)][:60]

    def answers(rows, prompts):
        return ChoiceAnswers("pairs", tuple(rows), np.ones(len(rows)), prompts=tuple(prompts))

    human, judge = answers(of_people, range(60)), answers(rows, range(300))
    both = prediction_powered(human, judge)
    assert both.warnings == ()
    expected = prediction_powered(human.choices(), judge.choices(), range(60), range(300))
    assert both.theta.tolist() == expected.theta.tolist()
    assert repr(both).startswith(
        "<PredictionPoweredStrengths of 60 choices of people and 300 of a judge with weight 0."
    )
    few = prediction_powered(human.select(range(9)), judge, prior=1)
    assert "only 9 prompts have votes" in "".join(few.warnings)
    assert "prompts have votes" not in "".join(prediction_powered(human.select(range(10)), judge, prior=1).warnings)
    other = [place for place in range(300) if set(rows[place][:2]) == {"a", "b"}]
    places_of_other_pairs = [place for place in range(60) if set(of_people[place][:2]) != {"a", "b"}][: len(other)]
    mixed = prediction_powered(human.select(places_of_other_pairs), judge, other[: len(places_of_other_pairs)], prior=1)
    assert "people and the judge compare different items on every prompt" in mixed.warnings[-1]
    with pytest.raises(ModelError, match=r"answers need a column prompt \(in Python, choices need human_prompts\)"):
        prediction_powered(human.choices(), judge)
    with pytest.raises(ModelError, match="human must have votes on pairs or grades; got <ChoiceAnswers: 1 ranking "):
        prediction_powered(ChoiceAnswers("rankings", ((("a",), ("b",)),), np.ones(1)), judge)


def test_prompts_without_an_answer_of_people_are_labelled():
    """People leave out the prompts of their favourite pair, so the answered prompts are not a random sample."""
    left, right, people, machine = votes(10)
    sides = [("abcde"[i], "abcde"[j]) for i, j in zip(left, right, strict=True)]
    winners = ["left" if wins else "right" for wins in people]
    winners = ["both bad" if {"a", "e"} == set(pair) else winner for pair, winner in zip(sides, winners, strict=True)]
    human = ChoiceAnswers(
        "pairs",
        tuple((*pair, winner) for pair, winner in zip(sides[:120], winners, strict=False)),
        np.ones(120),
        prompts=tuple(range(120)),
    )
    rows = tuple((*pair, "left" if wins else "right") for pair, wins in zip(sides, machine, strict=True))
    judge = ChoiceAnswers("pairs", rows, np.ones(300), prompts=tuple(range(300)))
    decided = human.without_both_bad()
    is_decided = np.array([winner != "both bad" for winner in winners[:120]])
    assert 0 < decided.n_unanswered == (~is_decided).sum()
    both = prediction_powered(decided, judge)
    fits = [logistic_fit(left[:n], right[:n], machine[:n], 5)[0] for n in (300, 120)]
    decided_places = np.flatnonzero(is_decided)
    alone = logistic_fit(left[decided_places], right[decided_places], people[decided_places], 5)[0]
    assert both.weight > 0.1
    order = np.argsort(both.items)
    assert both.theta[order] == pytest.approx(alone + both.weight * (fits[0] - fits[1]), abs=1e-8)
    empty = [
        {"left": one, "right": two, "winner": "" if winner == "both bad" else winner, "prompt": prompt}
        for prompt, (one, two, winner) in enumerate(human.rows)
    ]
    assert prediction_powered(read_choices(empty), judge).theta.tolist() == both.theta.tolist()


def test_with_a_prior_errors_at_weight_0_are_those_of_people_by_prompt():
    left, right, people, machine = votes(11)
    human = choices(left[:60], right[:60], people[:60])
    judge = choices(left[:60], right[:60], machine[:60])
    both = prediction_powered(human, judge, range(60), range(60), prior=1)
    assert both.weight == 0
    fit = human.fit(prior=1)
    scores, inverse = human.scores_at(fit, 1)
    middle = 60 / 59 * scores.T @ scores + np.eye(5)
    centring = np.eye(5) - 0.2
    assert both.covariance == pytest.approx(centring @ inverse @ middle @ inverse @ centring, abs=1e-10)


@pytest.mark.parametrize("n_ties", [0, 3])
def test_a_judge_who_ties_on_no_prompt_of_people(n_ties):
    """Its ties on other prompts are not comparable, so they and the outcome are left out."""
    left, right, people, machine = votes(12)
    grades = np.where(machine, 1, -1)
    grades[300 - n_ties :] = 0
    judge = Choices.from_grades(range(5), left, right, grades)
    both = prediction_powered(choices(left[:100], right[:100], people[:100]), judge, range(100), range(300))
    decided = slice(300 - n_ties)
    expected = prediction_powered(
        choices(left[:100], right[:100], people[:100]),
        choices(left[decided], right[decided], machine[decided]),
        range(100),
        range(300)[decided],
    )
    assert both.theta == pytest.approx(expected.theta, abs=1e-9)
    assert both.standard_errors == pytest.approx(expected.standard_errors, abs=1e-9)


def test_a_number_in_json_is_a_text_in_csv():
    left, right, people, machine = votes(13)
    rows = [
        [
            {"left": str(i), "right": str(j), "winner": "left" if wins else "right", "prompt": name(prompt)}
            for prompt, (i, j, wins) in enumerate(zip(left, right, answers, strict=True))
        ]
        for answers, name in ((people, str), (machine, int))
    ]
    human, judge = read_choices(rows[0][:80]), read_choices(rows[1])
    assert prediction_powered(human, judge).n_prompts == 80
    with pytest.raises(ModelError, match="two prompts in common; they have 0; people have such as '0', and"):
        prediction_powered(human, judge.select(range(200, 300)))
    with pytest.raises(ModelError, match="there are no votes of people"):
        prediction_powered(human.select([]), judge)


def test_a_judge_without_votes_on_more_prompts_adds_nothing_and_a_note_says_so():
    left, right, people, machine = votes(9)
    human = choices(left, right, people)
    both = prediction_powered(human, choices(left, right, machine), range(300), range(300))
    assert (both.weight, both.theta.tolist()) == (0.0, both.human.theta.tolist())
    assert "people voted on all prompts of the judge, which therefore adds nothing" in both.warnings[-1]


@pytest.mark.parametrize(("tied", "where"), [(range(80), ""), (range(40), " on prompts of people")])
def test_a_judge_who_only_ties_is_named(tied, where):
    sides = [("a", "b", "c")[n % 3] + ("b", "c", "a")[n % 3] for n in range(80)]
    answers = {voter: ["left" if n % 5 else "right" for n in range(80)] for voter in ("Ann", "gpt")}
    answers["gpt"] = ["tie" if n in tied else winner for n, winner in enumerate(answers["gpt"])]
    rows = [
        {"left": pair[0], "right": pair[1], "winner": winner, "voter": voter, "prompt": n}
        for voter, winners in answers.items()
        for n, (pair, winner) in enumerate(zip(sides, winners, strict=True))
        if voter == "gpt" or n < 40
    ]
    all_answers = read_choices(rows)
    people, judge = all_answers.of_voters(["Ann"]), all_answers.of_voters(["gpt"])
    message = f"^the votes of the judge 'gpt'{where}: all answers are ties, which do not order the items"
    with pytest.raises(ModelError, match=message):
        prediction_powered(people, judge)
    with pytest.raises(ModelError, match=message.replace(" 'gpt'", "")):
        prediction_powered(people, replace(judge, voters=None))


def test_invalid_combinations_are_refused():
    left, right, people, machine = votes(8)
    human, judge = choices(left[:50], right[:50], people[:50]), choices(left, right, machine)
    other = choices(left, right, machine, items=list("abcde"))
    few = choices(left[:3], right[:3], people[:3])
    grades = np.where(people[:50], 1, -1)
    no_weight = Choices.from_grades(range(5), left[:50], right[:50], grades, weights=[0] * 50)
    for human_votes, judge_votes, human_prompts, judge_prompts, message in [
        (human, judge, range(49), range(300), "human_prompts must be 50 names, one for each vote"),
        (human, judge, 7, range(300), "human_prompts must be 50 names, one for each vote"),
        (human, judge, range(50), [[n] for n in range(300)], "judge_prompts must be text, numbers or other hashable"),
        (human, judge, [0] * 50, range(300), "must have two prompts in common; they have 1"),
        (no_weight, judge, range(50), range(300), "must have two prompts in common; they have 0"),
        (5, judge, range(50), range(300), "human must be Choices or ChoiceAnswers; got 5"),
        (human, other, range(50), range(300), r"the same items; people lack 'a', .*, the judge lacks 0, 1, 2"),
        (few, judge, range(3), range(300), "the votes of people: without a prior some strengths are infinite"),
    ]:
        with pytest.raises(ModelError, match=message):
            prediction_powered(human_votes, judge_votes, human_prompts, judge_prompts)


VOTES = [("a", "b", "left"), ("b", "c", "left"), ("c", "a", "left"), ("a", "c", "left"), ("c", "b", "left")]


@pytest.mark.parametrize(
    ("names", "weights", "basis"),
    [
        (None, [1] * 5, "5 votes"),
        (None, [2, 3, 1, 1, 1], "8 votes"),
        (None, [0.5, 1, 1, 1, 1], "5 votes"),
        (["Ann"] * 5, [1] * 5, "5 votes of Ann"),
        (["Ann", "Ann", "Bob", "Bob", "Cem"], [1] * 5, "5 votes of 3 voters"),
        (["J", "J", "J", "Bob", "Cem"], [1] * 5, "5 votes of 3 voters (60 % of J)"),
    ],
)
def test_titles_name_whose_answers_were_ranked(names, weights, basis):
    answers = ChoiceAnswers("pairs", tuple(VOTES), np.array(weights, float), voters=names and tuple(names))
    assert answers.choices().fit(prior=1).basis == basis


def test_titles_name_the_judge_beside_people():
    left, right, people, machine = votes(9)
    human, judge = choices(left[:60], right[:60], people[:60]), choices(left, right, machine)
    both = prediction_powered(human, judge, range(60), range(300))
    assert both.basis == "60 graded votes of people and 300 graded votes of the judge"
    rows = [
        {"left": str(i), "right": str(j), "winner": "left" if wins else "right", "voter": voter, "prompt": prompt}
        for voter, answers, number in (("gpt-4", machine, 300), ("Ann", people, 30), ("Bob", people, 60))
        for prompt, (i, j, wins) in enumerate(zip(left[:number], right[:number], answers[:number], strict=True))
    ]
    answers = read_choices(rows)
    both = prediction_powered(answers.of_voters(["gpt-4"], others=True), answers.of_voters(["gpt-4"]))
    assert both.basis == "90 votes of 2 voters (66 % of Bob) and 300 votes of gpt-4"
