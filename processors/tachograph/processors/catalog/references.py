"""What documents of a catalog say about each other."""

from collections.abc import Container, Iterator

from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.catalog.documents import AnyDocument, ContextPack, DecisionSpec
from tachograph.schemas.placed_yaml import Step


def broken_references(
    document: AnyDocument, catalog: Catalog, unsound: Container[tuple[str, str]] = ()
) -> Iterator[tuple[tuple[Step, ...], str]]:
    """Names that lead nowhere, with the place that uses them. ``unsound``: documents that are there, with problems."""
    if isinstance(document, DecisionSpec):
        for place, name in enumerate(document.policies):
            if not catalog.bundles(name) and ("policy_bundle", name) not in unsound:
                yield ("policies", place), f"there is no policy bundle {name}"
        yield from _outcomes(document)
    elif isinstance(document, ContextPack):
        keys = {pinned.document.key for pinned in catalog.documents if isinstance(pinned.document, DecisionSpec)}
        for place, key in enumerate(document.decisions):
            if key not in keys and ("decision_spec", key) not in unsound:
                yield ("decisions", place), f"there is no decision spec {key}"


def _outcomes(spec: DecisionSpec) -> Iterator[tuple[tuple[Step, ...], str]]:
    """An output schema that lists outcomes must list the allowed ones."""
    properties = spec.output_schema.get("properties")
    outcome = properties.get(spec.outcome_field) if isinstance(properties, dict) else None
    listed = outcome.get("enum") if isinstance(outcome, dict) else None
    required = spec.output_schema.get("required")
    if not isinstance(required, list) or spec.outcome_field not in required:
        yield ("output_schema",), f"the output schema must require '{spec.outcome_field}', which holds the outcome"
    if isinstance(listed, list) and set(map(str, listed)) != set(spec.allowed_outcomes):
        path = ("output_schema", "properties", spec.outcome_field, "enum")
        yield path, "the outcomes of the schema are not the allowed outcomes"
