"""Context manifests: what a step's model saw, what was left out, and why. Pointers and hashes, never content."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from tachograph.producers import checks
from tachograph.producers.errors import RecordRefusedError
from tachograph.producers.model.provenance import json_text
from tachograph.schemas.canonical import sha256_hex
from tachograph.schemas.enums import CaptureMode, ContextItemType, ExcludedReason, IncludedReason, TransformationType

if TYPE_CHECKING:
    from tachograph.producers.run import Run

COMPILER_VERSION: Final = "unversioned"
_SOURCE_LIMIT: Final = 1024
_QUERY_LIMIT: Final = 4096
_ITEM_OF_ROLE: Final = {
    "system": ContextItemType.POLICY,
    "developer": ContextItemType.POLICY,
    "user": ContextItemType.USER_INPUT,
    "assistant": ContextItemType.MEMORY,
    "tool": ContextItemType.TOOL_OUTPUT,
}
_REASONS: Final = {"included_reason": IncludedReason, "excluded_reason": ExcludedReason}

F = TypeVar("F", bound=Callable[..., Any])


class ContextBuilder:
    """Collects one step's context and records its manifest when the block ends.

    ::

        with run.context(step, intent={"goal": "fix the test"}, token_limit=8000) as context:
            context.retrieved("flaky test", candidates=["c1", "c2"], reranker_model="r", reranker_version="2")
            context.include("c1", "evidence", source_ref="repo://test_a.py", reason="retrieval_trigger", tokens=90)
            context.exclude("c2", "evidence", reason="budget_limit", tokens=4000)
            context.prefix("You are a friendly clerk.")

    As a decorator it gives each call of the function a builder of its own, as the first argument.
    """

    again: Callable[[], "ContextBuilder"]
    """Makes the same builder once more, for the step around the code that asks. Set by ``Run.context``."""

    def __init__(
        self,
        run: "Run",
        step_id: str,
        *,
        intent: Mapping[str, Any] | None = None,
        token_limit: int | None = None,
        compiler_version: str = COMPILER_VERSION,
        snapshot_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._run = run
        self._step_id = step_id
        self._intent = dict(intent or {})
        self._limit = token_limit
        self._compiler_version = compiler_version
        self._snapshot_id = snapshot_id
        self._metadata = metadata
        self._query: str | None = None
        self._candidates: list[str] = []
        self._selected: list[str] = []
        self._reranker: tuple[str | None, str | None] = (None, None)
        self._prefix = b""
        self._included: list[dict[str, Any]] = []
        self._excluded: list[dict[str, Any]] = []

    def retrieved(
        self,
        query: str | None,
        *,
        candidates: Iterable[str] = (),
        selected: Iterable[str] = (),
        reranker_model: str | None = None,
        reranker_version: str | None = None,
    ) -> "ContextBuilder":
        """What was searched for, what was found, and what was taken. Selected chunks are candidates by themselves."""
        self._query = query
        self._selected = list(selected)
        self._candidates = list(dict.fromkeys([*candidates, *self._selected]))
        self._reranker = (reranker_model, reranker_version)
        return self

    def include(
        self,
        item_id: str,
        item_type: ContextItemType | str,
        *,
        source_ref: str,
        reason: IncludedReason | str,
        tokens: int | None = None,
        score: float | None = None,
        content: str | bytes | None = None,
    ) -> "ContextBuilder":
        """An item is in the context. Of its content only a hash is kept."""
        self._included.append(
            {
                "item_id": item_id,
                "item_type": item_type,
                "source_ref": source_ref,
                "included_reason": reason,
                "tokens": tokens,
                "score": score,
                "hash": content,
            }
        )
        return self

    def exclude(
        self,
        item_id: str,
        item_type: ContextItemType | str,
        *,
        reason: ExcludedReason | str,
        source_ref: str | None = None,
        tokens: int | None = None,
        score: float | None = None,
    ) -> "ContextBuilder":
        """An item was considered and left out."""
        self._excluded.append(
            {
                "item_id": item_id,
                "item_type": item_type,
                "excluded_reason": reason,
                "source_ref": source_ref,
                "tokens": tokens,
                "score": score,
            }
        )
        return self

    def prefix(self, prefix: str | bytes) -> "ContextBuilder":
        """The part of the prompt that stays the same between calls, and so can be cached."""
        self._prefix = prefix.encode("utf-8", "surrogatepass") if isinstance(prefix, str) else bytes(prefix)
        return self

    def saw_bundle(self, bundle: Mapping[str, Any]) -> "ContextBuilder":
        """Take the context from a prompt bundle: every message is an item, the leading system messages the prefix.

        A retrieved chunk is known by its source, everything else by its place in the bundle.
        """
        leading: list[str] = []
        for place, message in enumerate(bundle["messages"]):
            role, content = message["role"], message["content"]
            kind = _ITEM_OF_ROLE.get(role, ContextItemType.MEMORY)
            if kind is ContextItemType.POLICY and len(leading) == place:
                leading.append(content)
            policy = kind is ContextItemType.POLICY
            self.include(
                f"message:{place}",
                kind,
                source_ref=f"prompt_bundle.messages[{place}]",
                reason=IncludedReason.POLICY_REQUIREMENT if policy else IncludedReason.PLAN_DEPENDENCY,
                content=content,
            )
        retrieval = bundle["retrieval"]
        if retrieval["enabled"]:
            for place, source in enumerate(retrieval["sources"]):
                self.include(
                    source or f"retrieval:{place}",
                    ContextItemType.EVIDENCE,
                    source_ref=source or f"prompt_bundle.retrieval.sources[{place}]",
                    reason=IncludedReason.RETRIEVAL_TRIGGER,
                )
        for place, change in enumerate(bundle["transformations"]):
            if change["type"] == TransformationType.SUMMARIZE:
                self.include(
                    f"transformation:{place}",
                    ContextItemType.SUMMARY,
                    source_ref=f"prompt_bundle.transformations[{place}]",
                    reason=IncludedReason.PLAN_DEPENDENCY,
                    content=change["summary"],
                )
        return self.prefix("\n".join(leading))

    def record(self) -> str | None:
        """Record the manifest. Raises SystemErrorStop if it cannot be kept: the run must not go on without."""
        return self._run.write_manifest(self._step_id, self._body)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.record()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.record()

    def __call__(self, function: F) -> Callable[..., Any]:
        """Decorate a function that compiles a context; the manifest is recorded when it returns or raises."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                async with self.again() as context:
                    return await function(context, *args, **kwargs)

            return awaited

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self.again() as context:
                return function(context, *args, **kwargs)

        return called

    def _body(self, manifest_id: str) -> dict[str, Any]:
        recorder = self._run.recorder
        label = recorder.label
        included = [self._item(item, "included_reason") for item in self._included]
        excluded = [self._item(item, "excluded_reason") for item in self._excluded]
        by_source: dict[str, int] = {}
        for item in included:
            by_source[item["item_type"]] = by_source.get(item["item_type"], 0) + (item["tokens"] or 0)
        used = sum(by_source.values())
        limit = used if self._limit is None else checks.count("token_limit", self._limit)
        query = None if self._query is None else recorder.policy.text(str(self._query)).text[:_QUERY_LIMIT]
        return {
            "manifest_id": manifest_id,
            "step_id": self._step_id,
            "snapshot_id": checks.maybe_name(self._snapshot_id, label) or recorder.ids.uuid(),
            "intent": json_text(recorder.policy.json(self._intent)),
            "retrieval_query": query,
            "candidate_chunk_ids": checks.names("candidates", self._candidates, label),
            "selected_chunk_ids": checks.names("selected", self._selected, label),
            "reranker_model": checks.maybe_name(self._reranker[0], label),
            "reranker_version": checks.maybe_name(self._reranker[1], label),
            "token_budget": {"limit": limit, "used": used, "by_source": by_source},
            "compiler_version": checks.name("compiler_version", self._compiler_version, label),
            "prefix_hash": self._hash(self._prefix),
            "prefix_length": len(self._prefix),
            "included": included,
            "excluded": excluded,
            "prompt_snapshot": None,
            "tool_output_snapshots": [],
            "metadata": recorder.metadata(self._metadata),
        }

    def _item(self, given: dict[str, Any], reason: str) -> dict[str, Any]:
        label = self._run.recorder.label
        tokens = given["tokens"]
        item = {
            "item_id": checks.name("item_id", given["item_id"], label),
            "item_type": checks.member("item_type", given["item_type"], ContextItemType).value,
            reason: checks.member(reason, given[reason], _REASONS[reason]).value,
            "source_ref": checks.maybe_name(given["source_ref"], label, _SOURCE_LIMIT),
            "tokens": None if tokens is None else checks.count("tokens", tokens),
            "score": checks.maybe_number(given["score"]),
        }
        if reason == "included_reason":
            if item["source_ref"] is None:
                raise RecordRefusedError("source_ref", "says where an included item came from")
            item["hash"] = None if given["hash"] is None else self._hash(given["hash"])
        return item

    def _hash(self, content: str | bytes) -> str:
        """SHA-256; keyed where content must not be stored at all, so that short texts cannot be guessed from it."""
        policy = self._run.recorder.policy
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        return policy.hash(data) if policy.mode is CaptureMode.HASHED else sha256_hex(data)
