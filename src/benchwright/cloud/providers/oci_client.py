"""Oracle's library, asked once for each question, with the configuration and the login of `oci`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from benchwright.cloud.providers.oci_errors import LIBRARY, is_missing
from benchwright.errors import NotInstalledError, OptionError

ENDPOINT = "BENCHWRIGHT_OCI_ENDPOINT"  # instead of Oracle's own: a gateway, a test
COMPARTMENT = "OCI_COMPARTMENT_ID"
CONNECT, ANSWER = 10.0, 60.0  # seconds


class OciClient:
    """Asks in the name of the profile: OCI_CLI_CONFIG_FILE, OCI_CLI_PROFILE and OCI_CLI_AUTH count as for `oci`."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str], Any] = {}

    @cached_property
    def library(self) -> Any:
        """Oracle's library."""
        try:
            import oci
        except ImportError:
            raise NotInstalledError(*LIBRARY) from None
        return oci

    @property
    def region(self) -> str:
        """The region of the profile; "" where it names none."""
        return str(os.environ.get("OCI_CLI_REGION") or self._login[0].get("region") or os.environ.get("OCI_REGION", ""))

    @property
    def tenancy(self) -> str:
        """The root of all compartments."""
        config, named = self._login
        return str(config.get("tenancy") or getattr(named.get("signer"), "tenancy_id", ""))

    @property
    def compartment(self) -> str:
        """Where machines are made: OCI_COMPARTMENT_ID, else the root."""
        return os.environ.get(COMPARTMENT) or self.tenancy

    def compute(self, region: str) -> Any:
        """Machines, images, shapes."""
        return self._client("core.ComputeClient", region)

    def network(self, region: str) -> Any:
        """Subnets, addresses."""
        return self._client("core.VirtualNetworkClient", region)

    def identity(self, region: str) -> Any:
        """Compartments, availability domains."""
        return self._client("identity.IdentityClient", region)

    def every(self, question: Any, *asked: Any, **named: Any) -> Iterator[Any]:
        """All pages of a list."""
        yield from self.library.pagination.list_call_get_all_results(question, *asked, **named).data

    def find(self, question: Any, *names: str) -> Any:
        """What is there under that id; None where there is nothing."""
        try:
            return question(*names).data
        except Exception as error:
            if is_missing(error):
                return None
            raise

    def compartments(self, region: str) -> list[str]:
        """Every compartment that the login may see, the root first."""
        below = self.every(
            self.identity(region).list_compartments,
            self.tenancy,
            compartment_id_in_subtree=True,
            access_level="ACCESSIBLE",
            lifecycle_state="ACTIVE",
        )
        return list(dict.fromkeys([self.tenancy, self.compartment, *(one.id for one in below)]))

    @cached_property
    def _login(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The configuration, and what signs requests where that is no key of the configuration."""
        kind = os.environ.get("OCI_CLI_AUTH", "")
        if kind == "instance_principal":
            return {}, {"signer": self.library.auth.signers.InstancePrincipalsSecurityTokenSigner()}
        usual = self.library.config.DEFAULT_LOCATION
        place = os.environ.get("OCI_CLI_CONFIG_FILE") or os.environ.get("OCI_CONFIG_FILE") or usual
        config = self.library.config.from_file(place, os.environ.get("OCI_CLI_PROFILE") or "DEFAULT")
        if kind == "security_token" or (not kind and config.get("security_token_file")):
            return config, {"signer": self._session(config)}
        if kind not in ("", "api_key"):
            raise OptionError(
                f"oci: OCI_CLI_AUTH={kind} is not known", remedy="one of api_key, security_token, instance_principal"
            )
        self.library.config.validate_config(config)
        # One for all clients: each would read and check the key anew, a fifth of a second each time.
        return config, {"signer": self.library.signer.Signer.from_config(config)}

    def _session(self, config: dict[str, Any]) -> Any:
        """What signs for somebody who signed in with a browser."""
        key = self.library.signer.load_private_key_from_file(config["key_file"], config.get("pass_phrase"))
        with open(os.path.expanduser(config["security_token_file"]), encoding="utf-8") as file:  # noqa: PTH111, PTH123
            return self.library.auth.signers.SecurityTokenSigner(file.read(65_536).strip(), key)

    def _client(self, kind: str, region: str) -> Any:
        if (kind, region) not in self._clients:
            config, named = self._login
            module, _, name = kind.partition(".")
            made = getattr(getattr(self.library, module), name)
            if endpoint := os.environ.get(ENDPOINT):
                named = {**named, "service_endpoint": endpoint}
            self._clients[kind, region] = made(
                {**config, "region": region},
                timeout=(CONNECT, ANSWER),
                retry_strategy=self.library.retry.NoneRetryStrategy(),  # who calls knows better what to ask again
                **named,
            )
        return self._clients[kind, region]
