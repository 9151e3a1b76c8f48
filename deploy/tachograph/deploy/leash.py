"""Become another program that dies with its parent: ``python leash.py PARENT_PID PROGRAM [ARGUMENT…]``.

Run by path and without site-packages, so that it costs 25 ms. The alternative, code between fork and exec, can
deadlock in a parent with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for the signal, make sure the parent is still there to die, and become the program."""
    parent, *argv = sys.argv[1:]
    # SIGKILL, because a supervisor that was killed cannot follow up on a child that ignores anything milder.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):
        sys.exit(1)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and an ignored signal is inherited
    os.execvp(argv[0], argv)  # noqa: S606  # the command line comes from our own supervisor


if __name__ == "__main__":
    main()
