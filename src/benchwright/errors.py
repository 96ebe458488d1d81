"""Every error Benchwright raises, in one tree.

BenchwrightError
├── UserError               the request was wrong: exit code 2, no traceback
│   ├── TargetError         a target that cannot be found or understood
│   ├── OptionError         a flag or argument with an impossible value
│   ├── DecodeError         a file or message with a key or value that does not belong
│   ├── NotInstalledError   something optional that is needed now; says what installs it
│   ├── StoreError          a store that cannot be opened, read or written
│   │   ├── StoreFullError  a store on a disk without space
│   │   └── StoreLostError  a store that no longer holds what was written to it
│   ├── LeaseError          a job of the lab that somebody else has by now, or nobody
│   ├── CloudError          a cloud that refused, or did not do, what was asked; its kind says which
│   ├── FetchError          a file, archive or repository that cannot be had as asked
│   └── UploadError         something that could not be sent where it was asked to go
└── MeasureError            measuring failed: becomes a record with a status and a reason
    ├── LoadError           a model that could not be loaded
    │   └── RequestError    shapes, values or options that this model does not take
    ├── SkippedError        a benchmark that says itself that it does not apply here
    ├── DeviceError         a device or provider that was asked for and is not used
    │   └── LostDeviceError a device that went away
    ├── ChannelError        a worker whose answer could not be read
    └── LinkError           a machine that cannot be reached, or a line to it that broke
        └── NoMachineError  a machine that cannot be had, however often one calls; its kind says why
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any


class BenchwrightError(Exception):
    """Something went wrong. `remedy` says what to do next."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message

    @property
    def kind(self) -> str:
        """The kind of failure that it is in a record."""
        return type(self).__name__


class UserError(BenchwrightError):
    """The request was wrong; nothing was measured, changed or lost."""


class TargetError(UserError):
    """A target that cannot be found or understood."""


class OptionError(UserError):
    """A flag or argument with an impossible value."""


class DecodeError(UserError):
    """Data that does not fit its schema; the message starts with the place."""


class NotInstalledError(UserError):
    """An optional package that is needed now."""

    def __init__(self, what: str, install: str) -> None:
        super().__init__(f"{what} is not installed", remedy=f"pip install {install}")


class StoreError(UserError):
    """A store that cannot be opened, read or written. `measured` is the run that could not be kept, if there is one."""

    measured: Any = None


class StoreFullError(StoreError):
    """A store on a disk without space; what was saved before is safe."""


class StoreLostError(StoreError):
    """A store that no longer holds what was written to it: its file was removed, replaced, cut or damaged."""


class LeaseError(UserError):
    """A job of the lab that is no longer this machine's: its lease ran out, or it was cancelled."""


class CloudError(UserError):
    """A cloud that refused, or did not do, what was asked of it.

    The kind says what can be done: `capacity` (elsewhere, or later), `throttled` (again, after a while), `quota` (have
    it raised), `login` (sign in), `shape` (another one), `lost` (no answer: look whether it was done), `taken` (a spot
    machine that the cloud took back), `other`.
    """

    def __init__(self, message: str, *, kind: str = "other", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self._kind = kind

    @property
    def kind(self) -> str:
        """What kind of refusal it is."""
        return self._kind


class FetchError(UserError):
    """A file, archive or repository that cannot be had as asked; what was there before is untouched."""


class UploadError(UserError):
    """Something that could not be sent where it was asked to go; it is still here."""


class MeasureError(BenchwrightError):
    """Measuring failed; the worker turns it into a failed result. `details` is what was known of the target by then."""

    details: Mapping[str, Any] = MappingProxyType({})


class LoadError(MeasureError):
    """A model that could not be loaded."""


class RequestError(LoadError):
    """Shapes, values or options that this model does not take. `flags` are those that would do, when that is known."""

    def __init__(self, message: str, *, remedy: str = "", flags: Iterable[str] = ()) -> None:
        super().__init__(message, remedy=remedy)
        self.flags = tuple(flags)


class SkippedError(MeasureError):
    """A benchmark that says itself that it is not to be measured here."""

    @property
    def kind(self) -> str:
        """The word of the status that its result has."""
        return "skipped"


class DeviceError(MeasureError):
    """A device or provider that was asked for and is not used."""


class LostDeviceError(DeviceError):
    """A device that went away: its cable was pulled, it was switched off, its server ended."""

    @property
    def kind(self) -> str:
        """The same word as that of any machine that went away."""
        return "lost"


class ChannelError(MeasureError):
    """A worker whose answer could not be read."""


class LinkError(MeasureError):
    """A machine that cannot be reached, or a line to it that broke."""


class NoMachineError(LinkError):
    """A machine that cannot be had, however often one calls; the kind says why: `capacity`, `quota`, `budget`."""

    def __init__(self, message: str, *, kind: str, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self._kind = kind

    @property
    def kind(self) -> str:
        """Why it cannot be had."""
        return self._kind


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy that names the nearest known word, or lists them all when none is near."""
    import difflib  # costs 5 ms and is needed only when something is wrong

    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known: {', '.join(names)}" if names else ""
