"""From the catalog to the terms of one decision, which an agent is given as data."""

from collections.abc import Mapping, Sequence
from typing import Any

from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.catalog.documents import (
    AnyDocument,
    ContextPack,
    DecisionSpec,
    EvaluatorSuite,
    ModelProfile,
    PolicyBundle,
)
from tachograph.schemas.models.terms import BundleTerms, DecisionTerms
from tachograph.schemas.proofs.keys import micros


def terms_of(catalog: Catalog, spec: DecisionSpec, lineage: Mapping[str, Any]) -> DecisionTerms | None:
    """The terms of a decision with the documents that a lineage pins; None if the catalog lacks one of them."""
    pack = catalog.find(ContextPack, lineage["pack_version"])
    suite = catalog.find(EvaluatorSuite, lineage["evaluator_suite"])
    profile = catalog.find(ModelProfile, lineage["model_profile"])
    bundles = [_pinned(catalog, name, lineage["policy_versions"]) for name in spec.policies]
    if pack is None or suite is None or profile is None:
        return None
    found = [bundle for bundle in bundles if bundle is not None]
    if len(found) < len(bundles):
        return None
    documents: tuple[AnyDocument, ...] = (spec, pack, *found, profile, suite)
    return DecisionTerms(
        decision_key=spec.key,
        decision_version=spec.version,
        allowed_outcomes=spec.allowed_outcomes,
        outcome_field=spec.outcome_field,
        required_evidence=spec.required_evidence,
        approval=spec.approval,
        policies=tuple(
            BundleTerms(
                id=bundle.id,
                version=bundle.version,
                active_from=bundle.active_from,
                active_until=bundle.active_until,
                rule_ids=tuple(rule.id for rule in bundle.rules),
            )
            for bundle in found
        ),
        governed_tools=spec.tools,
        tools=pack.tools,
        budget=spec.budget,
        controls=pack.controls,
        pack_version=f"{pack.name}@{pack.version}",
        model_profile=f"{profile.name}@{profile.version}",
        evaluator_suite=f"{suite.name}@{suite.version}",
        minimum=suite.minimum,
        pins=tuple(
            f"{item.kind} {item.name}@{item.version} {catalog.hash_of(item.kind, f'{item.name}@{item.version}')}"
            for item in documents
        ),
    )


def newest_in_force(catalog: Catalog, name: str, now: int) -> str | None:
    """The newest version of a policy bundle that is in force, as ``name@version``; None if none is."""
    active = [
        bundle
        for bundle in catalog.bundles(name)
        if micros(bundle.active_from) <= now and (bundle.active_until is None or now < micros(bundle.active_until))
    ]
    newest = max(active, key=lambda bundle: tuple(map(int, bundle.version.split("."))), default=None)
    return None if newest is None else f"{name}@{newest.version}"


def _pinned(catalog: Catalog, name: str, versions: Sequence[str]) -> PolicyBundle | None:
    """The first version of a bundle that is pinned."""
    wanted = next((reference for reference in versions if reference.partition("@")[0] == name), "")
    return catalog.find(PolicyBundle, wanted)
