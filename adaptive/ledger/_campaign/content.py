"""Content of items, pages for voters, and rules of participation.

Contents are fixed when a campaign is created; each change of the pages is stored as a new version. Items come from a
table that an organiser prepares, whose faults are all reported at once, by line.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, NoReturn, TypeAlias, get_args

from adaptive._tables import Label, header_and_records, is_line, item_label_columns, label_in, named_column, open_table
from adaptive.ledger.errors import LedgerError, require
from rankcorr._checks import check_declared, declare, shown
from rankcorr._io.table import Record, TextTable
from rankcorr.errors import TableError

Kind: TypeAlias = Literal["text", "markdown", "image", "audio"]
_MOST_OF_ITEM: Final = 10_000  # characters in an item's content
_ASSET: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
Platform: TypeAlias = Literal["prolific", "mturk"]
PLATFORMS: Final[tuple[Platform, ...]] = get_args(Platform)
OPEN: Final = "open"  # the source of voters who come by the open link, and have a random id in place of a name
Outcome: TypeAlias = Literal["complete", "screened out", "quota full"]
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")  # a tag of BCP 47
_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_CODE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CODES: Final = {"complete": "completion_code", "screened out": "screened_out_code", "quota full": "quota_full_code"}
# Fields of pages that stay private: they prove to a platform that the work is done, or name the study.
PRIVATE: Final = ("study", "completion_url", *_CODES.values())
_PROLIFIC: Final = "https://app.prolific.com/submissions/complete?cc="
_MOST_OF_A_LINE: Final = 500
_MOST_OF_TEXT: Final = 20_000  # characters in a text of several lines
_MOST_FAULTS: Final = 100
_CONTENT: Final = ("kind", "content", "alt_text")
MOST_BRACKETS: Final = 1_000  # at each "[", markdown looks for a link, which takes up to 80 microseconds
# Embeddings, overrides and isolates: an unclosed one reverses the rest of the page.
_TURNS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ENDS: Final = frozenset("\t\n\r")


def is_prose(text: str) -> bool:
    r"""Return whether a text of any number of lines is free of characters that control or reverse the display.

    Examples
    --------
    >>> is_prose(""), is_prose("a\n\tb"), is_prose("a\0"), is_prose("a\u202eb")
    (True, True, False, False)
    """
    return all(char in _ENDS or (unicodedata.category(char) != "Cc" and char not in _TURNS) for char in text)


def is_quick_to_render(markdown: str, most: int) -> bool:
    """Return whether a text has at most `most` characters and `MOST_BRACKETS` opening brackets.

    Examples
    --------
    >>> is_quick_to_render("[a](https://a.example)", 100), is_quick_to_render("[" * 1_001, 10_000)
    (True, False)
    """
    return len(markdown) <= most and markdown.count("[") <= MOST_BRACKETS


@dataclass(frozen=True)
class ItemContent:
    """The content shown for an item.

    Attributes
    ----------
    kind : {"text", "markdown", "image", "audio"}
    content : str or None
        Text or markdown, or the path of an image or a recording below the server's folder of assets. None, for text,
        shows the label.
    alt_text : str or None
        Description of an image or a recording for people who cannot see or hear it; required for both.

    See Also
    --------
    read_item_file, read_item_sheet : Read contents from a file.
    is_asset : The paths that are allowed.
    Ledger.new_campaign : Takes contents.

    Examples
    --------
    >>> from adaptive.ledger import ItemContent
    >>> ItemContent("image", "trees/oak.png", alt_text="An oak in a field").kind
    'image'
    >>> ItemContent()  # shows the label
    ItemContent(kind='text', content=None, alt_text=None)
    """

    kind: Kind = "text"
    content: str | None = None
    alt_text: str | None = None

    def __post_init__(self) -> None:
        for _, message in content_faults(self.kind, self.content, self.alt_text):
            raise LedgerError(message)


def content_faults(kind: str, content: str | None, alt_text: str | None) -> Iterator[tuple[str, str]]:
    """Yield each error in an item's content: the field and a message.

    >>> [field for field, _ in content_faults("image", "../fig.png", None)]
    ['content', 'alt_text']
    """
    if kind not in get_args(Kind):
        yield "kind", f"the kind of an item must be text, markdown, image or audio; got {shown(kind)}"
        return
    if kind != "text" and not (content or "").strip():
        yield "content", f"an item of kind {kind} needs its content; got none"
    elif kind in ("image", "audio") and not is_asset(content or ""):
        expectation = f"the content of {kind} must be the path of a file, of letters, digits, . _ - and /"
        yield "content", f"{expectation}; got {shown(content)}"
    for name, text in (("content", content), ("alt_text", alt_text)):
        if text is not None and not is_quick_to_render(text, _MOST_OF_ITEM):
            most = f"at most {_MOST_OF_ITEM:,} characters and {MOST_BRACKETS:,} opening brackets"
            yield name, f"{name} must have {most}; got {len(text):,} and {text.count('['):,}"
    if kind in ("image", "audio") and not (alt_text or "").strip():
        yield "alt_text", f"an item of kind {kind} needs a text that describes it (alt_text); got none"


def is_asset(path: str) -> bool:
    """Return whether a path is below the folder of assets and contains no hidden files.

    Examples
    --------
    >>> from adaptive.ledger import is_asset
    >>> is_asset("trees/oak.png"), is_asset("../oak.png"), is_asset("/etc/passwd")
    (True, False, False)

    See Also
    --------
    ItemContent : Its `content` may be such a path.
    """
    return _ASSET.fullmatch(path) is not None


@dataclass(frozen=True)
class PageTexts:
    """The texts of a campaign in one language.

    Attributes
    ----------
    title, question : str
        One line each. The question is shown with every pair.
    instructions, consent, thanks : str
        Markdown.

    See Also
    --------
    VotingPages : Takes them by language.
    is_line : Checks a title or a question.

    Examples
    --------
    >>> from adaptive.ledger import PageTexts
    >>> texts = PageTexts("Trees", "Which tree is taller?", thanks="**Thank you.**")
    >>> texts.question
    'Which tree is taller?'
    """

    title: str
    question: str
    instructions: str = ""
    consent: str = ""
    thanks: str = ""

    def __post_init__(self) -> None:
        for name in ("title", "question", "instructions", "consent", "thanks"):
            require(isinstance(getattr(self, name), str), name, "text", getattr(self, name))
        for name in ("title", "question"):
            text = getattr(self, name)
            limit = f"one line of text, of at most {_MOST_OF_A_LINE} characters"
            require(is_line(text) and len(text) <= _MOST_OF_A_LINE, name, limit, text)
        for name in ("instructions", "consent", "thanks"):
            text = getattr(self, name)
            limit = f"text, of at most {_MOST_OF_TEXT:,} characters and {MOST_BRACKETS:,} opening brackets"
            require(is_quick_to_render(text, _MOST_OF_TEXT), name, limit, text)
            if not is_prose(text):
                raise LedgerError(
                    f"{name} must have no control characters, and none that reverse text; got {shown(text)}"
                )


@dataclass(frozen=True)
class VotingPages:
    """The pages that a campaign shows to its voters, and the rules of participation.

    Attributes
    ----------
    texts : mapping of str to PageTexts
        Texts by language tag, such as "en" or "pt-BR". Visitors who request none of these languages see the first one.
    consent_version : str
        Version of the consent text; voters who agreed to another version are asked again.
    open_link : bool
        Whether everyone who has the address of the campaign may vote.
    sheets : int or None
        Maximum number of sheets for a voter; None for no limit.
    ties, cannot_say : bool
        Whether these answers are offered.
    platform : {"prolific", "mturk"} or None
        Crowdsourcing platform that voters come from.
    study : str or None
        Id of the study on the platform; participants of other studies are refused.
    completion_code, completion_url : str or None
        Code or address shown to a voter who has finished. The address must be https, and is shown as a link. For
        Prolific, the link follows from the code.
    screened_out_code, quota_full_code : str or None
        Platform codes for a participant who was excluded before finishing, and for one who arrived when no sheet was
        left. All codes must differ.
    study_minutes : float or None
        Maximum time that the platform allows a participant. After the first answer on a sheet, the participant keeps it
        for this time, counted from joining. None for the lease time of the campaign.

    See Also
    --------
    PageTexts : The texts in one language.
    Campaign.set_pages : Shows them.
    CampaignSettings : How a campaign is run.

    Examples
    --------
    >>> from adaptive.ledger import PageTexts, VotingPages
    >>> pages = VotingPages({"en": PageTexts("Trees", "Which tree is taller?")}, open_link=True, sheets=3)
    >>> list(pages.texts), pages.consent_version, pages.ties
    (['en'], '1', True)
    """

    texts: Mapping[str, PageTexts] = field(
        default_factory=lambda: {"en": PageTexts("Which of the two?", "Which of the two comes first?")}
    )
    consent_version: str = "1"
    open_link: bool = False
    sheets: int | None = declare(int, None, least=1, about="Maximum number of sheets for a voter.")
    ties: bool = True
    cannot_say: bool = True
    platform: Platform | None = None
    study: str | None = None
    completion_code: str | None = None
    completion_url: str | None = None
    screened_out_code: str | None = None
    quota_full_code: str | None = None
    study_minutes: float | None = declare(
        float, None, above=0, about="The platform's maximum allowed time; a participant keeps a sheet for this time."
    )

    def __post_init__(self) -> None:
        if not self.texts:
            raise LedgerError("voting pages need texts in at least one language; got none")
        for language, texts in self.texts.items():
            if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
                raise LedgerError(f"a language must be a tag like 'en' or 'pt-BR'; got {shown(language)}")
            if not isinstance(texts, PageTexts):
                raise LedgerError(f"the texts of a language must be PageTexts; got {shown(texts)}")
        version = self.consent_version
        fits = isinstance(version, str) and _VERSION.fullmatch(version) is not None
        require(fits, "consent_version", "letters, digits and . _ -, at most 40", version)
        for name in ("open_link", "ties", "cannot_say"):
            require(isinstance(getattr(self, name), bool), name, "True or False", getattr(self, name))
        check_declared(self, LedgerError)
        require(self.platform in (None, *PLATFORMS), "platform", "None, 'prolific' or 'mturk'", self.platform)
        for name in ("study", *_CODES.values()):
            value = getattr(self, name)
            fits = value is None or (isinstance(value, str) and _CODE.fullmatch(value) is not None)
            require(fits, name, "letters, digits, - and _, at most 64", value)
        codes = [getattr(self, name) for name in _CODES.values() if getattr(self, name) is not None]
        if len(set(codes)) < len(codes):
            raise LedgerError(f"the codes must differ, because the platform tells outcomes apart by them; got {codes}")
        for name in ("screened_out_code", "quota_full_code", "study_minutes"):
            if self.platform is None and getattr(self, name) is not None:
                raise LedgerError(f"{name} is for participants of a platform, but the campaign has no platform")
        url = self.completion_url
        if url is not None and not (isinstance(url, str) and re.fullmatch(r"https://[!-~]{1,500}", url)):
            raise LedgerError(f"completion_url must begin with https:// and have no spaces; got {shown(url)}")

    def way_back(self, outcome: Outcome) -> tuple[str | None, str | None]:
        """Return the code of an outcome, and the address that returns a participant to the platform with it."""
        code: str | None = getattr(self, _CODES[outcome])
        if outcome == "complete" and self.completion_url is not None:
            return code, self.completion_url
        return code, f"{_PROLIFIC}{code}" if code is not None and self.platform == "prolific" else None

    def has_other_consent(self, other: VotingPages) -> bool:
        """Return whether the consent text differs in a language that both have."""
        languages = self.texts.keys() & other.texts.keys()
        return any(self.texts[language].consent != other.texts[language].consent for language in languages)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON; texts are a list because the order of languages matters."""
        texts = [{"language": language, **asdict(page_texts)} for language, page_texts in self.texts.items()]
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "texts": texts}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> VotingPages:
        """Return the voting pages of `to_dict`."""
        rows = [dict(row) for row in data["texts"]]
        texts = {row.pop("language"): PageTexts(**row) for row in rows}
        if len(texts) < len(rows):
            raise LedgerError("two texts have the same language")
        return cls(**{**data, "texts": texts})


