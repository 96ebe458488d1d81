"""`benchwright serve` with `[server.sign_in]`, as a process: what the file says holds, and no secret is told."""

from __future__ import annotations

import http.client
import http.cookies
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from benchwright.cli import main
from openid_provider import CLIENT, SECRET, willing_provider

FILE = """
[server.sign_in]
issuer = "{issuer}"
client_id = "{client}"
client_secret = "${{file:secret.txt}}"
label = "Sign in with Example"
groups = {{ perf-team = "triage" }}
idle = "1h"
"""


def ask(address: str, path: str, cookies: dict[str, str]) -> tuple[http.client.HTTPResponse, bytes]:
    """One request of a browser that keeps its cookies."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    held = "; ".join(f"{name}={value}" for name, value in cookies.items())
    connection.request("GET", path, headers={"Cookie": held} if held else {})
    answer = connection.getresponse()
    body = answer.read()
    for line in answer.headers.get_all("Set-Cookie") or []:
        for name, morsel in http.cookies.SimpleCookie(line).items():
            cookies[name] = morsel.value
    connection.close()
    return answer, body


@pytest.mark.soak
def test_the_file_says_where_people_sign_in(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(f"{SECRET}\n")
    with willing_provider() as provider:
        (tmp_path / "benchwright.toml").write_text(FILE.format(issuer=provider.issuer, client=CLIENT))
        command = [sys.executable, "-m", "benchwright", "serve", "--port", "0", "--store", "results.db", "--json"]
        process = subprocess.Popen(
            [*command, "--log-requests", "--no-judge"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NO_PROXY": "*"},
        )
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["data"]["address"]
            cookies: dict[str, str] = {}
            answer, _ = ask(address, "/sign-in?next=%23%2Fruns", cookies)
            query = provider.authorize(answer.headers["Location"])
            answer, _ = ask(address, f"/sign-in/callback?{urlencode(query)}", cookies)
            assert answer.status == 303 and answer.headers["Location"] == f"{address}#/runs"
            _, body = ask(address, "/api/v1/about", cookies)
            about = json.loads(body)
            assert about["scopes"] == ["read", "triage"] and about["sign_in"] == "Sign in with Example"
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()
            process.communicate()
    assert "GET /sign-in/callback 303" in said
    assert not any(word in said for word in (SECRET, query["code"], query["state"], cookies["benchwright_session"]))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (FILE.format(issuer="https://login.example", client="x"), "secret.txt"),
        ('[server.sign_in]\nissuer = "https://x"\nclient_id = "y"\nclient_secret = "plain"\n', "written out"),
        ('[server.sign_in]\nissuer = "https://x"\nclient_id = "y"\ngroups = { a = "boss" }\n', "groups.a"),
        ('[server.sign_in]\nissuer = "https://x"\nclient = "y"\n', "client"),
        ('[server]\npublic_url = "bench.example"\n', "public_url"),
    ],
)
def test_a_file_that_is_wrong_is_refused_before_anything_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    (tmp_path / "benchwright.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--port", "0", "--store", "results.db"]) == 2
    said = capsys.readouterr().err
    assert says in said and "plain" not in said
    assert not (tmp_path / "results.db").exists()


def test_without_the_library_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "benchwright.toml").write_text('[server.sign_in]\nissuer = "https://x"\nclient_id = "y"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "benchwright.server.openid", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "joserfc"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "joserfc", None)
    assert main(["serve", "--port", "0", "--store", "results.db"]) == 2
    assert "pip install 'benchwright[oidc]'" in capsys.readouterr().err
    assert not (tmp_path / "results.db").exists()
