"""The command line that every benchmark shares."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much to measure."""

    quick: bool
    rounds: int

    def pick(self, full: float, quick: float) -> float:
        """A size that depends on how much time there is."""
        return quick if self.quick else full

    def count(self, full: int, quick: int) -> int:
        """The same for whole numbers."""
        return quick if self.quick else full


def settings(description: str | None, arguments: Sequence[str] | None, *, rounds: int, quick_rounds: int) -> Settings:
    """Reads `--quick` and `--rounds`."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds that show it works; bars are not judged")
    parser.add_argument("--rounds", type=int, help=f"interleaved rounds (default {rounds})")
    given = parser.parse_args(arguments)
    return Settings(quick=given.quick, rounds=given.rounds or (quick_rounds if given.quick else rounds))
