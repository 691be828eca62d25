"""Nobody who installs a distribution of ours gets code whose licence asks for more than BSD-3-Clause does.

Development tools are not looked at: no user installs them. A package that another platform or Python needs is not
installed here, and is not looked at either.
"""

import re
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, metadata, requires

import pytest
from packaging.requirements import Requirement

from tests.repository import DISTRIBUTIONS, NAMES, requirements

pytestmark = pytest.mark.wide

# MPL-2.0 (tqdm, orjson) binds changed copies of its own files alone; we import them, and copy none. LGPL is left out:
# it asks that users can replace the library in every program that we would hand on.
ALLOWED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC", "MIT", "MIT-CMU", "MPL-2.0"),
    *("PSF-2.0", "Unlicense", "Zlib"),
}
# Only who asks for the extra `postgres` gets psycopg, from an index and not from us; the wheel imports it, and holds
# no copy of it.
EXCEPTIONS = {"psycopg": ["LGPL-3.0-only"], "psycopg-binary": ["LGPL-3.0-only"]}
# Other ways in which packages write them.
SPELLINGS = {
    "Apache 2.0": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def licences(package: PackageMetadata) -> list[str]:
    """What the metadata of a package say: an SPDX expression, classifiers, one line; not the text of a licence."""
    classifiers = [entry for entry in package.get_all("Classifier", []) if entry.startswith("License ::")]
    said = [package.get("License-Expression", ""), *(entry.split(" :: ")[-1] for entry in classifiers)]
    line = package.get("License", "")
    said += [] if "\n" in line else [line]
    return [SPELLINGS.get(licence, licence) for licence in said if licence not in ("", "UNKNOWN", "OSI Approved")]


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression leaves a choice in which each licence is allowed."""
    words = re.findall(r"[()]|[^\s()]+", expression)

    def choices() -> bool:
        found = [all_of()]
        while words[:1] == ["OR"]:
            words.pop(0)
            found.append(all_of())
        return any(found)

    def all_of() -> bool:
        found = [single()]
        while words[:1] == ["AND"]:
            words.pop(0)
            found.append(single())
        return all(found)

    def single() -> bool:
        word = words.pop(0) if words else ""
        if word == "(":
            inner = choices()
            return words[:1] == [")"] and bool(words.pop(0)) and inner
        if words[:1] == ["WITH"]:  # an exception takes a condition away
            del words[:2]
        return word in ALLOWED

    return choices() and not words


def installed_with(wanted: list[Requirement]) -> dict[str, PackageMetadata]:
    """Metadata of each package that comes with requirements, other than ours."""
    found: dict[str, PackageMetadata] = {}
    seen: set[tuple[str, str]] = set()

    def follow(entries: Iterator[Requirement]) -> None:
        for entry in entries:
            if entry.name in NAMES:  # looked at on their own
                continue
            for extra in ("", *entry.extras):
                if (entry.name, extra) not in seen:
                    seen.add((entry.name, extra))
                    found[entry.name] = metadata(entry.name)
                    below = [Requirement(line) for line in requires(entry.name) or []]
                    follow(each for each in below if each.marker is None or each.marker.evaluate({"extra": extra}))

    follow(iter(wanted))
    return found


def offers():
    """What a user can install: each distribution, and each of its extras."""
    for name, folder, _ in DISTRIBUTIONS:
        for extra, wanted in requirements(folder).items():
            yield pytest.param(wanted, id=f"{name}[{extra}]")


@pytest.mark.parametrize("wanted", list(offers()))
def test_each_dependency_has_a_licence_that_is_allowed(wanted):
    packages = installed_with(wanted)
    assert packages
    said = {name: licences(package) for name, package in packages.items()}
    assert {name: found for name, found in said.items() if not found} == {}, "their licences are unknown"
    refused = {name: found for name, found in said.items() if not all(map(is_allowed, found))}
    refused = {name: found for name, found in refused.items() if EXCEPTIONS.get(name) != found}
    assert refused == {}, "their licences are not allowed"


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0-or-later OR MIT", True),
        ("GPL-3.0-or-later", False),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND (GPL-3.0-only OR LGPL-2.1-only)", False),
        ("LGPL-3.0-or-later", False),
        ("GNU General Public License v3 (GPLv3)", False),
        ("LicenseRef-Proprietary", False),
        ("(MIT", False),
        ("", False),
    ],
)
def test_expressions(expression, allowed):
    assert is_allowed(expression) is allowed


def test_every_statement_of_a_package_counts():
    package = {
        "License-Expression": "MIT",
        "License": "BSD",
        "Classifier": ["Topic :: Games", "License :: OSI Approved", "License :: OSI Approved :: ISC License (ISCL)"],
    }
    assert licences(Metadata(package)) == ["MIT", "ISC", "BSD-3-Clause"]
    assert licences(Metadata({"License": "A licence\nof many lines"})) == []
    assert licences(Metadata({"License": "UNKNOWN"})) == []


class Metadata(dict):
    get_all = dict.get
