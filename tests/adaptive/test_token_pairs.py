"""Pairs of tokens against itertools.combinations, uniform samples, and errors in files."""

import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from adaptive._token_pairs import FewRareTokensWarning, Pairing, Token, pair_tokens, read_tokens
from adaptive.errors import TokenError
from rankcorr.errors import TableError

FRUIT = [("apple", "fruit"), ("pear", "fruit"), ("plum", "fruit"), ("oak", "tree"), ("pine", "tree")]


@st.composite
def token_lists(draw):
    """Tokens of a few areas in any order; each area has at least two."""
    sizes = draw(st.lists(st.integers(2, 8), min_size=1, max_size=5))
    rows = [(f"t{area}.{token}", f"area {area}") for area, size in enumerate(sizes) for token in range(size)]
    return draw(st.permutations(rows))


@st.composite
def overlapping_lists(draw):
    """Tokens, some of them with several areas, so a pair may have two areas; and areas with a single token."""
    rows = [(text, area) for text in "abcdef" for area in "XYZ"]
    return draw(st.lists(st.sampled_from(rows), min_size=1, unique=True))


def rng(seed=0):
    return np.random.default_rng(seed)


def naive_pairs(tokens):
    """All pairs of each area, with their area, in the order of areas and tokens."""
    areas = dict.fromkeys(area for _, area in tokens)
    return [(pair, area) for area in areas for pair in combinations([t for t, a in tokens if a == area], 2)]


# Pairs


@given(token_lists())
def test_all_pairs_of_each_area(tokens):
    pairing = pair_tokens(tokens)
    assert list(zip(pairing.items, pairing.areas, strict=True)) == naive_pairs(tokens)
    assert pairing.n_admissible == pairing.n_items == len(naive_pairs(tokens))
    assert pairing.rare is None
    assert pairing.rare_tokens is None


@given(overlapping_lists())
def test_no_pair_is_repeated(tokens):
    naive = naive_pairs(tokens)
    lonely = min(Counter(area for _, area in tokens).values()) == 1
    twice = len({frozenset(pair) for pair, _ in naive}) < len(naive)
    if lonely or twice:
        with pytest.raises(TokenError, match="has one token" if lonely else "would appear twice"):
            pair_tokens(tokens)
    else:
        assert list(zip(pair_tokens(tokens).items, pair_tokens(tokens).areas, strict=True)) == naive


@given(overlapping_lists())
def test_across_areas_any_two_tokens_are_a_pair(tokens):
    texts = list(dict.fromkeys(text for text, _ in tokens))
    assume(len(texts) > 1)
    pairing = pair_tokens(tokens, across_areas=True)
    assert pairing.items == tuple(combinations(texts, 2))
    for (left, right), area in zip(pairing.items, pairing.areas, strict=True):
        shared = {a for t, a in tokens if t == left} & {a for t, a in tokens if t == right}
        assert (area in shared) if shared else (area is None)


def test_tokens_may_come_from_an_iterator_and_as_lists():
    assert pair_tokens(iter([list(token) for token in FRUIT])) == pair_tokens([Token(*token) for token in FRUIT])


def test_a_pairing_has_a_short_repr():
    pairing = pair_tokens(FRUIT)
    assert repr(pairing) == "<Pairing of 4 pairs in 2 areas: 'apple' with 'pear', ...>"
    frequent = [(text, area, 50 if text != "plum" else 1) for text, area in FRUIT[:3]]
    sampled = pair_tokens(frequent, sample=2, rng=rng())
    assert re.fullmatch(r"<Pairing of 2 of 3 pairs in 1 area, [12] with a rare token: .*>", repr(sampled))


# Samples


