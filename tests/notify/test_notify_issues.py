"""Issues and comments at forges that answer as documented, on the loopback: each is made once, and no secret shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchwright.config import Project
from benchwright.errors import OptionError, UploadError
from benchwright.notify.issues import can_send, open_tracker
from benchwright.records.findings import Finding
from benchwright.vcs.forges import Projects
from benchwright.workflows.forge_issues import IssueDesk
from forge_peer import TOKEN, ForgePeer

Make = Callable[..., Finding]
KINDS = ["github", "gitlab", "gitea"]


@pytest.fixture(params=KINDS)
def forge(request: pytest.FixtureRequest, peer: Any, monkeypatch: pytest.MonkeyPatch) -> ForgePeer:
    monkeypatch.setenv("FORGE_TOKEN", TOKEN)
    return ForgePeer(peer, request.param, path="group/sub/name" if request.param == "gitlab" else "owner/name")


def desk(forge: ForgePeer, token: str = "${FORGE_TOKEN}") -> IssueDesk:
    project = Project(url=forge.url, forge=forge.kind, token=token)
    return IssueDesk(projects=Projects((project,)), link="https://bench.example/#/findings/{id}")


def test_an_issue_is_opened_once(forge: ForgePeer, found: Make) -> None:
    finding = found(found_at="2026-11-01T00:00:00+00:00")
    first = desk(forge).open_issue([finding])
    second = desk(forge).open_issue([finding])
    assert first.made and not second.made and first.url == second.url == f"{forge.url}{PLACE[forge.kind]}1"
    (issue,) = forge.issues
    text = issue.get("body") or issue["description"]
    assert issue["title"] == "bench.py::encode n=4: latency_p50 10 % slower since c0ffee"
    assert "10 % slower [8 %, 12 %]" in text and "https://bench.example/#/findings/f1" in text
    assert f"/compare/{'0ddba11'}" not in text  # ids of seven letters and more alone are linked as a range
    assert TOKEN not in text
    asked = forge.peer.requests[0].path
    assert "=2026-10-31T00%3A00%3A00Z" in asked  # a day before it was found: older ones need not be looked through


PLACE = {"github": "/issues/", "gitlab": "/-/issues/", "gitea": "/issues/"}


def test_a_lost_answer_makes_no_second_issue(forge: ForgePeer, found: Make) -> None:
    forge.lose = 1
    with pytest.raises(UploadError) as lost:
        desk(forge).open_issue([found()])
    assert "nothing is made twice" in lost.value.remedy and TOKEN not in str(lost.value)
    again = desk(forge).open_issue([found()])
    assert (again.made, len(forge.issues)) == (False, 1)


def test_an_older_issue_is_found_on_a_later_page_and_another_finding_gets_its_own(
    forge: ForgePeer, found: Make
) -> None:
    desk(forge).open_issue([found("old")])
    text = "description" if forge.kind == "gitlab" else "body"
    forge.issues[:0] = [{"id": 5000 + i, "title": "x", text: None} for i in range(120)]
    forge.page_size = 50  # a server may hand out fewer than it is asked for
    assert not desk(forge).open_issue([found("old")]).made
    assert desk(forge).open_issue([found("new")]).made


def test_a_pull_request_that_tells_of_it_is_not_the_issue(forge: ForgePeer, found: Make) -> None:
    if forge.kind == "github":  # which lists both together
        forge.issues.append({"id": 7, "body": "<!-- benchwright f1 -->", "pull_request": {}, "html_url": "https://x/7"})
        assert desk(forge).open_issue([found()]).made


def test_a_request_gets_one_comment(forge: ForgePeer, found: Make) -> None:
    first, second = (desk(forge).comment_on(12, [found()]) for _ in range(2))
    assert (first.made, second.made) == (True, False) and first.url == second.url
    assert (
        first.url
        == {
            "github": f"{forge.url}/pull/12#issuecomment-500",
            "gitlab": f"{forge.url}/-/merge_requests/12#note_500",
            "gitea": f"{forge.url}/pulls/12#issuecomment-500",
        }[forge.kind]
    )
    (comment,) = forge.comments["12"]
    assert "**`bench.py::encode n=4: latency_p50 10 % slower since c0ffee`**" in comment["body"]


def test_a_wrong_token_is_told_without_showing_it(
    forge: ForgePeer, found: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORGE_TOKEN", "wrong-s3cret")
    with pytest.raises(UploadError) as refused:
        desk(forge).open_issue([found()])
    assert "401" in str(refused.value) and "check its token" in refused.value.remedy
    assert "s3cret" not in f"{refused.value} {refused.value.remedy}"


def test_a_server_takes_no_token_that_is_not_configured(
    forge: ForgePeer, found: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    project = Project(url=forge.url, forge=forge.kind)
    assert open_tracker(project).token == TOKEN  # on the command line
    assert not can_send(project)
    with pytest.raises(OptionError, match="this server has no token"):
        open_tracker(project, is_server=True)
    assert can_send(Project(url=forge.url, forge=forge.kind, token="${FORGE_TOKEN}"))
    monkeypatch.delenv("FORGE_TOKEN")
    assert not can_send(Project(url=forge.url, forge=forge.kind, token="${FORGE_TOKEN}"))


def test_a_token_goes_over_https_alone_and_to_forges_that_are_known() -> None:
    with pytest.raises(OptionError, match="without encryption"):
        open_tracker(Project(url="http://gitlab.example.com/o/n", forge="gitlab", token="${HOME}"))
    with pytest.raises(OptionError, match="at cgit"):
        open_tracker(Project(url="https://cgit.example.com/n", forge="cgit", token="${HOME}"))
    with pytest.raises(OptionError, match="the forge is not known"):
        open_tracker(Project(url="https://code.example.com/o/n"))


@pytest.mark.parametrize(
    ("project", "api", "path"),
    [
        (Project(url="https://github.com/o/n", forge="github"), "https://api.github.com", "o/n"),
        (Project(url="https://github.example.com/o/n", forge="github"), "https://github.example.com/api/v3", "o/n"),
        (Project(url="https://gitlab.com/g/s/n", forge="gitlab"), "https://gitlab.com/api/v4", "g/s/n"),
        (Project(url="https://codeberg.org/o/n", forge="forgejo"), "https://codeberg.org/api/v1", "o/n"),
        (
            Project(url="https://host/gitlab/g/n", forge="gitlab", api="https://host/gitlab/api/v4/"),
            "https://host/gitlab/api/v4",
            "g/n",
        ),
    ],
)
def test_each_forge_is_asked_where_it_answers(
    project: Project, api: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    tracker = open_tracker(project)
    assert (tracker.api, tracker.path) == (api, path)
    assert TOKEN not in repr(tracker)


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_no_token_of_the_environment_goes_to_a_server_that_only_a_result_names(
    kind: str, found: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{kind.upper()}_TOKEN", TOKEN)
    stranger = found(repository=f"https://{kind}.evil.example/owner/name")
    with pytest.raises(OptionError) as refused:
        IssueDesk(projects=Projects()).open_issue([stranger])
    assert "named by a result alone" in str(refused.value) and TOKEN not in str(refused.value)
    ours = Projects((Project(url=f"https://{kind}.evil.example/owner/name"),))
    assert ours.is_ours(stranger.repository) and not Projects().is_ours(stranger.repository)
