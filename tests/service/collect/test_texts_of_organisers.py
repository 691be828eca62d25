"""Each text that an organiser's page shows is there in each language, with the same values, and each text is shown."""

import json
import re
from pathlib import Path

import pytest

import service.collect
from service.collect.texts import LANGUAGES

ROOT = Path(service.collect.__path__[0])
# What is put together from a name and one of several words.
WORDS = {
    "errors.": ["busy", "changed", "ledger-unreachable", "over-capacity", "token-needed"],
    "flags.": ["speed", "side", "attention", "gold", "repeats", "agreement", "random"],
    "reasons.": ["speed", "side", "attention", "gold", "repeats", "agreement", "random"],
    "kinds.": ["text", "markdown", "image", "audio"],
    "sources.": ["open", "invitation", "prolific", "mturk", "file"],
    "states.": ["ready", "open", "closing", "closed", "finished"],
    "plots.": ["strengths", "ranks", "in-top", "voters"],
    "tabs.": ["overview", "ballots", "voters", "items", "result", "settings"],
    "titles.": ["new", "overview", "ballots", "voters", "items", "result", "settings"],
    "new.ways.": ["presentations", "comparisons", "hours", "top_presentations"],
    "new.amounts.": ["presentations", "comparisons", "hours", "top_presentations"],
    "examples.": ["title", "question", "instructions", "consent", "thanks"],
    "advice.": [
        "many_ballots",
        "many_survivors",
        "few_in_last_ballot",
        "few_top_presentations",
        "few_comparisons",
        "odd_presentations",
        "repeated_pairs",
        "voter_sees_pair_twice",
    ],
    "links.study-": ["prolific", "mturk"],
    "overview.waits-": ["target", "pairs"],
    "participants.": ["approve", "reject", "approve-hint", "reject-hint"],
    **{key: ["organiser", "organiser-session", "invitation", "study"] for key in ("given.kinds.", "given.texts.")},
    "outlook.": ["scores", "strengths"],
    "voters.": [
        f"{verb}{end}" for verb in ("exclude", "include") for end in ("", "-go", "-title", "d-done")
    ],
    "form.": ["title", "question", "instructions", "consent", "thanks"],
    "formats.": [
        f"{form}{end}"
        for form in ("bundle", "ranking", "csv", "arena", "label_studio", "potato", "choix")
        for end in ("", "-text")
    ],
}  # fmt: skip


def flat(texts, path=""):
    found = {}
    for name, value in texts.items():
        found |= flat(value, f"{path}{name}.") if isinstance(value, dict) else {path + name: value}
    return found


def texts(language):
    path = ROOT / "locales" / f"organiser.{language}.json"
    return flat(json.loads(path.read_text(encoding="utf-8"))["organiser"])


def used():
    found = {name + word for name, words in WORDS.items() for word in words}
    for path in (ROOT / "static" / "organiser").glob("*.js"):
        found |= set(re.findall(r'(?<![/*] )"([a-z-]+(?:\.[a-z0-9_-]+)+|[a-z-]+)"', path.read_text(encoding="utf-8")))
    for path in (ROOT / "templates" / "organiser").glob("*.html"):
        source = path.read_text(encoding="utf-8")
        found |= set(re.findall(r'text\(["\']organiser\.([^"\']+)["\']\)', source))
        for key, hint in re.findall(r'field\(text, "[^"]+", "([^"]+)"(?:, hint="([^"]+)")?', source):
            found |= {f"form.{key}", f"form.{hint}"}
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_there_with_the_same_values(language):
    english, own = texts("en"), texts(language)
    assert own.keys() == english.keys()
    for name, text in own.items():
        assert text.strip() == text != ""
        assert set(re.findall(r"{(\w+)}", text)) == set(re.findall(r"{(\w+)}", english[name])), name


def test_no_text_is_there_for_nothing():
    assert sorted(set(texts("en")) - used()) == []


def test_every_text_that_is_asked_for_is_there():
    asked = set()
    for path in (ROOT / "static" / "organiser").glob("*.js"):
        source = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        asked |= set(re.findall(r'\btext\("([^"]+)"', source))
    for path in (ROOT / "templates" / "organiser").glob("*.html"):
        asked |= set(re.findall(r'text\("organiser\.([^"]+)"\)', path.read_text(encoding="utf-8")))
    assert sorted(asked - set(texts("en"))) == []
