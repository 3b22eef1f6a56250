"""`python -m webhook` is the command `evenkeel`."""

from __future__ import annotations

import sys

from webhook.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
