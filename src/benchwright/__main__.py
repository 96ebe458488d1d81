"""`python -m benchwright`."""

import sys

from benchwright.cli import main

sys.exit(main())
