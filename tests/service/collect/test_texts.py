"""All texts of the interface are in locales, in each language, and all of them are used."""

import json
import re
from pathlib import Path

import pytest

import service.collect
from service.collect.api.results import EXPORTS
from service.collect.pages import LANGUAGES, Texts, direction, language_name

HERE = Path(service.collect.__file__).parent
LOCALES = HERE / "locales"
# Keys that a program composes, such as said.left and said.tie
COMPUTED_KEYS = re.compile(
    r"said\.(left|right|tie|cannot say)|paused\.(invitation|browser|platform)|(vote|finish)\.title"
    r"|early\.(quota full|screened out)|vote\.grades\.[123]|vote\.(best|worst)"
)


# Keys composed of a name and one of several words
WORDS = {
    "form.grade-words.": ("1", "2", "3"),
    "errors.": ["busy", "changed", "ledger-unreachable", "not-ready", "over-capacity", "token-needed"],
    **{key: ["speed", "side", "attention", "gold", "repeats", "agreement", "random"] for key in ("flags.", "reasons.")},
    "kinds.": ["text", "markdown", "image", "audio"],
    "sources.": ["open", "invitation", "prolific", "mturk", "file"],
    "states.": ["ready", "open", "answered", "closing", "closed", "finished"],
    "plots.": ["strengths", "ranks", "in-top", "voters"],
    "tabs.": ["overview", "ballots", "voters", "items", "result", "settings"],
    "titles.": ["new", "overview", "ballots", "voters", "items", "result", "settings"],
    **{key: ["presentations", "comparisons", "hours", "top_presentations"] for key in ("new.ways.", "new.amounts.")},
    **{key: ["title", "question", "instructions", "consent", "thanks"] for key in ("examples.", "form.")},
    "advice.": [
        *("many_ballots", "many_survivors", "few_in_last_ballot", "few_top_presentations", "few_comparisons"),
        *("odd_presentations", "repeated_pairs", "voter_sees_pair_twice", "too_many_comparisons"),
    ],
    "new.": ["file", "file-or-images", "images-hint", "no-images-hint"],
    "links.study-": ["prolific", "mturk"],
    "overview.waits-": ["target", "pairs"],
    "participants.": ["approve", "reject", "approve-hint", "reject-hint"],
    **{key: ["organiser", "organiser-session", "invitation", "study"] for key in ("issued.kinds.", "issued.texts.")},
    "outlook.": ["scores", "strengths"],
    "voters.": [
        f"{verb}{end}" for verb in ("exclude", "include") for end in ("", "-go", "-title", "d-done")
    ],
    "formats.": [
        f"{form}{end}"
        for form in EXPORTS
        for end in ("", "-text")
    ],
}  # fmt: skip


def flatten_texts(texts, path=""):
    """Each text by its key, such as "voter.vote.undo"."""
    for key, value in texts.items():
        if isinstance(value, dict):
            yield from flatten_texts(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def texts_of(language):
    return dict(flatten_texts(json.loads((LOCALES / f"{language}.json").read_text("utf-8"))))


def organiser_keys():
    result = {name + word for name, words in WORDS.items() for word in words}
    for path in (HERE / "static" / "organiser").glob("*.js"):
        result |= set(re.findall(r'(?<![/*] )"([a-z-]+(?:\.[a-z0-9_-]+)+|[a-z-]+)"', path.read_text(encoding="utf-8")))
    for path in (HERE / "templates" / "organiser").glob("*.html"):
        source = path.read_text(encoding="utf-8")
        result |= set(re.findall(r'text\(["\']organiser\.([^"\']+)["\']\)', source))
        for key, hint in re.findall(r'field\(text, "[^"]+", "([^"]+)"(?:, hint="([^"]+)")?', source):
            result |= {f"form.{key}", f"form.{hint}"}
    return result


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
@pytest.mark.parametrize("pages", ["", "organiser."])
def test_each_language_has_the_same_texts_with_the_same_placeholders(pages, language):
    values = [
        {key: set(re.findall(r"{\w+}", text)) for key, text in texts_of(pages + code).items()}
        for code in (LANGUAGES[0], language)
    ]
    assert values[0] == values[1]
    assert all(text.strip() == text != "" for text in texts_of(pages + language).values())


def test_each_voter_s_text_is_used():
    written = " ".join(text for _, text in sources())
    keys = [key.removeprefix("voter.") for key in texts_of("en") if key.startswith("voter.")]
    assert [key for key in keys if key not in written and not COMPUTED_KEYS.fullmatch(key)] == []


def test_each_text_of_organisers_is_used():
    keys = {key.removeprefix("organiser.") for key in texts_of("organiser.en")}
    assert sorted(keys - organiser_keys()) == []


def test_every_text_used_on_pages_of_organisers_exists():
    names = set()
    for path in (HERE / "static" / "organiser").glob("*.js"):
        source = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        names |= set(re.findall(r'\btext\("([^"]+)"', source))
    for path in (HERE / "templates" / "organiser").glob("*.html"):
        names |= set(re.findall(r'text\("organiser\.([^"]+)"\)', path.read_text(encoding="utf-8")))
    assert sorted(names - {name.removeprefix("organiser.") for name in texts_of("organiser.en")}) == []


def test_templates_and_scripts_contain_no_text():
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
    assert json.loads(Texts("tlh").section("voter"))["vote"]["undo"] == "Undo"


@pytest.mark.parametrize(
    ("tag", "expected"), [("he", "rtl"), ("fa-IR", "rtl"), ("uz-Arab-AF", "rtl"), ("de", "ltr"), ("pa", "ltr")]
)
def test_the_direction_follows_the_script_of_the_language(tag, expected):
    assert direction(tag) == expected


def test_languages_are_named_in_their_own_language():
    assert [language_name(tag) for tag in ("en", "de-AT", "he", "tlh")] == ["English", "Deutsch", "עברית", "tlh"]


@pytest.mark.parametrize(("language", "ours"), [("en", "sheet"), ("de", "bogen|bögen|blatt|blätter|runde")])
def test_texts_for_voters_have_no_terms_of_organisers(language, ours):
    assert [text for text in texts_of(language).values() if re.search(ours, text, re.IGNORECASE)] == []
