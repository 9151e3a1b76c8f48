"""What a user asked for, and under which constraints."""

from typing import Annotated

from pydantic import Field

from tachograph.schemas.enums import ConstraintType
from tachograph.schemas.models.base import Content, Frozen, Identifier


class Constraint(Frozen):
    """An explicit constraint, from the request or from policy."""

    id: Identifier
    type: ConstraintType
    rule: Annotated[str, Field(min_length=1, max_length=4096)]
    """A named check with arguments, a CEL expression, or a sentence."""


class RequestContext(Frozen):
    """Where the request came from."""

    channel: str
    repo: str | None = None
    branch: str | None = None
    ticket_id: str | None = None


class Request(Frozen):
    """The user's request in its capture mode."""

    request_id: Identifier
    user_request_raw: Content
    constraints: tuple[Constraint, ...] = ()
    context: RequestContext
