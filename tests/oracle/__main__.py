import sys

from tests.oracle.recording import main

sys.exit(main(sys.argv[1:]))
