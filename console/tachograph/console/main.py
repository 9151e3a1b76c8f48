"""The ``tachograph`` command. Kept apart from the command line proper, which needs an extra."""

import atexit
import os
import sys


def main() -> None:
    """Run the command line, or say what to install."""
    try:
        import typer  # noqa: F401, PLC0415 - is the extra there?
    except ImportError:
        sys.stderr.write(
            "tachograph: the command line is not installed here, only the recorder for agents.\n"
            "Install it with: pip install 'tachograph[pipeline]'  (and 'tachograph[local]' for `tachograph up`)\n"
        )
        raise SystemExit(2) from None
    from tachograph.console.cli.app import run  # noqa: PLC0415 - after the check above

    try:
        run()
    except SystemExit as ending:
        _end(ending.code)
        raise
    _end(None)


def _end(code: object) -> None:
    """End at once where the object store was used, after everything that is to be done at exit.

    Threads of its library may still wait for the interpreter. If it goes away under them, they abort the process,
    and a command that did its work would end with exit code 134.
    """
    if "obstore" in sys.modules and (code is None or isinstance(code, int)):
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no public way to run them before os._exit
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(code or 0))


if __name__ == "__main__":
    main()
