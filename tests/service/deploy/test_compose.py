"""compose.yaml, proxy.env and the template of nginx name what is there, and agree with the service and each other."""

import os
import re
import shutil
import subprocess

import pytest
import yaml

from service import Settings
from service.server.settings import ServerSettings
from tests.service.deploy.proxy import DEPLOY, filled, variables

COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
PROXY, SERVICE = COMPOSE["services"]["proxy"], COMPOSE["services"]["service"]
SIZES = {"m": 2**20, "g": 2**30}


def size(text):
    return int(text[:-1]) * SIZES[text[-1]]


def seconds(text):
    assert text.endswith("s")
    return int(text[:-1])


def environment():
    """Variables of the service, as a machine has them where none of its own is set."""
    return {name: re.sub(r"\$\{[A-Z_]+:-\}", "", value) for name, value in SERVICE["environment"].items()}


def test_what_is_built_and_mounted_is_there():
    context = DEPLOY / SERVICE["build"]["context"]
    assert (context / SERVICE["build"]["dockerfile"]).is_file()
    (mount,) = PROXY["volumes"]
    source, target, mode = mount.split(":")
    assert (DEPLOY / source).is_file()
    assert (target, mode) == ("/etc/nginx/templates/nginx.conf.template", "ro")
    assert (DEPLOY / PROXY["env_file"]).is_file()


def test_nginx_starts_with_what_the_image_has_filled_in():
    folder = PROXY["environment"]["NGINX_ENVSUBST_OUTPUT_DIR"]
    assert PROXY["command"][:3] == ["nginx", "-c", f"{folder}/nginx.conf"]
    assert any(entry.startswith(f"{folder}:") for entry in PROXY["tmpfs"])
    assert variables()["PROXY_FOLDER"] == folder
    chosen = PROXY["environment"]["NGINX_ENVSUBST_FILTER"]
    assert all(re.search(chosen, name) for name in variables())


def test_the_template_uses_each_variable_and_no_other():
    template = (DEPLOY / "nginx.conf.template").read_text()
    used = set(re.findall(r"\$\{([A-Z_]+)\}", template))
    assert used == set(variables())
    assert "${" not in filled(variables())


@pytest.mark.skipif(not shutil.which("envsubst"), reason="envsubst is not installed")
def test_envsubst_fills_in_what_the_tests_do():
    names = " ".join(f"${{{name}}}" for name in variables())
    template = (DEPLOY / "nginx.conf.template").read_text()
    done = subprocess.run(
        ["envsubst", names],
        input=template,
        env={**os.environ, **variables()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == filled(variables())


def test_the_addresses_fit_together():
    proxy = variables()
    dockerfile = (DEPLOY / SERVICE["build"]["context"] / SERVICE["build"]["dockerfile"]).read_text()
    (port,) = re.findall(r"^EXPOSE ([0-9]+)$", dockerfile, re.MULTILINE)
    assert proxy["PROXY_SERVICE"] == f"service:{port}"
    assert PROXY["ports"] == [f"80:{proxy['PROXY_HTTP']}", f"443:{proxy['PROXY_HTTPS']}"]
    assert f"http://127.0.0.1:{proxy['PROXY_HTTP']}/health/live" in PROXY["healthcheck"]["test"]
    assert "ports" not in SERVICE
    assert COMPOSE["networks"][SERVICE["networks"][0]] == {"internal": True}
    assert set(PROXY["networks"]) == set(COMPOSE["networks"])


def test_the_certificate_comes_from_files():
    paths = [f"/run/secrets/{name}" for name in PROXY["secrets"]]
    assert paths == [variables()["PROXY_CERTIFICATE"], variables()["PROXY_CERTIFICATE_KEY"]]
    assert set(PROXY["secrets"]) == set(COMPOSE["secrets"])
    for secret in COMPOSE["secrets"].values():
        assert re.fullmatch(r"\$\{TLS_[A-Z]+:\?.+\}", secret["file"])


def test_the_settings_are_those_of_the_service():
    known = {name for owner in (Settings(), ServerSettings()) for name, _, _ in owner.table()}
    assert set(environment()) <= known
    settings, server = Settings.from_environment(environment()), ServerSettings.from_environment(environment())
    assert settings.trusted_proxies == 1
    proxy = variables()
    assert int(proxy["PROXY_MAX_BODY_BYTES"]) == settings.limits.max_body_bytes
    assert seconds(proxy["PROXY_ANSWER_TIME"]) > settings.max_wait_seconds + settings.limits.max_seconds
    assert seconds(proxy["PROXY_CLIENT_TIME"]) == server.client_seconds
    assert seconds(SERVICE["stop_grace_period"]) >= server.drain_seconds + server.seconds_to_stop(settings)


def test_the_limits_of_memory_leave_room_for_what_the_settings_allow():
    settings, server = Settings.from_environment(environment()), ServerSettings.from_environment(environment())
    limits = settings.limits
    of_request = limits.max_work_bytes + 30 * limits.max_body_bytes + limits.max_label_bytes
    of_clients = server.max_buffered_bytes + 128 * 2**10 * server.max_connections
    of_worker = 120 * 10**6 + of_clients + settings.max_concurrent * of_request
    assert size(SERVICE["mem_limit"]) >= server.workers * of_worker
    (tmpfs,) = [entry for entry in PROXY["tmpfs"] if entry.startswith("/run/nginx")]
    assert size(PROXY["mem_limit"]) >= 2 * size(re.search(r"size=(\w+)", tmpfs)[1])


@pytest.mark.parametrize("container", [PROXY, SERVICE], ids=["proxy", "service"])
def test_each_container_may_write_nowhere_else_and_has_a_limit_of_memory(container):
    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert size(container["mem_limit"]) > 0
    assert container["tmpfs"]


def test_each_container_has_a_health_check():
    dockerfile = (DEPLOY / SERVICE["build"]["context"] / SERVICE["build"]["dockerfile"]).read_text()
    assert "\nHEALTHCHECK " in dockerfile
    assert PROXY["depends_on"]["service"]["condition"] == "service_healthy"
    assert PROXY["healthcheck"]["test"][0] == "CMD"