@given(token_lists(), st.data(), st.booleans())
def test_a_sample_is_part_of_all_pairs_in_the_same_order(tokens, data, across_areas):
    every = pair_tokens(tokens, across_areas=across_areas)
    sample = data.draw(st.integers(1, every.n_items))
    seed = data.draw(st.integers(0, 2**32))
    pairing = pair_tokens(tokens, sample=sample, across_areas=across_areas, rng=rng(seed))
    assert pairing.n_items == len(set(pairing.items)) == sample
    assert pairing.n_admissible == every.n_items
    areas = dict(zip(every.items, every.areas, strict=True))
    assert pairing.areas == tuple(areas[pair] for pair in pairing.items)
    place = {pair: index for index, pair in enumerate(every.items)}
    assert sorted(pairing.items, key=place.__getitem__) == list(pairing.items)
    assert pair_tokens(tokens, sample=sample, across_areas=across_areas, rng=rng(seed)) == pairing
    if sample == every.n_items:
        assert pairing == every


@pytest.mark.wide
def test_every_sample_is_equally_likely():
    generator = rng(5)
    counts = Counter(pair_tokens(FRUIT, sample=2, rng=generator).items for _ in range(3000))
    assert len(counts) == 6  # 4 choose 2
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_every_pair_is_equally_likely_in_a_sample_of_a_long_list():
    tokens = [(f"t{i}", f"area {i % 3}") for i in range(450)]  # 3 * 150 * 149 / 2 = 33,525 pairs
    generator = rng(6)
    firsts = Counter(int(a[1:]) for _ in range(40) for a, _ in pair_tokens(tokens, sample=500, rng=generator).items)
    partners = [(449 - i) // 3 for i in range(450)]  # later tokens of the same area
    low = sum(count for token, count in firsts.items() if token < 150)
    expected = 20_000 * sum(partners[:150]) / sum(partners)
    assert chisquare([low, 20_000 - low], [expected, 20_000 - expected]).pvalue > 1e-3


@pytest.mark.wide
def test_a_sample_of_very_many_pairs_does_not_build_them():
    tokens = [(f"t{i}", "all") for i in range(100_000)]  # 5e9 pairs, 40 GB of indices
    pairing = pair_tokens(tokens, sample=1000, rng=rng())
    assert pairing.n_admissible == 100_000 * 99_999 // 2
    numbers = [(int(left[1:]), int(right[1:])) for left, right in pairing.items]
    assert len(set(numbers)) == 1000
    assert all(left < right for left, right in numbers)
    assert numbers == sorted(numbers)


# Rare tokens


def test_tokens_below_a_tenth_of_the_mean_frequency_are_rare():
    # The mean of 0.9, 1, 8.1 and 30 is 10: a tenth is 1.
    tokens = [("a", "X", 0.9), ("b", "X", 1.0), ("c", "X", 8.1), ("d", "X", 30.0)]
    pairing = pair_tokens(tokens)
    assert pairing.rare_tokens == ("a",)
    assert pairing.rare == tuple("a" in pair for pair in pairing.items)
    assert len(pairing.items) == 6


@given(st.lists(st.integers(0, 300), min_size=2, max_size=15))
def test_rare_tokens_with_integer_frequencies(frequencies):
    tokens = [(f"t{i}", "X", frequency) for i, frequency in enumerate(frequencies)]
    rare = [text for text, _, frequency in tokens if 10 * len(tokens) * frequency < sum(frequencies)]
    if rare:  # one of 15 is more than 5 %
        assert list(pair_tokens(tokens).rare_tokens) == rare
    else:
        with pytest.warns(FewRareTokensWarning, match=f"^0 of {len(tokens)} tokens are rare"):
            assert pair_tokens(tokens).rare_tokens == ()


def test_a_token_with_two_areas_counts_once():
    # Mean of 1, 4 and 25: 10. With 25 twice it would be 13.75, and 1 would be rare.
    tokens = [("a", "X", 1), ("b", "X", 4), ("c", "X", 25), ("c", "Y", 25), ("b", "Z", 4), ("a", "Z", 1), ("b", "Y", 4)]
    with pytest.warns(FewRareTokensWarning, match=r"^0 of 3 tokens"):
        pairing = pair_tokens(tokens, across_areas=True)
    assert pairing.rare == (False, False, False)


@pytest.mark.parametrize(("n_tokens", "warns"), [(20, False), (21, True), (40, True)])
def test_below_5_percent_rare_tokens_give_a_warning(n_tokens, warns):
    tokens = [(f"t{i}", "X", 100 if i else 1) for i in range(n_tokens)]  # one is rare
    if warns:
        with pytest.warns(FewRareTokensWarning, match=f"^1 of {n_tokens} tokens are rare") as caught:
            pair_tokens(tokens)
        assert caught[0].filename == __file__
    else:
        assert pair_tokens(tokens).rare_tokens == ("t0",)


def test_extreme_frequencies_do_not_overflow():
    assert pair_tokens([("a", "X", 1e308), ("b", "X", 1.7e308), ("c", "X", 5e-324)]).rare_tokens == ("c",)
    with pytest.warns(FewRareTokensWarning, match=r"^0 of 2"):
        pair_tokens([("a", "X", 0), ("b", "X", 0)])


# Errors


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], r"^pairs need two tokens; got none$"),
        ("apple", r"^tokens must be a list of Token or \(text, area\); got 'apple'$"),
        ([*FRUIT, ("fig",)], r"^tokens\[5\] must be a Token or \(text, area\); got \('fig',\)$"),
        ([("fig", "fruit", 1, 2)], r"^tokens\[0\] must be a Token"),
        ([*FRUIT, ("", "fruit")], r"^tokens\[5\]: the token must be a text that is not blank; got ''$"),
        ([*FRUIT, ("fig", None)], r"^tokens\[5\]: the area must be a text that is not blank; got None$"),
        ([*FRUIT, ("pear", "fruit")], r"^tokens\[5\]: 'pear' is in area 'fruit' already, by tokens\[1\]$"),
        ([*FRUIT, ("fig", "figs")], r"^area 'figs' has one token, 'fig'; a pair needs two$"),
        ([*FRUIT, ("plum", "colour"), ("rose", "colour"), ("apple", "colour")], r"twice: they share the areas"),
        ([("a", "X", 1), ("b", "X")], r"^tokens\[1\]: 'b' has no frequency, while others have one$"),
        ([("a", "X", 1), ("a", "Y", 2)], r"^tokens\[1\]: 'a' has two frequencies, 1 by tokens\[0\] and 2 here; it"),
    ],
)
def test_tokens_without_pairs_are_refused(tokens, message):
    with pytest.raises(TokenError, match=message):
        pair_tokens(tokens)