@dataclass(frozen=True)
class ItemFault:
    r"""An error in a table of items.

    Attributes
    ----------
    line : int or None
        First line of the row; None for a fault of the whole table.
    column : str or None
    message : str

    See Also
    --------
    ItemSheet : Lists the faults as `faults`.
    read_item_file : Raises the first fault as an error.

    Examples
    --------
    >>> from adaptive.ledger import read_item_sheet
    >>> fault = read_item_sheet(b"item,kind\nfig,text\nplum,video\n").faults[0]
    >>> fault.line, fault.column
    (3, 'kind')
    >>> print(fault.message)
    the kind of an item must be text, markdown, image or audio; got 'video'
    """

    line: int | None
    column: str | None
    message: str

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}: "
        column = "" if self.column is None else f'column "{self.column}": '
        return f"{line}{column}{self.message}"


@dataclass(frozen=True)
class ItemSheet:
    r"""The items of a table.

    Attributes
    ----------
    items : tuple of str, or of tuple of str
        Items of the rows without a fault, in their order.
    contents : tuple of ItemContent
        Content shown for each item.
    faults : tuple of ItemFault
        The first hundred faults.

    See Also
    --------
    read_item_sheet : Returns it.
    ItemFault : The type of its faults.

    Examples
    --------
    >>> from adaptive.ledger import read_item_sheet
    >>> sheet = read_item_sheet(b"item,kind,content\nfig,markdown,**fig**\nplum,,\nfig,,\n")
    >>> sheet.items, sheet.contents[0].content, len(sheet.faults)
    (('fig', 'plum'), '**fig**', 1)
    """

    items: tuple[Label, ...]
    contents: tuple[ItemContent, ...]
    faults: tuple[ItemFault, ...]

    def checked(self) -> ItemSheet:
        """Return the sheet itself if it has no fault.

        Raises
        ------
        TableError
            If there is a fault; the message has the first five.
        """
        if not self.faults:
            return self
        more = len(self.faults) - 5
        text = "; ".join(str(fault) for fault in self.faults[:5])
        raise TableError(text + (f"; and {more} more" if more > 0 else ""))


