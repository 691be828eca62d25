"""Each word of the interface is in locales, in each language, and each that is there is used."""

import json
import re
from pathlib import Path

import pytest

import service.collect
from service.collect.texts import LANGUAGES, Texts, direction, language_name

HERE = Path(service.collect.__file__).parent
LOCALES = HERE / "locales"
# Keys that a program puts together, such as said.left and said.tie.
MADE_UP = re.compile(
    r"said\.(left|right|tie|cannot say)|paused\.(invitation|browser|platform)|(vote|finish)\.title"
    r"|early\.(quota full|screened out)"
)


def flat(texts, path=""):
    """Each text by its key, such as "voter.vote.undo"."""
    for key, value in texts.items():
        if isinstance(value, dict):
            yield from flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def texts_of(language):
    return dict(flat(json.loads((LOCALES / f"{language}.json").read_text("utf-8"))))


def sources():
    """Templates, with keys in full, and scripts, which know those below "voter" alone."""
    for file in (
        *HERE.glob("templates/voter/*.html"),
        HERE / "templates/base.html",
        HERE / "templates/unknown.html",
        *HERE.glob("static/voter/*.js"),
    ):
        yield file, file.read_text("utf-8")


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_each_language_has_the_same_texts_with_the_same_values(language):
    values = [
        {key: sorted(re.findall(r"{\w+}", text)) for key, text in texts_of(each).items()}
        for each in (LANGUAGES[0], language)
    ]
    assert values[0] == values[1]
    assert all(text.strip() for text in texts_of(language).values())


def test_each_voter_s_text_is_used():
    written = " ".join(text for _, text in sources())
    keys = [key.removeprefix("voter.") for key in texts_of("en") if key.startswith("voter.")]
    assert [key for key in keys if key not in written and not MADE_UP.fullmatch(key)] == []


def test_templates_and_scripts_have_no_words_of_their_own():
    for file, text in sources():
        if file.suffix == ".html":
            bare = re.sub(r"{% block (data|width) %}.*?{% endblock %}", " ", text, flags=re.DOTALL)
            bare = re.sub(r"{%.*?%}|{{.*?}}|<[^>]*>", " ", bare, flags=re.DOTALL)
            assert re.findall(r"[^\W\d_]{2,}", bare) == [], file
        else:
            assert not re.findall(r"\.(?:textContent|innerText|title|alt) = \"[^\"]+\"", text), file


def test_texts_are_found_by_key_and_filled_in():
    text = Texts("de-CH")
    assert text("voter.vote.count", done=3, of=9) == "3 von 9"
    with pytest.raises(KeyError, match=r"de\.json has no text 'voter\.nothing'"):
        text("voter.nothing")
    with pytest.raises(KeyError, match="names several texts"):
        text("voter.vote")
    with pytest.raises(KeyError, match="of"):
        text("voter.vote.count", done=3)
    assert json.loads(Texts("fr").section("voter"))["vote"]["undo"] == "Undo"


@pytest.mark.parametrize(
    ("tag", "expected"), [("he", "rtl"), ("fa-IR", "rtl"), ("uz-Arab-AF", "rtl"), ("de", "ltr"), ("pa", "ltr")]
)
def test_direction(tag, expected):
    assert direction(tag) == expected


def test_names_of_languages_are_their_own():
    assert [language_name(tag) for tag in ("en", "de-AT", "he", "tlh")] == ["English", "Deutsch", "עברית", "tlh"]


@pytest.mark.parametrize(("language", "ours"), [("en", "sheet"), ("de", "bogen|bögen|blatt|blätter|runde")])
def test_voters_do_not_meet_words_of_organisers(language, ours):
    assert [text for text in texts_of(language).values() if re.search(ours, text, re.IGNORECASE)] == []