@pytest.mark.parametrize("frequency", [-1, -1e-9, np.nan, np.inf, -np.inf, "5", True, 10**400, 1j])
def test_frequencies_are_finite_and_not_negative(frequency):
    with pytest.raises(TokenError, match=r"^tokens\[1\]: the frequency must be a finite number of 0 or more; got "):
        pair_tokens([("a", "X", 1), ("b", "X", frequency)])


@pytest.mark.parametrize("sample", [0, -1, 5, 10**30, 2.0, True, "2", np.nan])
def test_the_sample_is_one_of_the_possible_sizes(sample):
    with pytest.raises(TokenError, match=r"^sample must be an integer from 1 to the number of pairs, 4; got "):
        pair_tokens(FRUIT, sample=sample, rng=rng())


@pytest.mark.parametrize("wrong", [None, 5, np.random.RandomState(5)], ids=["none", "seed", "legacy"])
def test_a_sample_needs_a_generator(wrong):
    with pytest.raises(TokenError, match=r"^a sample needs rng, a numpy\.random\.Generator; got "):
        pair_tokens(FRUIT, sample=2, rng=wrong)


def test_pairs_across_areas_need_two_tokens_and_a_boolean():
    with pytest.raises(TokenError, match=r"^across_areas must be True or False; got 'no'$"):
        pair_tokens(FRUIT, across_areas="no")
    with pytest.raises(TokenError, match=r"^pairs need two tokens; got one, 'a'$"):
        pair_tokens([("a", "X"), ("a", "Y")], across_areas=True)
    assert pair_tokens([("a", "X"), ("b", "Y")], across_areas=True) == Pairing((("a", "b"),), (None,), None, None, 1)