def read_item_sheet(data: bytes, *, why_no_file: Callable[[str], str | None] | None = None) -> ItemSheet:
    r"""Read items and their contents from CSV or TSV in UTF-8.

    The columns are item (or item_1, item_2, ...) and, optionally, kind (text, markdown, image or audio), content and
    alt_text. If the content is empty, the label is shown. Other columns are ignored.

    Parameters
    ----------
    data : bytes
    why_no_file : callable or None
        Function of the path of an image or a recording that returns the reason why it cannot be shown, or None. By
        default, files are not checked.

    See Also
    --------
    read_item_file : The same for a file.
    ItemSheet : The type of the result.

    Examples
    --------
    >>> from adaptive.ledger import read_item_sheet
    >>> rows = b"fig,image,fig.png,A ripe fig\nplum,image,plum.png,\nfig,,,\n"
    >>> sheet = read_item_sheet(b"item,kind,content,alt_text\n" + rows)
    >>> sheet.items
    ('fig',)
    >>> for fault in sheet.faults:
    ...     print(fault)
    line 3: column "alt_text": an item of kind image needs a text that describes it (alt_text); got none
    line 4: column "item": 'fig' is also on line 2; items must be unique
    """
    table = _FaultTable("items", error=_FaultError, data=data)
    faults: list[ItemFault] = []
    rows = []
    try:
        header, records = header_and_records(table, table.text(), "item")
        for row in _read_rows(table, header, records, faults, why_no_file):
            if row is not None:
                rows.append(row)
            if len(faults) >= _MOST_FAULTS:
                break
    except _FaultError as error:
        faults.append(error.fault)
    if len(rows) < 2 and not faults:
        got = "no items, only the names of the columns" if not rows else "a single item"
        faults.append(ItemFault(None, None, f"{got}; two are needed to compare"))
    items, contents = tuple(item for item, _ in rows), tuple(content for _, content in rows)
    return ItemSheet(items, contents, tuple(faults[:_MOST_FAULTS]))  # a row may have several


