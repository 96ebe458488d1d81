"""mlserver_program.py FOLDER: MLServer with the settings and models in the folder."""

from __future__ import annotations

import sys

from lifeline import end_with_standard_input
from mlserver.cli import main

if __name__ == "__main__":
    end_with_standard_input()
    sys.argv[1:1] = ["start"]
    main()
