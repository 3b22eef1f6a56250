import sys

from tests.conformance import main
from tests.support.commands import until_closed

code = 1
with until_closed():
    code = main(sys.argv[1:])
sys.exit(code)
