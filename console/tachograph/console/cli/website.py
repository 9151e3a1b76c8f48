"""``tachograph console``: the web console."""

import socket
import webbrowser
from typing import Annotated

import typer

from tachograph.console.cli.output import ERR, note
from tachograph.schemas.errors import ConfigError
from tachograph.schemas.settings import Settings, load_settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(console)


def console(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on. [default: the console.host setting]")] = "",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 is any free one. [default: the console.port setting]")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in this machine's browser.")] = False,
) -> None:
    """Serve the web console until Ctrl-C. Prints an address with a one-time token, unless people sign in elsewhere."""
    import uvicorn  # noqa: PLC0415 - imported where it is used

    from tachograph.console.web import create_app  # noqa: PLC0415 - as above

    settings = with_place(load_settings(), host, port)
    check(settings)
    listening = listen(settings)
    base = address(settings, listening.getsockname()[1])
    first = list[str]()

    def announce(token: str) -> None:
        url = f"{base}/login?token={token}"
        first.append(url)
        ERR.print(f"open once: {url}" if len(first) == 1 else f"signed in. For another browser: {url}", soft_wrap=True)

    app = create_app(settings, announce=announce)
    if not first:
        note(f"console: {base}")
    if open_browser:
        webbrowser.open(first[0] if first else base)
    # The access log would hold one-time tokens and what people search for.
    uvicorn.Server(
        uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, proxy_headers=False)
    ).run(sockets=[listening])


def with_place(settings: Settings, host: str, port: int | None) -> Settings:
    """The settings with what was given on the command line."""
    changes = ({"host": host} if host else {}) | ({} if port is None else {"port": port})
    return settings.model_copy(update={"console": settings.console.model_copy(update=changes)})


def check(settings: Settings) -> None:
    """Refuse to serve others without knowing who they are."""
    from tachograph.console.web.security import LOOPBACK  # noqa: PLC0415 - as above

    if settings.console.host not in LOOPBACK and not settings.console.oidc_issuer:
        raise ConfigError(
            f"the console serves this machine only, and {settings.console.host} is open to others: set "
            "TACHOGRAPH_CONSOLE__OIDC_ISSUER and __OIDC_CLIENT_ID so that people sign in, or listen on 127.0.0.1"
        )
    if settings.console.host not in LOOPBACK and not settings.console.public_url:
        raise ConfigError(
            "requests are answered only under a name that is known: set TACHOGRAPH_CONSOLE__PUBLIC_URL to the address "
            "that browsers use"
        )
    if settings.console.oidc_issuer and not settings.console.oidc_client_id:
        raise ConfigError("an identity provider needs to know this client: set TACHOGRAPH_CONSOLE__OIDC_CLIENT_ID")


def listen(settings: Settings) -> socket.socket:
    """The socket. It takes connections before anything is announced: whoever follows the address is answered."""
    console = settings.console
    family = socket.AF_INET6 if ":" in console.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((console.host, console.port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"cannot listen on {console.host}:{console.port} ({error.strerror}): choose another port with --port"
        ) from None
    return listening


def address(settings: Settings, port: int) -> str:
    """Address that a browser is given."""
    console = settings.console
    host = f"[{console.host}]" if ":" in console.host else console.host
    return console.public_url.rstrip("/") or f"http://{host}:{port}"
