"""Google's library for Compute Engine, asked once for each question, with gcloud's own settings and login."""

from __future__ import annotations

import os
from configparser import ConfigParser
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from benchwright.cloud.providers.google_errors import LIBRARY, refusal
from benchwright.cloud.providers.settings import read_ini
from benchwright.errors import NotInstalledError, OptionError

ENDPOINT = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"  # as gcloud calls it: https://HOST/compute/v1/
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
ANSWER = 60.0  # seconds for one answer
WAITS = 10  # for work that was accepted: each lasts two minutes at most


class GoogleClient:
    """Asks in the name of whoever is signed in; nothing of the login is kept."""

    def __init__(self) -> None:
        self._clients: dict[str, Any] = {}

    def ask(self, service: str, method: str, **asked: Any) -> Any:
        """One question: `ask("instances", "get", zone=..., instance=...)`. What the library raises is not changed."""
        call = getattr(self._service(service), method)
        return call(request={"project": self.project, **asked}, retry=None, timeout=ANSWER)

    def wait(self, operation: Any, zone: str) -> Any:
        """The work that Google has accepted, when it is done."""
        for _ in range(WAITS):
            if str(operation.status) == "DONE" or getattr(operation.status, "name", "") == "DONE":
                return operation
            asked = {"project": self.project, "zone": zone, "operation": operation.name}
            operation = self._service("zone_operations").wait(request=asked, retry=None, timeout=2 * ANSWER + 10)
        raise refusal("waiting", "lost", f"{operation.name} is not done after {WAITS * 2} minutes")

    def setting(self, section: str, name: str) -> str:
        """What the environment or gcloud's configuration says: `setting("compute", "region")`."""
        told = os.environ.get(f"CLOUDSDK_{section.upper()}_{name.upper()}")
        return told if told is not None else _configuration().get(section, name, fallback="")

    @cached_property
    def project(self) -> str:
        """The project that pays."""
        found = os.environ.get("GOOGLE_CLOUD_PROJECT") or self.setting("core", "project") or self._login[1]
        if not found:
            raise OptionError(
                "gcp: no project is named",
                remedy="set GOOGLE_CLOUD_PROJECT, or `gcloud config set project NAME`",
            )
        return str(found)

    @cached_property
    def _login(self) -> tuple[Any, str]:
        import google.auth

        credentials, project = google.auth.default(scopes=[SCOPE])
        return credentials, project or ""

    def _service(self, name: str) -> Any:
        if name not in self._clients:
            endpoint = os.environ.get(ENDPOINT, "").removesuffix("/").removesuffix("/compute/v1")
            made = getattr(_library(), f"{name.title().replace('_', '')}Client")
            options = {"api_endpoint": endpoint} if endpoint else None
            self._clients[name] = made(credentials=self._login[0], client_options=options)
        return self._clients[name]


@cache
def _library() -> Any:
    try:
        from google.cloud import compute_v1
    except ImportError:
        raise NotInstalledError(*LIBRARY) from None
    return compute_v1


def _configuration() -> ConfigParser:
    """gcloud's active configuration; empty where there is none that can be read."""
    folder = Path(os.environ.get("CLOUDSDK_CONFIG") or Path.home() / ".config" / "gcloud")
    try:
        active = os.environ.get("CLOUDSDK_ACTIVE_CONFIG_NAME") or (folder / "active_config").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        active = "default"
    return read_ini(folder / "configurations" / f"config_{active}")
