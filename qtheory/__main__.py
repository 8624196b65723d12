"""``python -m qtheory`` is the command ``qtheory``."""

import sys

from qtheory.cli import main

if __name__ == "__main__":
    sys.exit(main())