def read_item_file(path: str | os.PathLike[str]) -> tuple[tuple[Label, ...], tuple[ItemContent, ...]]:
    r"""Return the items of a file, as read by `adaptive._tables.read_items`, and their contents.

    Images and recordings are not checked, because another machine may serve them.

    Raises
    ------
    TableError
        The first fault, with file, line and column.

    See Also
    --------
    read_item_sheet : The same for bytes; lists all faults.
    ItemContent : The type of the contents.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive.ledger import read_item_file
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "items.csv")
    ...     _ = file.write_text("item,kind,content\nfig,markdown,**fig**\nplum,,\n")
    ...     read_item_file(file)[1][0]
    ItemContent(kind='markdown', content='**fig**', alt_text=None)
    """
    table, header, records = open_table(path)
    faults: list[ItemFault] = []
    rows = []
    for row in _read_rows(table, header, records, faults):
        if row is None:
            table.fail(faults[0].message, faults[0].line, faults[0].column)
        rows.append(row)
    if not rows:
        table.fail("no items, only the names of the columns", header.line)
    return tuple(item for item, _ in rows), tuple(content for _, content in rows)


class _FaultError(TableError):
    """A fault on its way to the list of faults."""

    def __init__(self, message: str, line: int | None = None, column: str | None = None) -> None:
        super().__init__(message)
        self.fault = ItemFault(line, column, message)


