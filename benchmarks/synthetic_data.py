"""Write the synthetic files of rankcorr.datasets: random numbers on real words, so that examples can be read.

Run it from the root of the repository. Each set has a separate generator, so a change of one does not affect others.
"""

import csv
from itertools import combinations, product
from pathlib import Path

import numpy as np

from rankcorr.vectors import TargetGroups

FOLDER = Path(__file__).resolve().parents[1] / "rankcorr/datasets/synthetic"

# Words by kind and by theme; "-" for none.
THEMES = ("farm", "sea", "kitchen", "city", "forest", "hospital", "music", "sport")
KINDS = {
    "animal": "cow,hen fish,whale mouse,cat pigeon,rat fox,owl leech,moth cricket,swan horse,greyhound",
    "food": "milk,egg salmon,shrimp bread,soup pizza,kebab mushroom,berry broth,porridge toffee,popcorn banana,oats",
    "tool": "plough,rake net,anchor spoon,knife drill,wrench axe,saw scalpel,syringe baton,metronome whistle,stopwatch",
    "person": "farmer,shepherd sailor,diver cook,baker mayor,clerk hunter,ranger nurse,vet singer,drummer goalie,pro",
    "place": "barn,meadow harbour,reef pantry,cellar street,square glade,cave ward,clinic stage,studio stadium,gym",
    "vehicle": "tractor,cart ferry,canoe trolley,van tram,taxi sledge,jeep ambulance,pram carriage,float kayak,bicycle",
    "plant": "wheat,clover seaweed,kelp basil,onion linden,ivy oak,fern aloe,poppy reed,willow turf,palm",
    "garment": "overall,boots wetsuit,oilskin apron,mitten suit,scarf cloak,gaiters gown,mask tuxedo,tie jersey,shorts",
}

CANDIDATES = """
singer: musician performer artist person | song microphone | laptop
apple: fruit food plant | cider pie | bishop
car: vehicle machine object | wheel road | onion
violin: instrument device object | bow concert | swamp
sparrow: bird animal creature | nest feather | invoice
oak: tree plant organism | acorn forest | keyboard
surgeon: doctor professional person | scalpel hospital | pumpkin
hammer: tool implement object | nail carpenter | river
salmon: fish animal creature | river net | trumpet
sofa: seat furniture object | cushion lounge | glacier
ferry: ship vessel vehicle | harbour captain | pepper
waltz: dance art activity | ballroom orchestra | tractor
copper: metal material substance | wire mine | sermon
novel: book publication work | author chapter | lizard
tennis: sport game activity | racket court | candle
cottage: house building structure | garden roof | algebra
"""


MODELS = ("gnu", "yak", "ibex", "emu", "cow", "hen", "ant", "eel")  # best first


