"""All installed dependencies have licences that ask for no more than BSD-3-Clause.

Development tools are not checked, because users do not install them. Packages for another platform or Python are
not installed here, so they are not checked either.
"""

import re
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, metadata, requires

import pytest
from packaging.requirements import Requirement

from tests.repository import DISTRIBUTIONS, NAMES, requirements

pytestmark = pytest.mark.wide

# MPL-2.0 (tqdm, orjson) applies only to changed copies of its files; we import them and copy none. LGPL is excluded:
# it requires that users can replace the library in every distributed program.
ALLOWED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC", "MIT", "MIT-CMU", "MPL-2.0"),
    *("PSF-2.0", "Unlicense", "Zlib"),
}
# Only the extra `postgres` installs psycopg, from an index and not from us; the wheel imports it, and has
# no copy of it.
EXCEPTIONS = {"psycopg": ["LGPL-3.0-only"], "psycopg-binary": ["LGPL-3.0-only"]}
# Other spellings used by packages
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
    """Licences in the metadata of a package: an SPDX expression, classifiers, or one line; not the full text."""
    classifiers = [entry for entry in package.get_all("Classifier", []) if entry.startswith("License ::")]
    entries = [package.get("License-Expression", ""), *(entry.split(" :: ")[-1] for entry in classifiers)]
    line = package.get("License", "")
    entries += [] if "\n" in line else [line]
    return [SPELLINGS.get(licence, licence) for licence in entries if licence not in ("", "UNKNOWN", "OSI Approved")]


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be satisfied by allowed licences."""
    words = re.findall(r"[()]|[^\s()]+", expression)

    def is_choice_allowed() -> bool:
        result = [is_conjunction_allowed()]
        while words[:1] == ["OR"]:
            words.pop(0)
            result.append(is_conjunction_allowed())
        return any(result)

    def is_conjunction_allowed() -> bool:
        result = [is_term_allowed()]
        while words[:1] == ["AND"]:
            words.pop(0)
            result.append(is_term_allowed())
        return all(result)

    def is_term_allowed() -> bool:
        word = words.pop(0) if words else ""
        if word == "(":
            inner = is_choice_allowed()
            return words[:1] == [")"] and bool(words.pop(0)) and inner
        if words[:1] == ["WITH"]:  # an exception removes a condition
            del words[:2]
        return word in ALLOWED

    return is_choice_allowed() and not words


def installed_packages(roots: list[Requirement]) -> dict[str, PackageMetadata]:
    """Metadata of each package installed by requirements, other than ours."""
    result: dict[str, PackageMetadata] = {}
    visited: set[tuple[str, str]] = set()

    def follow(entries: Iterator[Requirement]) -> None:
        for entry in entries:
            if entry.name in NAMES:  # checked separately
                continue
            for extra in ("", *entry.extras):
                if (entry.name, extra) not in visited:
                    visited.add((entry.name, extra))
                    result[entry.name] = metadata(entry.name)
                    below = [Requirement(line) for line in requires(entry.name) or []]
                    follow(entry for entry in below if entry.marker is None or entry.marker.evaluate({"extra": extra}))

    follow(iter(roots))
    return result


def offers():
    """What a user can install: each distribution and each extra."""
    for name, folder, _ in DISTRIBUTIONS:
        for extra, expected in requirements(folder).items():
            yield pytest.param(expected, id=f"{name}[{extra}]")


@pytest.mark.parametrize("group", list(offers()))
def test_each_dependency_has_an_allowed_licence(group):
    packages = installed_packages(group)
    assert packages
    licences_by_name = {name: licences(package) for name, package in packages.items()}
    assert {name: result for name, result in licences_by_name.items() if not result} == {}, "their licences are unknown"
    refused = {name: result for name, result in licences_by_name.items() if not all(map(is_allowed, result))}
    refused = {name: result for name, result in refused.items() if EXCEPTIONS.get(name) != result}
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
def test_expressions_of_licences_are_evaluated(expression, allowed):
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
