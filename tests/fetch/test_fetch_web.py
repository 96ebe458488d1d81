"""Downloads from a server that misbehaves in every way that servers do."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import FetchError, OptionError
from benchwright.fetch.downloads import fetch

BODY = random.Random(7).randbytes(300_000)
SHA256 = hashlib.sha256(BODY).hexdigest()
MD5 = hashlib.md5(BODY).hexdigest()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "data" / "model.bin"


@pytest.fixture(autouse=True)
def file(site: Any) -> None:
    site.files["/model.bin"] = BODY


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_and_alone(site: Any, target: Path) -> None:
    heard: list[tuple[int, int | None]] = []
    assert (
        fetch(site.url("/model.bin"), target, sha256=SHA256.upper(), md5=MD5, progress=lambda *n: heard.append(n))
        == target
    )
    assert target.read_bytes() == BODY
    assert names(target.parent) == ["model.bin"]
    assert heard[-1] == (len(BODY), len(BODY)) and heard == sorted(heard)


def test_a_target_that_is_there_is_not_fetched_again(site: Any, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(b"mine")
    fetch(site.url("/model.bin"), target)
    assert target.read_bytes() == b"mine" and not site.requests


def test_a_target_with_another_digest_is_an_error_and_stays(site: Any, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(b"mine")
    with pytest.raises(FetchError) as caught:
        fetch(site.url("/model.bin"), target, sha256=SHA256)
    assert SHA256 in str(caught.value) and hashlib.sha256(b"mine").hexdigest() in str(caught.value)
    assert "remove it" in caught.value.remedy
    assert target.read_bytes() == b"mine" and not site.requests


def test_a_link_to_nothing_is_not_replaced(site: Any, target: Path) -> None:
    target.parent.mkdir()
    target.symlink_to("elsewhere")
    with pytest.raises(FetchError, match="link to nothing"):
        fetch(site.url("/model.bin"), target)
    assert target.is_symlink()


def test_a_cut_connection_is_continued_where_it_ended(site: Any, target: Path) -> None:
    site.script = [partial(site_serve, cut=100_000), partial(site_serve, cut=50_000)]
    fetch(site.url("/model.bin"), target, sha256=SHA256)
    assert [request.get("range") for request in site.requests] == [None, "bytes=100000-", "bytes=150000-"]
    assert target.read_bytes() == BODY and names(target.parent) == ["model.bin"]


def site_serve(answer: Any, **options: Any) -> None:
    answer.serve(**options)


def test_a_cut_by_the_date_alone(site: Any, target: Path) -> None:
    site.validators = ("Last-Modified",)
    site.script = [partial(site_serve, cut=100_000)]
    fetch(site.url("/model.bin"), target)
    assert site.requests[1]["if-range"] == "Mon, 02 Feb 2026 00:00:00 GMT" and "range" in site.requests[1]
    assert target.read_bytes() == BODY


def test_without_anything_that_names_its_version_it_begins_again(site: Any, target: Path) -> None:
    site.validators = ()
    site.script = [partial(site_serve, cut=100_000)]
    fetch(site.url("/model.bin"), target)
    assert "range" not in site.requests[1] and target.read_bytes() == BODY


def test_a_server_that_ignores_ranges_is_read_from_the_beginning(site: Any, target: Path) -> None:
    site.script = [partial(site_serve, cut=100_000), partial(site_serve, ranges=False)]
    fetch(site.url("/model.bin"), target)
    assert "range" in site.requests[1] and target.read_bytes() == BODY


@pytest.mark.parametrize("if_range", [True, False], ids=["honest", "ignores If-Range"])
def test_a_file_that_changed_between_attempts_is_read_from_the_beginning(
    site: Any, target: Path, if_range: bool
) -> None:
    changed = random.Random(8).randbytes(len(BODY))

    def cut_and_change(answer: Any) -> None:
        answer.serve(cut=100_000)
        site.files["/model.bin"] = changed

    site.script = [cut_and_change, partial(site_serve, if_range=if_range)]
    fetch(site.url("/model.bin"), target)
    assert target.read_bytes() == changed


def test_a_file_that_became_shorter_than_what_is_here(site: Any, target: Path) -> None:
    def cut_and_change(answer: Any) -> None:
        answer.serve(cut=100_000)
        site.files["/model.bin"] = b"short"

    site.script = [cut_and_change, partial(site_serve, if_range=False)]  # answers 416
    fetch(site.url("/model.bin"), target)
    assert target.read_bytes() == b"short"


def test_a_server_that_lies_about_the_length_gives_no_file(site: Any, target: Path) -> None:
    site.script = [partial(site_serve, extra=10, ranges=False)] * 3
    with pytest.raises(FetchError, match=f"ended after {len(BODY)} of {len(BODY) + 10} bytes.*3 attempts"):
        fetch(site.url("/model.bin"), target, retries=2)
    assert not target.exists() and len(site.requests) == 3


def test_what_was_left_is_continued_by_the_next_call(site: Any, target: Path) -> None:
    site.script = [partial(site_serve, cut=100_000)]
    with pytest.raises(FetchError, match="goes on where it stopped"):
        fetch(site.url("/model.bin"), target, retries=0)
    assert not target.exists()
    fetch(site.url("/model.bin"), target, sha256=SHA256)
    assert site.requests[1]["range"] == "bytes=100000-"
    assert names(target.parent) == ["model.bin"]


def test_what_was_left_of_another_address_is_not_continued(site: Any, target: Path) -> None:
    site.files["/other.bin"] = BODY[::-1]
    site.script = [partial(site_serve, cut=100_000)]
    with pytest.raises(FetchError):
        fetch(site.url("/other.bin"), target, retries=0)
    fetch(site.url("/model.bin"), target)
    assert "range" not in site.requests[1] and target.read_bytes() == BODY


def test_damage_in_what_was_left_is_found_and_fetched_anew(site: Any, target: Path) -> None:
    site.script = [partial(site_serve, cut=100_000)]
    with pytest.raises(FetchError):
        fetch(site.url("/model.bin"), target, retries=0)
    left = target.with_name(".model.bin.partial")
    left.write_bytes(bytes(100_000))
    fetch(site.url("/model.bin"), target, sha256=SHA256)
    assert target.read_bytes() == BODY and len(site.requests) == 3


def test_all_here_but_not_yet_named(site: Any, target: Path) -> None:
    site.script = [partial(site_serve, cut=100_000)]
    with pytest.raises(FetchError):
        fetch(site.url("/model.bin"), target, retries=0)
    target.with_name(".model.bin.partial").write_bytes(BODY)
    fetch(site.url("/model.bin"), target)
    assert target.read_bytes() == BODY and site.requests[1]["range"] == f"bytes={len(BODY) - 1}-"


def test_a_note_that_is_rubbish_is_no_note(site: Any, target: Path) -> None:
    target.parent.mkdir()
    target.with_name(".model.bin.partial").write_bytes(b"rubbish")
    for rubbish in ("", "[]", '{"source": 1, "more": 2}', "\x00"):
        target.with_name(".model.bin.note").write_text(rubbish)
        fetch(site.url("/model.bin"), target, sha256=SHA256)
        assert target.read_bytes() == BODY
        target.unlink()


def test_a_wrong_digest_is_an_error_and_leaves_nothing(site: Any, target: Path) -> None:
    with pytest.raises(FetchError) as caught:
        fetch(site.url("/model.bin"), target, sha256="0" * 64)
    assert "0" * 64 in str(caught.value) and SHA256 in str(caught.value)
    assert names(target.parent) == [] and len(site.requests) == 1


@pytest.mark.parametrize("digests", [{"sha256": "abc"}, {"md5": SHA256}, {"sha256": "g" * 64}])
def test_a_digest_that_cannot_be_one_is_refused_first(site: Any, target: Path, digests: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="digits"):
        fetch(site.url("/model.bin"), target, **digests)
    assert not site.requests


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410])
def test_a_refusal_is_final_and_its_page_is_not_the_file(site: Any, target: Path, code: int) -> None:
    site.script = [lambda answer: answer.refuse(code)] * 2
    with pytest.raises(FetchError, match=str(code)):
        fetch(site.url("/model.bin"), target)
    assert names(target.parent) == [] and len(site.requests) == 1


@pytest.mark.parametrize("code", [429, 500, 503])
def test_trouble_that_passes(site: Any, target: Path, code: int) -> None:
    site.script = [lambda answer: answer.refuse(code, Retry_After="0")] * 2
    fetch(site.url("/model.bin"), target)
    assert target.read_bytes() == BODY and len(site.requests) == 3


def test_trouble_that_does_not_pass(site: Any, target: Path) -> None:
    site.script = [lambda answer: answer.refuse(503)] * 9
    with pytest.raises(FetchError, match=r"503 Service Unavailable \(4 attempts\)"):
        fetch(site.url("/model.bin"), target)
    assert len(site.requests) == 4


def test_an_empty_answer_is_tried_again(site: Any, target: Path) -> None:
    site.script = [lambda answer: None]
    fetch(site.url("/model.bin"), target)
    assert target.read_bytes() == BODY


def test_a_server_that_is_silent(site: Any, target: Path) -> None:
    held = threading.Event()
    site.script = [lambda answer: held.wait(10)]
    with pytest.raises(FetchError, match="silent"):
        fetch(site.url("/model.bin"), target, retries=0, timeout=0.2)
    held.set()


def test_nobody_listens(site: Any, target: Path) -> None:
    with pytest.raises(FetchError, match=r"refused \(2 attempts\)"):
        fetch("http://127.0.0.1:1/model.bin", target, retries=1)


def test_chunks_without_a_length(site: Any, target: Path) -> None:
    pieces = [BODY[:1000], BODY[1000:5000]]
    site.script = [lambda answer: answer.chunked(pieces, whole=False), lambda answer: answer.chunked(pieces)]
    fetch(site.url("/model.bin"), target)
    assert target.read_bytes() == BODY[:5000] and len(site.requests) == 2


def test_an_empty_file(site: Any, target: Path) -> None:
    site.files["/empty"] = b""
    fetch(site.url("/empty"), target)
    assert target.read_bytes() == b""


def test_redirects_are_followed_also_when_continuing(site: Any, target: Path) -> None:
    site.script = [
        lambda answer: answer.redirect("/model.bin"),
        partial(site_serve, cut=100_000),
        lambda answer: answer.redirect(site.url("/model.bin")),
    ]
    fetch(site.url("/moved"), target)
    assert target.read_bytes() == BODY
    assert [(r["path"], r.get("range")) for r in site.requests[2:]] == [
        ("/moved", "bytes=100000-"),
        ("/model.bin", "bytes=100000-"),
    ]


def test_redirects_without_end(site: Any, target: Path) -> None:
    site.script = [lambda answer: answer.redirect("/model.bin")] * 50
    with pytest.raises(FetchError, match="redirects without end"):
        fetch(site.url("/model.bin"), target)
    assert len(site.requests) <= 11


def test_a_chain_of_redirects_is_bounded(site: Any, target: Path) -> None:
    def onwards(answer: Any) -> None:
        answer.redirect(f"{answer.path}x")

    site.script = [onwards] * 50
    with pytest.raises(FetchError, match="redirects without end"):
        fetch(site.url("/a"), target)
    assert len(site.requests) == 11


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_a_redirect_to_another_kind_of_place_is_refused(site: Any, target: Path, to: str) -> None:
    site.script = [lambda answer: answer.redirect(to)]
    with pytest.raises(FetchError):
        fetch(site.url("/model.bin"), target)
    assert not target.exists()


def test_a_certificate_that_nobody_vouches_for_is_final(safe_site: Any, target: Path) -> None:
    with pytest.raises(FetchError, match="certificate is not trusted"):
        fetch(safe_site.url("/model.bin"), target)
    assert not safe_site.requests


def test_a_redirect_never_leaves_https(
    site: Any, safe_site: Any, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trust.pem"))
    safe_site.script = [lambda answer: answer.redirect(site.url("/model.bin"))]
    with pytest.raises(FetchError, match="not as safe"):
        fetch(safe_site.url("/model.bin"), target)
    assert not site.requests
    site.script = [lambda answer: answer.redirect(safe_site.url("/model.bin"))]
    assert fetch(site.url("/model.bin"), target).read_bytes() == BODY


def test_credentials_are_sent_and_never_shown(site: Any, target: Path) -> None:
    url = site.url("/gone?token=t0ken").replace("://", "://ada:s3cret@")
    with pytest.raises(FetchError) as caught:
        fetch(url, target)
    assert site.requests[0]["authorization"] == "Basic YWRhOnMzY3JldA=="
    assert site.requests[0]["path"] == "/gone?token=t0ken"
    for secret in ("ada", "s3cret", "t0ken"):
        assert secret not in str(caught.value)
    assert "/gone?token=*** answered 404" in str(caught.value)


def test_credentials_stay_with_their_server(site: Any, target: Path) -> None:
    elsewhere = site.url("/model.bin").replace("127.0.0.1", "localhost")
    site.script = [lambda answer: answer.redirect("/again"), lambda answer: answer.redirect(elsewhere)]
    fetch(site.url("/x").replace("://", "://ada:s3cret@"), target)
    assert ["authorization" in request for request in site.requests] == [True, True, False]


def test_credentials_are_not_in_what_is_left_behind(site: Any, target: Path) -> None:
    site.script = [partial(site_serve, cut=1000)]
    with pytest.raises(FetchError):
        fetch(site.url("/model.bin?token=t0ken").replace("://", "://ada:s3cret@"), target, retries=0)
    note = target.with_name(".model.bin.note").read_text()
    assert json.loads(note)["total"] == len(BODY) and "s3cret" not in note and "t0ken" not in note


@pytest.mark.parametrize("url", ["http://", "http://[::1", "http://host:port/x", "https:///x"])
def test_what_is_no_address(site: Any, target: Path, url: str) -> None:
    with pytest.raises(FetchError):
        fetch(url, target)


def test_spaces_and_signs_in_an_address(site: Any, target: Path) -> None:
    site.files["/a%20b/%C3%A9.bin"] = BODY
    fetch(site.url("/a b/é.bin"), target)
    assert target.read_bytes() == BODY


def test_a_disk_that_does_not_take_it(site: Any, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder is needed")
    with pytest.raises(FetchError, match="data"):
        fetch(site.url("/model.bin"), tmp_path / "data" / "model.bin")
