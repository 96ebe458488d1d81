"""What every benchmark here shares: interleaved rounds, ratios with their spread, and one table of claims."""

from harness.claims import Agreement, Bar, Claim, at_least, at_most, report
from harness.command_line import Settings, settings
from harness.rounds import Spread, interleaved, ratios, spread

__all__ = [
    "Agreement",
    "Bar",
    "Claim",
    "Settings",
    "Spread",
    "at_least",
    "at_most",
    "interleaved",
    "ratios",
    "report",
    "settings",
    "spread",
]
