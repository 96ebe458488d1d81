"""`github://owner/name`: a comment and a status at the commit behind a finding; with `?pull=12`, a comment there."""

from __future__ import annotations

import os

from benchwright.notify import forges
from benchwright.notify.addresses import NotifyAddress
from benchwright.notify.messages import Message

TOKENS = forges.Tokens(variables=("GITHUB_TOKEN", "GH_TOKEN"), file="GITHUB_TOKEN_FILE")


class GitHub:
    """Comments and statuses of one repository."""

    name = "github"
    pictures = False  # its interface takes no files: the comment has the text picture

    def __init__(self, address: NotifyAddress) -> None:
        api = os.environ.get("GITHUB_API_URL", "").strip() or "https://api.github.com"  # Actions sets it
        place = forges.read_place(address, api=api, request="pull", tokens=TOKENS)
        root = f"/repos/{place.path}"
        self._forge = forges.Forge(
            place=place,
            headers={
                "Authorization": f"Bearer {place.token}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": "2022-11-28",
            },
            repository=root,
            request_comments=f"{root}/issues/{{request}}/comments",
            commit_comments=f"{root}/commits/{{commit}}/comments",
            commit_text="body",
            statuses=f"{root}/statuses/{{commit}}",
            status={"context": "benchwright"},
            failure="failure",
        )

    def send(self, message: Message) -> str:
        """Comments and sets statuses."""
        return self._forge.send(message)

    def withdraw(self, message: Message) -> str:
        """Takes the statuses back; comments stay."""
        return self._forge.withdraw(message)