# Files


FILE = "tokens.csv"


@pytest.mark.parametrize(
    "content",
    [
        "token,area\nmachine learning,IT\nb,IT\n",
        "area\ttoken\nIT\tmachine learning\nIT\tb",
        'token;area\r\n"machine learning";IT\r\n\r\nb;IT\r\n',
        b"\xef\xbb\xbftoken|area\nmachine learning|IT\nb|IT\n",
    ],
)
def test_tokens_and_areas_are_read(write, content):
    assert read_tokens(write(content)) == (Token("machine learning", "IT"), Token("b", "IT"))


def test_frequencies_are_read(write):
    tokens = read_tokens(write("frequency,token,area\n12,a,X\n 1e-3 ,b,X\n12,a,Y\n"))
    assert tokens == (Token("a", "X", 12.0), Token("b", "X", 0.001), Token("a", "Y", 12.0))
    assert all(type(token.frequency) is float for token in tokens)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("token,area\n", ":1: no tokens, only the names of the columns"),
        ("token\na\nb\n", ':1: no column "area"; the first line must name the columns token, area and, if known, freq'),
        ("\narea,frequency\nX,1\n", ':2: no column "token"; the first line must name the columns'),
        ("a,X\nb,X\n", ':1: column "a": unknown column; the first line must name the columns token, area and'),
        ("token,area \na,X\n", ':1: column "area ": did you mean "area"? Capitals and spaces count'),
        ("token,area,token\na,X,b\n", ':1: column "token": more than one column has this name'),
        ("token,area\na,X\n\nb\n", ':4: expected 2 cells, as in the first row; got 1 (none for "area")'),
        ("token,area,Area\na,X,Y\n", ':1: column "Area": unknown column'),
        ("token,area\na,X\n ,X\n", ':3: column "token": empty cell; every token needs a text'),
        ("token,area\na,X\nb,\n", ':3: column "area": empty cell; every token needs an area'),
        ("token,area\na,X\nb ,X\n", ":3: column \"token\": 'b ' begins or ends with a space"),
        ("token,area,frequency\na,X,1\nb,X,\n", ':3: column "frequency": empty cell; every token needs'),
        ("token,area,frequency\na,X,1\nb,X,nan\n", ':3: column "frequency": "nan" is not a number'),
        ("token,area,frequency\na,X,-1\n", ":2: column \"frequency\": '-1' is not a finite number of 0 or more"),
        ("token,area\na,X\n\nb,X\na,X\n", ":5: column \"token\": 'a' is in area 'X' already, by line 2"),
        ("token,area,frequency\na,X,1\nb,X,2\na,Y,3\n", ":4: column \"frequency\": 'a' has two frequencies, 1 by"),
        ('token,area\na,X\n"b,X\n', ":3: a quote is opened here and never closed"),
    ],
)
def test_errors_name_file_line_and_column(write, content, message):
    path = write(content)
    with pytest.raises(TableError, match="^" + re.escape(f"{path}{message}")):
        read_tokens(path)


@given(st.text('ab,;\t"\n 1', max_size=40))
def test_any_text_gives_tokens_or_a_one_line_error(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text("token,area\n" + text, encoding="utf-8", newline="")
    try:
        result = read_tokens(path)
    except TableError as error:
        result = error
    if isinstance(result, tuple):
        assert len(result) <= text.count("\n") + 1
    else:
        assert type(result) is TableError
        assert str(result).startswith(str(path))
        assert str(result).isprintable()
