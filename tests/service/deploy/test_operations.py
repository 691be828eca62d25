"""The commands in the pages on deployment and backups work as described.

A stand-in for docker runs the commands of containers on this machine, with a test database.
"""

import os
import re
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from adaptive.ledger import Ledger
from tests.adaptive.ledger.databases import SERVER, campaign_with_votes
from tests.repository import PAGES, find_fenced
from tests.service.collect.live import run_collect
from tests.service.deploy.proxy import DEPLOY, make_certificate
from tests.service.deploy.test_compose import COMPOSE

TOOLS = ("pg_dump", "pg_restore", "createdb", "dropdb")
pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(
        not all(map(shutil.which, (*TOOLS, "openssl"))), reason="the tools of PostgreSQL or openssl are not installed"
    ),
]

DOCKER = """#!{python}
import os, subprocess, sys
options = {{"exec": {{"-T"}}, "run": {{"-T", "--rm"}}, "stop": set(), "start": set(), "build": set(),
           "up": {{"--build", "--detach", "--no-deps", "--force-recreate"}}}}
compose, command, *words = sys.argv[1:]
flags = [word for word in words[:2 if command in ("exec", "run") else None] if word.startswith("-")]
assert compose == "compose" and set(flags) <= options[command], sys.argv
names = words[len(flags):]
with open({log!r}, "a") as log:
    print(command, *names[:1], file=log)
assert set(names[:1]) <= {{{services}}}, names
if command in ("exec", "run"):
    service, *run = names
    renamed = {{"rankcorr": {database!r}, "--dbname=rankcorr": "--dbname=" + {database!r},
               "--username=rankcorr": "--username=postgres", "--directory=/assets": "--directory=" + {assets!r},
               "python": {python!r}}}
    run = [renamed.get(word, word).replace("127.0.0.1:8000", {address!r}) for word in run]
    sys.exit(subprocess.run(run).returncode)
"""


def blocks(page, heading):
    """The commands below a heading of a page."""
    _, _, rest = PAGES[page].partition(f"\n## {heading}\n")
    return find_fenced(re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0], "bash")


