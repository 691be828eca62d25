"""compose.yaml, proxy.env and the template of nginx are consistent with the repository, the service and each other."""

import os
import re
import shutil
import subprocess

import pytest
import yaml

from service.server.launch import COLLECT as COLLECT_PROGRAM
from service.server.launch import SERVE
from tests.service.deploy.proxy import DEPLOY, fill_configuration, variables

pytestmark = pytest.mark.wide

TEXT = (DEPLOY / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
PROXY, SERVICE, COLLECT, DATABASE = (COMPOSE["services"][name] for name in ("proxy", "service", "collect", "database"))
# Variables that have to be set to start it
REQUIRED = {"COLLECT_HOST": "votes.example.org", "COLLECT_DATABASE_PASSWORD": "p@ss/word"}
SIZES = {"m": 2**20, "g": 2**30}


def size(text):
    return int(text[:-1]) * SIZES[text[-1]]


def seconds(text):
    assert text.endswith("s")
    return int(text[:-1])


def environment(container):
    """Variables of a container, as filled in by compose if only required variables are set."""

    def value(result):
        name, default = result[1], result[2]
        return REQUIRED[name] if default is None or default.startswith(":?") else default.removeprefix(":-")

    text = r"\$\{([A-Z_]+)(:[-?][^}]*)?\}"
    return {name: re.sub(text, value, text_of_value) for name, text_of_value in container["environment"].items()}


def settings_of(container, program):
    """Settings of the processes and of the application; /assets is a folder of the container."""
    all_variables = environment(container)
    assert all_variables.pop("RANKCORR_ASSETS", "/assets") == "/assets"
    return program.read(all_variables)


APPLICATIONS = pytest.mark.parametrize(
    ("container", "program"), [(SERVICE, SERVE), (COLLECT, COLLECT_PROGRAM)], ids=["service", "collect"]
)


def test_built_and_mounted_paths_exist():
    context = DEPLOY / SERVICE["build"]["context"]
    assert (context / SERVICE["build"]["dockerfile"]).is_file()
    assert COLLECT["build"] == SERVICE["build"]
    assert COLLECT["command"] == [COLLECT_PROGRAM.name]
    for volume in (*COLLECT["volumes"], *DATABASE["volumes"]):
        assert re.match(r"(?:\$\{COLLECT_ASSETS:-)?([a-z]+)\}?:/", volume)[1] in COMPOSE["volumes"]
    (mount,) = PROXY["volumes"]
    source, target, mode = mount.split(":")
    assert (DEPLOY / source).is_file()
    assert (target, mode) == ("/etc/nginx/templates/nginx.conf.template", "ro")
    assert (DEPLOY / PROXY["env_file"]).is_file()


def test_nginx_starts_with_the_filled_in_configuration():
    folder = PROXY["environment"]["NGINX_ENVSUBST_OUTPUT_DIR"]
    assert PROXY["command"][:3] == ["nginx", "-c", f"{folder}/nginx.conf"]
    assert any(entry.startswith(f"{folder}:") for entry in PROXY["tmpfs"])
    assert variables()["PROXY_FOLDER"] == folder
    name_filter = PROXY["environment"]["NGINX_ENVSUBST_FILTER"]
    assert all(re.search(name_filter, name) for name in variables())


def test_the_template_uses_exactly_the_variables_of_proxy_env():
    template = (DEPLOY / "nginx.conf.template").read_text()
    used = set(re.findall(r"\$\{([A-Z_]+)\}", template))
    assert used == set(variables())
    assert "${" not in fill_configuration(variables())


@pytest.mark.skipif(not shutil.which("envsubst"), reason="envsubst is not installed")
def test_envsubst_fills_in_the_template_like_the_tests():
    names = " ".join(f"${{{name}}}" for name in variables())
    template = (DEPLOY / "nginx.conf.template").read_text()
    process = subprocess.run(
        ["envsubst", names],
        input=template,
        env={**os.environ, **variables()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == fill_configuration(variables())


def test_the_addresses_are_consistent():
    proxy = variables()
    dockerfile = (DEPLOY / SERVICE["build"]["context"] / SERVICE["build"]["dockerfile"]).read_text()
    (port,) = re.findall(r"^EXPOSE ([0-9]+)$", dockerfile, re.MULTILINE)
    assert proxy["PROXY_SERVICE"] == f"service:{port}"
    assert proxy["PROXY_COLLECT_SERVICE"] == f"collect:{port}"
    assert PROXY["ports"] == [f"80:{proxy['PROXY_HTTP']}", f"443:{proxy['PROXY_HTTPS']}"]
    assert f"http://127.0.0.1:{proxy['PROXY_HTTP']}/health/live" in PROXY["healthcheck"]["test"]
    assert COMPOSE["networks"] == {"outside": None, "inside": {"internal": True}, "storage": {"internal": True}}
    assert [container["networks"] for container in (PROXY, SERVICE, COLLECT, DATABASE)] == [
        ["outside", "inside"],
        ["inside"],
        ["inside", "storage"],
        ["storage"],
    ]
    assert [name for name, container in COMPOSE["services"].items() if "ports" in container] == ["proxy"]


def test_the_host_name_for_voters_is_consistent():
    assert PROXY["environment"]["PROXY_COLLECT_HOST"].startswith("${COLLECT_HOST:?")
    assert settings_of(COLLECT, COLLECT_PROGRAM)[1].public_url == "https://votes.example.org"


def test_the_password_of_the_database_is_consistent():
    collect, database = environment(COLLECT), environment(DATABASE)
    user, name = database["POSTGRES_USER"], database["POSTGRES_DB"]
    assert collect["RANKCORR_LEDGER"] == f"postgresql://{user}@database/{name}"
    assert collect["PGPASSWORD"] == database["POSTGRES_PASSWORD"] == REQUIRED["COLLECT_DATABASE_PASSWORD"]
    assert DATABASE["healthcheck"]["test"][0] == "CMD"
    assert {f"--username={user}", f"--dbname={name}"} <= set(DATABASE["healthcheck"]["test"])
    assert COLLECT["depends_on"]["database"]["condition"] == "service_healthy"
    (volume,) = DATABASE["volumes"]
    assert volume.endswith(":/var/lib/postgresql/data")


def test_required_variables_are_requested_and_no_secret_is_in_the_file():
    required = set(re.findall(r"\$\{([A-Z_]+):\?", TEXT))
    assert required == {*REQUIRED, "TLS_CERTIFICATE", "TLS_KEY"}
    assert set(re.findall(r"\$\{([A-Z_]+)", TEXT)) == required | {
        "RANKCORR_TOKENS",
        "COLLECT_TOKENS",
        "COLLECT_ASSETS",
        "SERVICE_HOST",
    }
    for container in COMPOSE["services"].values():
        for name, value in container.get("environment", {}).items():
            if any(word in name for word in ("PASSWORD", "TOKENS")):
                assert re.fullmatch(r"\$\{[A-Z_]+(?::[-?][^}]*)?\}", value)


def test_the_certificate_comes_from_files():
    paths = [f"/run/secrets/{name}" for name in PROXY["secrets"]]
    assert paths == [variables()["PROXY_CERTIFICATE"], variables()["PROXY_CERTIFICATE_KEY"]]
    assert set(PROXY["secrets"]) == set(COMPOSE["secrets"])
    for secret in COMPOSE["secrets"].values():
        assert re.fullmatch(r"\$\{TLS_[A-Z]+:\?.+\}", secret["file"])


@APPLICATIONS
def test_the_settings_are_those_of_the_program(container, program):
    known = {name for name, _, _ in program.table()} | {"PGPASSWORD"}
    assert set(environment(container)) <= known
    server, settings = settings_of(container, program)
    assert settings.trusted_proxies == 1
    proxy = variables()
    limit_name = "PROXY_COLLECT_MAX_BODY_BYTES" if container is COLLECT else "PROXY_MAX_BODY_BYTES"
    assert int(proxy[limit_name]) == settings.limits.max_body_bytes
    assert seconds(proxy["PROXY_ANSWER_TIME"]) > 2 * settings.max_wait_seconds + 3 * settings.limits.max_seconds
    assert seconds(proxy["PROXY_CLIENT_TIME"]) == server.client_seconds
    assert seconds(container["stop_grace_period"]) >= server.drain_seconds + server.seconds_to_stop(settings)


@APPLICATIONS
def test_memory_limits_suffice_for_the_settings(container, program):
    server, settings = settings_of(container, program)
    limits = settings.limits
    of_worker = 120 * 10**6 + (settings.max_waiting + 8) * limits.max_body_bytes  # one for each thread
    n_places = settings.max_heavy or server.workers
    n_children = n_places + 1 + (max(1, n_places // 2) if container is SERVICE else 0)
    waiting = settings.max_waiting * limits.max_body_bytes
    assert size(container["mem_limit"]) >= server.workers * of_worker + n_children * limits.max_work_bytes + waiting


def test_waiting_bodies_leave_memory_for_the_proxy():
    (tmpfs,) = [entry for entry in PROXY["tmpfs"] if entry.startswith("/run/nginx")]
    assert size(PROXY["mem_limit"]) >= 2 * size(re.search(r"size=(\w+)", tmpfs)[1])


@pytest.mark.parametrize("container", [PROXY, SERVICE, COLLECT, DATABASE], ids=list(COMPOSE["services"]))
def test_containers_are_read_only_and_have_a_memory_limit(container):
    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert size(container["mem_limit"]) > 0
    assert container["tmpfs"]


def test_each_container_has_a_health_check():
    dockerfile = (DEPLOY / SERVICE["build"]["context"] / SERVICE["build"]["dockerfile"]).read_text()
    assert "\nHEALTHCHECK " in dockerfile
    assert PROXY["depends_on"] == {name: {"condition": "service_healthy"} for name in ("service", "collect")}
    assert PROXY["healthcheck"]["test"][0] == "CMD"
