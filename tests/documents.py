"""The documents of the project, and what tests take from them: fenced blocks and the steps of a console."""

import re

from tests.distributions import ROOT

PATHS = [
    *ROOT.glob("*.md"),
    *(path for path in sorted(ROOT.glob("docs/**/*.md")) if "_build" not in path.parts),
    *ROOT.glob("[as]*/README.md"),
]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PATHS}


def fenced(text: str, language: str) -> list[str]:
    """Contents of the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def console_steps(block: str) -> list[tuple[str, str]]:
    """Each command of a console block, its continued lines joined, with the output that the page shows below it."""
    steps = re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (step.partition("\n") for step in steps)]