@pytest.fixture
def database():
    """Name of a database that is dropped afterwards, together with the one that the page restores to."""
    name = f"rankcorr_{secrets.token_hex(6)}"
    with psycopg.connect(SERVER, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield name
        for test_database in (name, f"{name}_restored"):
            server.execute(f"DROP DATABASE IF EXISTS {test_database} WITH (FORCE)")


@pytest.fixture
def shell(tmp_path, database):
    """Run commands in a folder with the stand-in for docker on the path; return the lines of its log."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "bin").mkdir()

    def run(commands, *, address="", **variables):
        log, docker = tmp_path / "docker.log", tmp_path / "bin" / "docker"
        parts = {"python": sys.executable, "log": str(log), "database": database, "address": address}
        services = ", ".join(map(repr, COMPOSE["services"]))
        docker.write_text(DOCKER.format(**parts, services=services, assets=str(tmp_path / "assets")))
        docker.chmod(0o755)
        server = psycopg.conninfo.conninfo_to_dict(SERVER)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("RANKCORR_", "PG"))},
            "PATH": os.pathsep.join([str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PGHOST": server["host"],
            "PGPORT": str(server.get("port", 5432)),
            "PGUSER": server["user"],
            "RANKCORR_LEDGER": url_of(database),
            **variables,
        }
        log.write_text("")
        command = ["bash", "-euo", "pipefail", "-c", commands]
        process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout, log.read_text().splitlines()

    return run


def url_of(database):
    return f"{SERVER.rsplit('/', 1)[0]}/{database}"


def votes_at(target):
    ledger = Ledger.open(target)
    try:
        return len(ledger.campaign().events_after(0, most=1_000))
    finally:
        ledger.close()


def cast_votes(target):
    """Make a campaign with votes; return their number."""
    campaign_with_votes(target).database.close()
    return votes_at(target)


def lose_votes(database):
    """Remove all tables, so that only a restore brings the votes back."""
    with psycopg.connect(url_of(database), autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")


def test_a_file_is_restored_from_its_backup(shell, tmp_path):
    n_votes = cast_votes(str(tmp_path / "voting.db"))
    shell("ballots run backup voting.db monday.db")
    (tmp_path / "voting.db").write_bytes(b"")
    (restore,) = blocks("docs/how-to/backup.md", "SQLite")
    shell(restore)
    assert votes_at(str(tmp_path / "voting.db")) == n_votes > 0


def test_a_database_is_restored_from_its_dump(shell, database):
    n_votes = cast_votes(url_of(database))
    dump, restore = blocks("docs/how-to/backup.md", "PostgreSQL")
    shell(dump)
    shell(re.sub(r"\brestored\b", f"{database}_restored", restore))
    assert votes_at(url_of(f"{database}_restored")) == n_votes > 0


def test_compose_restores_votes_and_images(shell, database, tmp_path):
    n_votes = cast_votes(url_of(database))
    (tmp_path / "assets" / "oak.png").write_bytes(b"png")
    back_up, restore = blocks("docs/how-to/backup.md", "Docker Compose")
    shell(back_up)
    (tmp_path / "assets" / "oak.png").unlink()
    lose_votes(database)
    _, log = shell(restore)
    assert (log[0], log[-2]) == ("stop collect", "start collect")
    assert votes_at(url_of(database)) == n_votes > 0
    assert (tmp_path / "assets" / "oak.png").read_bytes() == b"png"


def test_a_ledger_is_upgraded(shell, database, tmp_path):
    n_votes = cast_votes(str(tmp_path / "voting.db"))
    cast_votes(url_of(database))
    alone, compose = blocks("docs/how-to/backup.md", "Upgrade")
    shell(alone)
    assert votes_at(str(tmp_path / "before.db")) == n_votes
    _, log = shell(compose)
    assert log == ["build", "exec database", "stop collect", "run collect", "up"]
    assert votes_at(url_of(database)) > 0


def test_the_variables_of_compose_are_in_the_file_beside_it(shell, tmp_path):
    start = blocks("docs/how-to/deployment.md", "With Docker Compose")[0]
    (tmp_path / "service" / "deploy").mkdir(parents=True)
    _, log = shell(start)
    assert log == ["up"]
    written = tmp_path / "service" / "deploy" / ".env"
    assert written.stat().st_mode & 0o077 == 0
    variables = dict(line.split("=", 1) for line in written.read_text().splitlines())
    needed = set(re.findall(r"\$\{([A-Z_]+):\?", (DEPLOY / "compose.yaml").read_text()))
    assert needed <= set(variables)
    assert all(variables.values())
    assert not any("$" in value for value in variables.values())  # compose would interpret it as a variable
    page = PAGES["docs/how-to/deployment.md"]
    assert all(f"`{name}`" in page for name in variables)


def test_the_operator_creates_another_link_and_reads_the_metrics(shell, database, tmp_path):
    link, metrics = blocks("docs/how-to/deployment.md", "With Docker Compose")[1:3]
    with run_collect(tmp_path, target=url_of(database)) as (server, campaign):
        printed, _ = shell(link, RANKCORR_PUBLIC_URL=server.url)
        url, _, token = printed.strip().splitlines()[-1].partition("#")
        assert url.endswith(f"/o/{campaign.key}")
        headers = {"Authorization": f"Bearer {token}"}
        assert server.ask("GET", f"/v1/campaigns/{campaign.key}", headers=headers)[0] == 200
        printed, _ = shell(metrics, address=f"{server.host}:{server.port}")
        assert "rankcorr_build_info" in printed


def test_a_certificate_that_ends_soon_is_noticed(shell, tmp_path):
    check = blocks("docs/how-to/deployment.md", "With Docker Compose")[3]
    certificate, _ = make_certificate(tmp_path)  # for two days
    (tmp_path / ".env").write_text(f"TLS_CERTIFICATE={certificate}\n")
    with pytest.raises(AssertionError, match="Certificate will expire"):
        shell(check)
    _, log = shell(check.replace("604800", "3600"))
    assert log == ["up proxy"]
