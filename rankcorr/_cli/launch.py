"""The commands of rankcorr-adaptive and rankcorr-service, kept where no other project's package overwrites them.

Other projects have packages named `adaptive` and `service` too. If one is installed over ours, it replaces our
`__init__.py` and leaves our other modules in the same folder. Each `__init__.py` of ours therefore names its
distribution, and is read here before anything of the package is imported.
"""

import re
import sys
from importlib import import_module
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

from rankcorr._io.source import printable


def ballots() -> None:
    """Run the command `ballots`."""
    _run("ballots", "adaptive._cli.main", "main", needed=("adaptive",))


def serve() -> None:
    """Run the command `rankcorr-serve`."""
    _run("rankcorr-serve", "service.server.launch", "serve", needed=("adaptive", "service"))


def collect() -> None:
    """Run the command `rankcorr-collect`."""
    _run("rankcorr-collect", "service.server.launch", "collect", needed=("adaptive", "service"))


def _run(command: str, module: str, function: str, *, needed: tuple[str, ...]) -> None:
    for package in needed:
        if obstacle := _obstacle(package):
            print(f"{command}: error: {printable(obstacle, limit=None)}", file=sys.stderr)
            sys.exit(2)
    getattr(import_module(module), function)()


def _obstacle(package: str) -> str | None:
    """Return why a package of ours cannot be used, and what to do; None if it can."""
    distribution = f"rankcorr-{package}"
    spec = find_spec(package)  # imports nothing, because the name has no dot
    if spec is None:
        return f"the package {package} is not installed: run pip install {distribution}"
    if spec.origin is None:  # another project was uninstalled, and took the file along
        folder = ", ".join(spec.submodule_search_locations or ())
        return f"the package {package} in {folder} has no __init__.py: reinstall {distribution}"
    if _names(spec.origin, distribution):
        return None
    others = sorted(set(packages_distributions().get(package, ())) - {distribution})
    owner = " and ".join(others)
    return (
        f"the package {package} in {spec.origin} belongs to {owner or 'another project'}, not to {distribution}: "
        f"install {distribution} in a separate environment, or uninstall {owner or 'that project'} "
        f"and reinstall {distribution}"
    )


def _names(file: str, distribution: str) -> bool:
    """Whether a line of a source file sets `__distribution__` to the name of a distribution."""
    line = rf'^__distribution__ = "{distribution}"\r?$'.encode()
    try:
        return re.search(line, Path(file).read_bytes(), re.MULTILINE) is not None
    except OSError:  # unreadable, or a part of Python itself
        return False
