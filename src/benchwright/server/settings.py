"""The settings of a server, and the limits of its requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from benchwright.config import MachineRules, Notify, ServerConfig, SignIn
from benchwright.errors import OptionError, did_you_mean
from benchwright.store.archive import SCOPES
from benchwright.store.sql.retention import RetentionRules
from benchwright.store.sqlite_file import database_file
from benchwright.system import secret_references
from benchwright.system.addresses import http_host, is_loopback
from benchwright.units import parse_quantity
from benchwright.vcs.forges import Projects

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """What one request may ask for. Sizes are bytes, after unpacking; times are seconds."""

    small: int = MIB  # a change that a person makes
    document: int = 64 * MIB  # a result, or a run without its results
    run: int = 256 * MIB  # a whole run in one document
    stream: int = 1024 * MIB  # many runs, one a line
    artifact: int = 1024 * MIB
    samples: int = 512 * MIB  # what the packed samples of one document unpack to
    ratio: int = 200  # of a packed body to what it unpacks to, once that is more than a few MiB
    depth: int = 64  # of lists and mappings within each other
    patience: float = 30.0  # between two pieces of a body
    longest: float = 3600.0  # for a whole body
    rate: float = 300.0  # requests a second, of one token or address, in the long run
    burst: int = 1500  # and at once
    failures: int = 10  # wrong tokens of one address before it has to wait
    failure_delay: float = 0.25  # before a wrong token is answered
    connections: int = 512
    listeners: int = 256  # streams of what goes on: whoever opens many leaves connections to the others
    threads: int = 12  # requests that are worked on at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInSettings:
    """Where people sign in, and what their groups may do; checked, and with the secret itself."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    label: str = "Sign in"
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"
    groups: Mapping[str, str] = field(default_factory=dict)  # a group -> one of SCOPES
    default_role: str = "read"  # "" lets nobody else in
    idle: float = 12 * 3600.0  # seconds
    longest: float = 7 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where a server's data lies, who may reach it, and how much each may ask."""

    store_url: str
    artifacts: Path  # uploaded files go here; of files that runs left on this machine only those in here are served
    host: str = "127.0.0.1"
    require_token: bool = False
    names: tuple[str, ...] = ()  # under which it is reached besides its address, behind a proxy
    log: bool = False  # one line on standard error for each request
    limits: RequestLimits = field(default_factory=RequestLimits)
    retention: RetentionRules = field(default_factory=RetentionRules)
    judges: bool = False  # judges what arrives, in a process of its own
    quiet: float = 10.0  # seconds after the last result, when a run counts as complete that says nothing of itself
    notify: Notify = field(default_factory=Notify)  # who is told of what is found
    public_url: str = ""  # how browsers reach it, with a slash at its end; "" for as they ask
    sign_in: SignInSettings | None = None
    lab_lease: float = 60.0  # seconds without a word after which a job of the lab is given to another machine
    lab_control: float = 0.0  # seconds between two control benchmarks of a machine of the lab; 0: none
    projects: Projects = field(default_factory=Projects)  # where code is shown, and which tokens may write there

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def trusts_everyone(self) -> bool:
        """Whether whoever reaches it may do everything: on one's own machine, unless tokens or a sign-in are asked for.

        With a name it is reached through a proxy, which makes everyone look as if they were on this machine.
        """
        return self.on_loopback and not self.require_token and not self.names and self.sign_in is None


def artifacts_of(store_url: str) -> Path:
    """Returns the default folder for files of results: beside an SQLite file, else where runs here leave them."""
    if "://" in store_url and not store_url.startswith("sqlite"):
        return Path(".benchwright", "artifacts").absolute()
    return database_file(store_url).parent / "artifacts"


def control_period_of(rules: MachineRules) -> float:
    """Returns the seconds between two control benchmarks of a machine; 0 where there are none."""
    if rules.control.strip().lower() == "never":
        return 0.0
    seconds = parse_quantity(rules.control, "s", what="machines.control", bare=False)
    if seconds < 600:
        raise OptionError(f"machines.control: {rules.control!r}", remedy="at least 10min, or never")
    return seconds


def public_url_of(text: str) -> str:
    """Returns the address under which browsers reach the server, with a slash at its end; "" for none."""
    if not text:
        return ""
    parts = urlsplit(text)
    if not http_host(text) or parts.query or parts.fragment or parts.username is not None:
        raise OptionError(f"server.public_url: {text!r} is not an address", remedy="such as https://bench.example.com/")
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}/"


def sign_in_of(config: ServerConfig, *, host: str, require_token: bool = False) -> SignInSettings | None:
    """Returns the settings of the sign-in that the file describes, with the secret; an `OptionError` when wrong."""
    given = config.sign_in
    if given is None:
        return None
    default_role = given.default_role
    if default_role is None:
        default_role = "" if require_token else "read"
    _check_sign_in(given, default_role)
    if not config.public_url and not is_loopback(host):
        raise OptionError(
            "server.sign_in needs the address to which the provider sends people back",
            remedy="set public_url in [server], or give --public-url, such as https://bench.example.com/",
        )
    idle, longest = (
        parse_quantity(getattr(given, name), "s", what=f"server.sign_in.{name}", bare=False)
        for name in ("idle", "longest")
    )
    if not 60 <= idle <= longest <= _LONGEST_SESSION:
        raise OptionError(
            f"server.sign_in: idle = {given.idle!r}, longest = {given.longest!r}",
            remedy="idle is at least one minute and at most longest, which is at most 90d",
        )
    return SignInSettings(
        issuer=given.issuer,
        client_id=given.client_id,
        client_secret=secret_references.fill_in(given.client_secret, needs="server.sign_in"),
        label=given.label,
        scopes=given.scopes if "openid" in given.scopes else ("openid", *given.scopes),
        groups_claim=given.groups_claim,
        groups=dict(given.groups),
        default_role=default_role,
        idle=idle,
        longest=longest,
    )


_LONGEST_SESSION = 90 * 86400.0


def _check_sign_in(given: SignIn, default_role: str) -> None:
    host = http_host(given.issuer)
    if not host or (given.issuer.startswith("http://") and not is_loopback(host)):
        raise OptionError(
            f"server.sign_in.issuer: {given.issuer!r} is not the address of a provider",
            remedy="it begins with https://, unless it is this machine, and is what the provider calls its issuer",
        )
    if not given.client_id:
        raise OptionError("server.sign_in.client_id is empty", remedy="the provider gives one to each client")
    if given.client_secret and not secret_references.is_reference(given.client_secret):
        raise OptionError(
            "server.sign_in.client_secret has the secret written out",
            remedy="put it into a variable and write ${NAME}, or into a file and write ${file:PATH}",
        )
    roles = {**{f"groups.{group}": role for group, role in given.groups.items()}, "default_role": default_role}
    for place, role in roles.items():
        if role not in SCOPES and not (place == "default_role" and not role):
            raise OptionError(f"server.sign_in.{place}: {role!r} is not a role", remedy=did_you_mean(role, SCOPES))
    if not given.groups and not default_role:
        raise OptionError(
            "server.sign_in: nobody could sign in: no group has a role, and default_role is empty",
            remedy="name groups in [server.sign_in.groups]; or set default_role, such as default_role = "
            '"read", if everybody who has an account at the provider may come in',
        )
