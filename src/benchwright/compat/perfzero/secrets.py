"""What of a command line may be written down: no login, no value of a query, no place of a key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchwright.system.masking import HIDDEN, mask_url

DEFAULT_KEY = "gs://tf-performance/auth_tokens/benchmark_upload_gce.json"  # PerfZero's default, of use to Google alone
_KEY_FLAG = "gcloud_key_file_url"


def mask_flag(name: str, value: Any) -> Any:
    """A flag's value as it may be kept and uploaded: addresses without secrets; of a key only that there was one."""
    if isinstance(value, list):
        return [mask_flag(name, item) for item in value]
    if not isinstance(value, str):
        return value
    if name == _KEY_FLAG and value not in ("", DEFAULT_KEY):
        return HIDDEN
    return mask_url(value)


def mask_command(arguments: Iterable[str]) -> tuple[str, ...]:
    """A command line as it may be kept beside its results."""
    shown: list[str] = []
    key_follows = False
    for word in arguments:
        flag, equals, value = word.partition("=")
        is_key_flag = not key_follows and flag.startswith("--g") and f"--{_KEY_FLAG}".startswith(flag)  # or abbreviated
        if key_follows:
            shown.append(mask_flag(_KEY_FLAG, word))
        elif is_key_flag and equals:
            shown.append(f"{flag}={mask_flag(_KEY_FLAG, value)}")
        else:
            shown.append(mask_url(word))
        key_follows = is_key_flag and not equals
    return tuple(shown)
