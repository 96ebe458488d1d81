"""Machines of clouds: ordered, written down before they are asked for, leased, given back, swept up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchwright.cloud.provider import CloudProvider


def load_provider(name: str) -> CloudProvider:
    """The provider of that name: aws, gcp, azure, oci, skypilot, or what a plug-in adds to `benchwright.clouds`."""
    from benchwright import plugins

    provider: CloudProvider = plugins.load("clouds", name)()
    return provider
