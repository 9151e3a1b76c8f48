"""The decision catalog: YAML documents that say what may be decided, on what evidence, under which policies."""

from tachograph.processors.catalog.catalog import Catalog
from tachograph.processors.catalog.errors import CatalogError
from tachograph.processors.catalog.load import check_catalog, load_catalog

__all__ = ["Catalog", "CatalogError", "check_catalog", "load_catalog"]
