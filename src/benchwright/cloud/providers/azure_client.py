"""Azure's libraries, asked once for each question, with the settings and the login of `az`."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

from benchwright.cloud.providers.azure_errors import LIBRARY, is_missing, refusal
from benchwright.cloud.providers.settings import read_document, read_ini
from benchwright.errors import NotInstalledError, OptionError

ENDPOINT = "BENCHWRIGHT_AZURE_ENDPOINT"  # of another Resource Manager: Azure Stack, a test
CONNECT, ANSWER = 10, 60  # seconds
WORK = 900.0  # seconds for work that was accepted
PAUSE = 3.0  # seconds between two looks at it, where Azure does not say


class AzureClient:
    """Asks in the name of whoever is signed in; nothing of the login is kept."""

    @cached_property
    def subscription(self) -> str:
        """The subscription that pays: AZURE_SUBSCRIPTION_ID, or the one that `az` uses."""
        if named := os.environ.get("AZURE_SUBSCRIPTION_ID", ""):
            return named
        for one in read_document(_folder() / "azureProfile.json").get("subscriptions", ()):
            if isinstance(one, dict) and one.get("isDefault"):
                return str(one.get("id", ""))
        raise OptionError(
            "azure: no subscription is named", remedy="az login, or set AZURE_SUBSCRIPTION_ID to the id of one"
        )

    def setting(self, name: str) -> str:
        """A default of az: `location` or `group`."""
        told = os.environ.get(f"AZURE_DEFAULTS_{name.upper()}")
        return told or read_ini(_folder() / "config").get("defaults", name, fallback="") or ""

    @cached_property
    def compute(self) -> Any:
        """Machines, disks, shapes."""
        from azure.mgmt.compute import ComputeManagementClient

        return ComputeManagementClient(**self._common)

    @cached_property
    def network(self) -> Any:
        """Networks, their interfaces, addresses."""
        from azure.mgmt.network import NetworkManagementClient

        return NetworkManagementClient(**self._common)

    @cached_property
    def resources(self) -> Any:
        """Groups, and whatever carries a label."""
        from azure.mgmt.resource.resources import ResourceManagementClient

        return ResourceManagementClient(**self._common)

    def find(self, operations: Any, *names: str, **asked: Any) -> dict[str, Any] | None:
        """What is there under that name, as Azure writes it; None where there is nothing."""
        try:
            found: dict[str, Any] = operations.get(*names, **asked).as_dict()
            return found
        except Exception as error:  # the library's class is known only where it is installed
            if is_missing(error):
                return None
            raise

    def work(self, begin: Any, *asked: Any, **named: Any) -> Any:
        """Does what takes a while, and waits until it is done."""
        poller = begin(*asked, polling_interval=PAUSE, **named)
        done = poller.result(WORK)
        if not poller.done():
            raise refusal("waiting", "lost", f"not done after {WORK:g} s")
        return done

    def delete(self, begin: Any, *names: str, **named: Any) -> None:
        """Deletes, and waits until it is gone; of what is gone already nothing is said."""
        try:
            self.work(begin, *names, **named)
        except Exception as error:
            if not is_missing(error):
                raise

    @cached_property
    def _common(self) -> dict[str, Any]:
        try:
            from azure.identity import DefaultAzureCredential
        except ImportError:
            raise NotInstalledError(*LIBRARY) from None
        made = {
            "credential": DefaultAzureCredential(),
            "subscription_id": self.subscription,
            "retry_total": 0,  # who calls knows better what may be asked again, and after which wait
            "connection_timeout": CONNECT,
            "read_timeout": ANSWER,
        }
        if endpoint := os.environ.get(ENDPOINT):
            made["base_url"] = endpoint
        return made


def _folder() -> Path:
    return Path(os.environ.get("AZURE_CONFIG_DIR") or Path.home() / ".azure")
