"""`gitlab://group/name`: a comment and a status at the commit behind a finding; with `?merge_request=12`, one there."""

from __future__ import annotations

import os
from urllib.parse import quote

from benchwright.notify import forges
from benchwright.notify.addresses import NotifyAddress
from benchwright.notify.messages import Message
from benchwright.system.http import HttpAnswer

TOKENS = forges.Tokens(variables=("GITLAB_TOKEN",), file="GITLAB_TOKEN_FILE")


class GitLab:
    """Comments and statuses of one project."""

    name = "gitlab"
    pictures = False  # a comment shows no file that was not uploaded first: it has the text picture

    def __init__(self, address: NotifyAddress) -> None:
        api = os.environ.get("CI_API_V4_URL", "").strip() or "https://gitlab.com/api/v4"  # its CI sets it
        place = forges.read_place(address, api=api, request="merge_request", tokens=TOKENS)
        root = f"/projects/{quote(place.path, safe='')}"
        self._forge = forges.Forge(
            place=place,
            headers={"PRIVATE-TOKEN": place.token},
            repository=root,
            request_comments=f"{root}/merge_requests/{{request}}/notes",
            commit_comments=f"{root}/repository/commits/{{commit}}/comments",
            commit_text="note",
            statuses=f"{root}/statuses/{{commit}}",
            status={"name": "benchwright"},
            failure="failed",
            is_so=_is_set_already,
        )

    def send(self, message: Message) -> str:
        """Comments and sets statuses."""
        return self._forge.send(message)

    def withdraw(self, message: Message) -> str:
        """Takes the statuses back; comments stay."""
        return self._forge.withdraw(message)


def _is_set_already(answer: HttpAnswer, state: str) -> bool:
    """Whether the commit has this status already: GitLab refuses to set it a second time."""
    same = b"annot transition status" in answer.text and f"from :{state}".encode() in answer.text
    return answer.status == 400 and same
