"""The web console: server-rendered pages over the reading account, behind a token or an identity provider."""

from tachograph.console.web.app import create_app
from tachograph.console.web.roles import Role

__all__ = ["Role", "create_app"]
