"""`python -m realtime_session` is the command `realtime-session`."""

import sys

from realtime_session.cli import main

if __name__ == "__main__":
    sys.exit(main())