class _FaultTable(TextTable):
    def fail(self, message: str, line: int | None = None, column: str | None = None) -> NoReturn:
        """Raise a fault with its location in attributes, not in the message."""
        raise _FaultError(message, line, column)


def _read_rows(
    table: TextTable,
    header: Record,
    records: Iterable[Record],
    faults: list[ItemFault],
    why_no_file: Callable[[str], str | None] | None = None,
) -> Iterator[tuple[Label, ItemContent] | None]:
    """Yield item and content of each row of a table of items; None if it has faults, which are added to the list.

    The fault of a label is an error, except in a `_FaultTable`.
    """
    columns = item_label_columns(table, header)
    places = {name: numbers[0] for name in _CONTENT if (numbers := named_column(table, header, name))}
    lines: dict[Label, int] = {}
    for record in records:
        n_faults, item = len(faults), None
        try:
            item = label_in(table, header, record, columns)
            if item in lines:
                message = f"{shown(item)} is also on line {lines[item]}; items must be unique"
                table.fail(message, record.line, header.cells[columns[0]])
            lines[item] = record.line
        except _FaultError as error:
            faults.append(error.fault)
        if len(record.cells) != len(header.cells):
            yield None  # reading the item has listed this fault
            continue
        cells = {name: record.cells[place].strip() or None for name, place in places.items()}
        kind: Any = cells.get("kind") or "text"
        content, alt_text = cells.get("content"), cells.get("alt_text")
        messages = list(content_faults(kind, content, alt_text))
        if why_no_file is not None and kind in ("image", "audio") and content is not None and is_asset(content):
            why = why_no_file(content)
            messages += [] if why is None else [("content", why)]
        faults += [ItemFault(record.line, name, message) for name, message in messages]
        yield None if item is None or len(faults) > n_faults else (item, ItemContent(kind, content, alt_text))
