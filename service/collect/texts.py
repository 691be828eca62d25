"""Choose a reader's language, and load the texts of the interface in it.

They are in locales/<language>.json, and those of organisers' pages in locales/organiser.<language>.json.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from importlib.resources import files
from operator import getitem
from typing import Any, Final

from flask import request

LANGUAGES: Final = ("en", "de")  # files in locales/; the first language is the fallback
_RIGHT_TO_LEFT: Final = frozenset(
    {"ar", "arc", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"}
)
_SCRIPTS_RIGHT_TO_LEFT: Final = frozenset({"adlm", "arab", "hebr", "mand", "nkoo", "rohg", "syrc", "thaa"})


class Texts:
    """The texts of one language.

    Parameters
    ----------
    language : str
        Tag such as "de-AT". A language without a file in locales/ falls back to English.

    Examples
    --------
    >>> Texts("de-AT")("base.skip")
    'Zum Inhalt'
    """

    def __init__(self, language: str) -> None:
        self.language = interface_language(language)
        self._texts = {**_read(self.language), **_read(f"organiser.{self.language}")}

    def __call__(self, key: str, /, **values: object) -> str:
        """Return the text of a key such as "voter.vote.undo", with values filled in for the names in braces.

        Raises
        ------
        KeyError
            If the text does not exist, or names a value that was not given.
        """
        text: Any = self._texts
        for step in key.split("."):
            if not isinstance(text, Mapping) or step not in text:
                raise KeyError(f"locales/{self.language}.json has no text {key!r}")
            text = text[step]
        if not isinstance(text, str):
            raise KeyError(f"{key!r} names several texts of locales/{self.language}.json")
        return text.format_map(values)

    def section(self, key: str) -> str:
        """Return all texts below a key as JSON, for the script of a page."""
        return json.dumps(reduce(getitem, key.split("."), self._texts), ensure_ascii=False)


def interface_language(language: str) -> str:
    """Return the language of locales/ that serves a tag.

    >>> interface_language("de-CH"), interface_language("fr")
    ('de', 'en')
    """
    main = language.lower().split("-")[0]
    return main if main in LANGUAGES else LANGUAGES[0]


def direction(language: str) -> str:
    """Return the writing direction of a language, by its script if the tag names one.

    >>> direction("ar"), direction("en"), direction("az-Arab"), direction("ar-Latn")
    ('rtl', 'ltr', 'rtl', 'ltr')
    """
    main, *more = language.lower().split("-")
    script = next((part for part in more if len(part) == 4 and part.isalpha()), None)
    rtl = main in _RIGHT_TO_LEFT if script is None else script in _SCRIPTS_RIGHT_TO_LEFT
    return "rtl" if rtl else "ltr"


def language_name(language: str) -> str:
    """Return a language's name in that language, or the tag if the name is not known here.

    >>> language_name("de"), language_name("pt-BR"), language_name("tlh")
    ('Deutsch', 'Português', 'tlh')
    """
    return str(_read("languages").get(language.lower().split("-")[0], language))


def language_in_address() -> str | None:
    """Return the language that the address asks for, if the interface has it."""
    tag = request.args.get("lang")
    return tag if tag in LANGUAGES else None


def reader_texts() -> Texts:
    """Return the texts of the interface, in the language of the address or of the browser."""
    return Texts(language_in_address() or browser_language(LANGUAGES) or LANGUAGES[0])


def browser_language(languages: Sequence[str]) -> str | None:
    """Return the language that the browser prefers, by its tag or its main part; None if it accepts none of them."""
    for tag in map(str.lower, request.accept_languages.values()):
        dialects = [language for language in languages if language.lower().split("-")[0] == tag.split("-")[0]]
        if dialects:
            return next((dialect for dialect in dialects if dialect.lower() == tag), dialects[0])
    return None


def reader_language(languages: Sequence[str]) -> str:
    """Return the language in the address, or the browser's, or the campaign's first."""
    tag = request.args.get("lang")
    return tag if tag is not None and tag in languages else browser_language(languages) or languages[0]


@cache
def _read(name: str) -> Mapping[str, Any]:
    texts: Mapping[str, Any] = json.loads((files("service.collect") / "locales" / f"{name}.json").read_text("utf-8"))
    return texts
