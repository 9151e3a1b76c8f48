"""Which columns hold captured content: what an agent was asked, saw, said or made, in its capture mode.

Everything else is metadata: ids, names, words of closed lists, counts, times, hashes and pointers.
"""

from collections.abc import Mapping
from typing import Final

CONTENT_COLUMNS: Final[Mapping[str, frozenset[str]]] = {
    "agent_runs": frozenset({"user_request_raw", "constraints", "metadata"}),
    "agent_steps": frozenset({"metadata"}),
    "agent_failures": frozenset({"message", "metadata"}),
    "agent_decisions": frozenset({"selected", "candidates", "metadata"}),
    "agent_quality_signals": frozenset({"metadata"}),
    "decision_events": frozenset(
        {
            "user_request_raw", "constraints", "messages", "retrieval_sources", "retrieval_snippets", "tools",
            "transformations", "output_raw", "output_structured", "tool_calls", "action_summary", "artifacts",
            "tool_results", "alignment_violations", "quality_checks", "policy_checks",
        }
    ),
    "evaluations": frozenset({"alignment_checks", "quality_checks", "policy_checks"}),
    "tool_calls": frozenset({"tool_input", "output", "error", "hooks", "metadata", "arguments"}),
    "context_manifests": frozenset({"intent", "retrieval_query", "metadata"}),
    "context_items": frozenset({"source_ref"}),
    "record_proposals": frozenset({"input_request", "input_session", "input_attachments", "outputs", "subject_ids"}),
    "decision_records": frozenset(
        {"input_request", "input_session", "input_attachments", "outputs", "subject_ids", "verdicts", "body"}
    ),
    "violations": frozenset({"evidence"}),
    "replays": frozenset({"diffs"}),
    "content_views": frozenset({"detail"}),
}  # fmt: skip
"""By table. A table that is not named holds metadata only."""
