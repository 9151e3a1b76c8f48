"""The ``tachograph`` command. Kept apart from the command line proper, which needs an extra."""

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

    run()


if __name__ == "__main__":
    main()
