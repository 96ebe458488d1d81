"""Where what is measured leaves its files. Every worker imports this before it is told what to do."""

from __future__ import annotations

JOB_VARIABLE = "BENCHWRIGHT_JOB"  # holds the token of the job that a process and its descendants work for
OUTPUT_VARIABLE = "BENCHWRIGHT_OUTPUT"  # tells what is measured where it may leave files


def unwanted_folder(token: str) -> str:
    """The path of the folder for what a job writes although nobody wants to keep it.

    Known from the job's token, so that whoever outlives the job can remove it; the name does not give the token away.
    """
    import hashlib
    import tempfile

    return f"{tempfile.gettempdir()}/benchwright-output-{hashlib.sha256(token.encode()).hexdigest()[:16]}"