def write_rows(name, header, rows):
    with open(FOLDER / name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([header, *rows])


def write_vectors(name, vectors):
    lines = [" ".join([word, *(f"{number:.2f}" for number in vector)]) for word, vector in vectors.items()]
    (FOLDER / name).write_text("\n".join(lines) + "\n")


def write_search():
    """Write judgements of 60 queries and three runs: `tuned` is almost `bm25`, and `dense` better on average."""
    rng = np.random.default_rng(7)
    judgements, retrieved = [], {"bm25": [], "tuned": [], "dense": []}
    for query in range(1, 61):
        relevance = rng.choice([0, 1, 2, 3], size=30, p=[0.6, 0.2, 0.12, 0.08])
        strength = rng.normal([1.0, 1.5], 0.5)
        words, meaning, change = rng.normal(size=(3, 30))
        bm25 = strength[0] * relevance + words
        dense = strength[1] * relevance + meaning
        for document in np.flatnonzero(rng.random(30) < 0.85):
            judgements.append(f"q{query} 0 d{document} {relevance[document]}\n")
        for name, scores in zip(retrieved, (bm25, bm25 + 0.3 * change, dense), strict=True):
            for rank, document in enumerate(np.argsort(-scores)[:20], start=1):
                retrieved[name].append(f"q{query} Q0 d{document} {rank} {scores[document]:.3f} {name}\n")
    (FOLDER / "qrels.txt").write_text("".join(judgements))
    for name, lines in retrieved.items():
        (FOLDER / f"{name}.run").write_text("".join(lines))


def write_words():
    """Write scores of pairs of words, and three sets of vectors: the same hidden meanings with more or less noise."""
    rng = np.random.default_rng(3)
    cells = {
        (kind, theme): cell.split(",")
        for kind, row in KINDS.items()
        for theme, cell in zip(THEMES, row.split(), strict=True)
    }
    by_kind, by_theme = ({name: rng.normal(size=20) for name in names} for names in (KINDS, THEMES))
    meaning = {
        word: by_kind[kind] + 0.7 * by_theme[theme] + 0.6 * rng.normal(size=20)
        for (kind, theme), words in cells.items()
        for word in words
    }
    kinds = {word: kind for (kind, _), words in cells.items() for word in words}
    words = list(meaning)

    def cosine(a, b):
        return a @ b / np.sqrt((a @ a) * (b @ b))

    # Similar words are of one kind; related words may be of another kind with the same theme.
    for name, n_pairs, noise, share in (("similarity", 350, 0.5, 0.0), ("relatedness", 150, 0.9, 0.8)):
        pairs = list(combinations(words, 2))
        rows = []
        for place in sorted(rng.choice(len(pairs), size=n_pairs, replace=False)):
            a, b = pairs[place]
            same = 1.0 if kinds[a] == kinds[b] else 0.75 + 0.25 * share
            score = 4 + 6 * same * max(cosine(meaning[a], meaning[b]), -0.5) + noise * rng.normal()
            rows.append([a, b, f"{min(max(score, 0), 10):.1f}"])
        write_rows(f"{name}.csv", ["word1", "word2", "score"], rows)
    absent = set(rng.choice(words, size=6, replace=False).tolist())
    for name, noise, known in (("small", 1.0, set(words) - absent), ("medium", 0.7, words), ("large", 0.4, words)):
        noisy = {word: vector + noise * rng.normal(size=20) for word, vector in meaning.items() if word in known}
        write_vectors(f"{name}.txt", noisy)


def write_battles():
    """Write battles of eight models on 150 prompts: by people, and from both sides by a program that likes length."""
    rng = np.random.default_rng(1)
    quality = dict(zip(MODELS, np.linspace(1.4, -1.4, 8), strict=True))
    wordiness = dict(zip(quality, rng.permutation(8) * 40 + 80, strict=True))
    people = [f"person {number}" for number in range(1, 13)]
    rows = []
    for prompt in range(1, 151):
        for _ in range(4):
            a, b = rng.choice(list(quality), 2, replace=False).tolist()
            tokens = {model: int(wordiness[model] * rng.lognormal(0, 0.4)) for model in (a, b)}
            judges = [
                ("program", a, b),
                ("program", b, a),
                *((person, a, b) for person in rng.choice(people, 1).tolist()),
            ]
            for judge, left, right in judges:
                taste = 0.004 * (tokens[left] - tokens[right]) + 0.4 if judge == "program" else 0.0
                margin = quality[left] - quality[right] + taste + rng.logistic()
                winner = "tie" if abs(margin) < 0.3 else "model_a" if margin > 0 else "model_b"
                rows.append([prompt, left, right, winner, judge, tokens[left], tokens[right]])
    header = ["question_id", "model_a", "model_b", "winner", "judge", "tokens_a", "tokens_b"]
    write_rows("battles.csv", header, rows)


def write_models():
    """Write scores of 20 models on 12 tasks of three groups: one quality each, tasks of different difficulty."""
    rng = np.random.default_rng(11)
    groups = {"reading": 4, "reasoning": 4, "code": 4}
    tasks = [f"{group} {number}" for group, size in groups.items() for number in range(1, size + 1)]
    quality = np.sort(rng.normal(size=20))[::-1]
    names = [
        f"{family}-{size}"
        for family, size in product(("ash", "birch", "cedar", "elm", "fir"), ("70b", "30b", "8b", "2b"))
    ]
    order = sorted(range(20), key=lambda place: (place % 4) + rng.normal(0, 0.8))  # larger models tend to be better
    ease = dict(zip(tasks, rng.normal(0.3, 0.6, size=12), strict=True))
    talent = {(place, group): rng.normal(0, 0.35) for place in range(20) for group in groups}
    rows = []
    for place, value in zip(order, quality, strict=True):
        logits = [value + ease[t] + talent[place, t.split()[0]] + rng.normal(0, 0.3) for t in tasks]
        rows.append([names[place], *(f"{100 / (1 + np.exp(-logit)):.1f}" for logit in logits)])
    write_rows("models.csv", ["model", *tasks], sorted(rows))


def write_systems():
    """Write gold scores of 100 items and those of six systems; the last one is unrelated to gold."""
    rng = np.random.default_rng(9)
    truth, common = rng.normal(size=(2, 100))  # noise that systems share
    sizes = {"large": 0.25, "medium": 0.3, "small": 0.6, "counts": 0.9, "old counts": 1.2}
    columns = [truth, *(truth + size * (0.6 * common + 0.8 * rng.normal(size=100)) for size in sizes.values())]
    columns.append(rng.normal(size=100))
    rows = [[f"item {place + 1}", *(f"{column[place]:.3f}" for column in columns)] for place in range(100)]
    write_rows("systems.csv", ["item", "gold", *sizes, "unrelated"], rows)


def write_target_groups():
    """Write 16 targets with candidates, answers of 12 annotators, one of whom answers at random, and vectors."""
    rng = np.random.default_rng(5)
    categories, votes = {}, []
    for line in CANDIDATES.split("\n")[1:-1]:
        target, lists = line.split(": ")
        parts = [part.split() for part in lists.split(" | ")]
        named = zip(("positive", "distractor", "random"), parts, strict=True)
        categories[target] = {word: category for category, part in named for word in part}
        for annotator in range(1, 13):
            share = 0.5 if annotator == 12 else 0.85
            for narrow, wide in combinations(parts[0], 2):
                better, worse = (narrow, wide) if rng.random() < share else (wide, narrow)
                votes.append((annotator, target, better, worse))
    rows = [(target, word, category) for target, group in categories.items() for word, category in group.items()]
    write_rows("candidates.csv", ["target", "candidate", "category"], rows)
    write_rows("annotations.csv", ["annotator", "target", "better", "worse"], votes)
    TargetGroups.of_votes(votes, categories).write(FOLDER / "target_groups.csv")
    vectors: dict[str, np.ndarray] = {}
    for target, group in categories.items():
        vectors[target] = rng.normal(size=20)
        for place, (word, category) in enumerate(group.items()):
            distance = {"positive": 0.6 + 0.25 * place, "distractor": 1.3, "random": 4.0}[category]
            vectors.setdefault(word, vectors[target] + distance * rng.normal(size=20))
    write_vectors("hypernyms.txt", vectors)


if __name__ == "__main__":
    for write in (write_search, write_words, write_battles, write_models, write_systems, write_target_groups):
        write()
