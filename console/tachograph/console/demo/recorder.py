"""Writes the records of one demo run: the envelope, the order and the clock, so that the script reads like a story."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from tachograph.schemas import models
from tachograph.schemas.canonical import prompt_bundle_hash
from tachograph.schemas.models.decision_event import PromptBundle
from tachograph.schemas.settings import Settings


class DemoRun:
    """Collects the records of a run. Ids are made of the run's name, so the same story has the same ids."""

    def __init__(self, settings: Settings, name: str, *, started_at: datetime, request: dict[str, Any]) -> None:
        self.records: list[models.Record] = []
        self.run_id = f"run_{name}"
        self._tenant = settings.tenant_id
        self._trace_id = _digest(name)[:32]
        self._now = started_at
        self._started_at = started_at
        self._request = request
        self._tokens = [0, 0]
        self._add(
            models.RunStarted,
            session_id=f"session_{name}",
            agent_version="1.0.0",
            environment="local",
            capture_mode="redacted",
            request=request,
            sdk="tachograph-demo/1",
        )

    def pass_time(self, milliseconds: int) -> None:
        """The story goes on."""
        self._now += timedelta(milliseconds=milliseconds)

    def step(self, step_type: str, name: str) -> str:
        """Begin a step."""
        step_id = self._id("step")
        self._add(models.StepStarted, step_id=step_id, span_id=self._span(), step_type=step_type, name=name)
        return step_id

    def end_step(self, step_id: str, *, milliseconds: int, status: str = "succeeded", error: str | None = None) -> None:
        """End a step."""
        self.pass_time(milliseconds)
        self._add(models.StepEnded, step_id=step_id, status=status, duration_ms=milliseconds, error_type=error)

    def act(
        self,
        action_type: str,
        summary: str,
        *,
        step_id: str,
        bundle: dict[str, Any] | None = None,
        output: dict[str, Any] | None = None,
        **extra: Any,
    ) -> str:
        """One action boundary, with the model call behind it if there was one."""
        action = {
            "action_type": action_type,
            "action_summary": summary,
            "artifacts": extra.pop("artifacts", []),
            "tool_results": extra.pop("tool_results", []),
        }
        if bundle is not None and output is not None:
            sent = PromptBundle.model_validate(bundle).model_dump(mode="json", by_alias=True)
            extra["prompt_provenance"] = {
                "provider": "other",
                "model": "scripted",
                "capture_mode": "redacted",
                "prompt_bundle": bundle,
                "prompt_bundle_hash": prompt_bundle_hash(sent),
                "parameters": {"temperature": 0.0, "max_tokens": 1024},
            }
            extra["model_output"] = output
            self._tokens[0] += output["usage"]["input_tokens"]
            self._tokens[1] += output["usage"]["output_tokens"]
        return self._add(
            models.DecisionEvent,
            span_id=self._span(),
            step_id=step_id,
            session={
                "session_id": f"session_{self.run_id.removeprefix('run_')}",
                "run_id": self.run_id,
                "agent_id": "demo-coder",
                "agent_version": "1.0.0",
                "environment": "local",
            },
            request=self._request,
            agent_action=action,
            evaluation=extra.pop("evaluation", {}),
            **extra,
        ).event_id

    def tool(self, name: str, tool_input: str, *, step_id: str, milliseconds: int, **outcome: Any) -> str:
        """A tool call: before and after."""
        tool_use_id = self._id("tool")
        shared = {
            "tool_use_id": tool_use_id,
            "tool_name": name,
            "step_id": step_id,
            "phase": "execution",
            "capture_mode": "redacted",
        }
        self._add(
            models.ToolCallRecord,
            **shared,
            leg="pre",
            tool_input=tool_input,
            hooks=[{"hook": "path-scope", "stage": "pre", "action": "continue"}],
        )
        self.pass_time(milliseconds)
        self._add(models.ToolCallRecord, **shared, leg="post", duration_ms=milliseconds, **outcome)
        return tool_use_id

    def add(self, model: type[models.Record], **fields: Any) -> str:
        """Any other record."""
        return self._add(model, **fields).event_id

    def new_id(self, kind: str) -> str:
        """An id that is unique in the run."""
        return self._id(kind)

    def end(self, status: str, *, error: str | None = None) -> list[models.Record]:
        """Close the run with its count."""
        self._add(
            models.RunEnded,
            status=status,
            emitted=len(self.records) + 1,
            duration_ms=int((self._now - self._started_at).total_seconds() * 1000),
            input_tokens=self._tokens[0],
            output_tokens=self._tokens[1],
            error_type=error,
        )
        return self.records

    def _add(self, model: type[models.Record], **fields: Any) -> models.Record:
        self.pass_time(3)
        seq = len(self.records)
        record = model.model_validate(
            {
                "tenant_id": self._tenant,
                "agent_id": "demo-coder",
                "event_id": _event_id(self._now, f"{self.run_id}/{seq}"),
                "trace_id": self._trace_id,
                "run_id": self.run_id,
                "seq": seq,
                "occurred_at": self._now,
            }
            | fields
        )
        self.records.append(record)
        return record

    def _id(self, kind: str) -> str:
        return f"{kind}_{_digest(f'{self.run_id}/{len(self.records)}/{kind}')[:12]}"

    def _span(self) -> str:
        return _digest(f"{self.run_id}/{len(self.records)}")[:16]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _event_id(moment: datetime, name: str) -> str:
    """A UUIDv7 whose random part is made of the name."""
    digest = _digest(name)
    stamp = f"{int(moment.timestamp() * 1000):012x}"
    return f"{stamp[:8]}-{stamp[8:]}-7{digest[:3]}-8{digest[3:6]}-{digest[6:18]}"
