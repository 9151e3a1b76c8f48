"""Prices of models are data: a file that people write, loaded into a table that the cost views read."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import Error
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tachograph.schemas.documents import read_documents
from tachograph.schemas.enums import Provider
from tachograph.schemas.errors import DocumentError
from tachograph.sinks.clickhouse.client import translated
from tachograph.sinks.clickhouse.statements import quoted_identifier

Dollars = Annotated[Decimal, Field(ge=0, max_digits=18, decimal_places=6)]


class Entry(BaseModel):
    """One price of one or more models."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, use_attribute_docstrings=True)

    provider: Provider
    """Who serves the models, as calls name it."""
    models: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    """Models, exactly as calls name them."""
    effective_from: Annotated[date, Field(alias="from")]
    """Day (UTC) from which the price holds, until the model's next entry."""
    input_usd_per_mtok: Dollars | None
    """US dollars for a million tokens sent; null ends the price."""
    output_usd_per_mtok: Dollars | None
    """US dollars for a million tokens received; null ends the price."""
    source: str = ""
    """Where the price comes from."""

    @model_validator(mode="after")
    def _both_or_none(self) -> "Entry":
        if (self.input_usd_per_mtok is None) != (self.output_usd_per_mtok is None):
            raise ValueError("a price has two amounts; to end it, both are null")
        return self


class PriceFile(BaseModel):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    as_of: date | None = None
    """Day on which somebody last looked whether the prices are right. For people; nothing is computed from it."""
    prices: Annotated[tuple[Entry, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _once_each(self) -> "PriceFile":
        seen: set[tuple[str, str, date]] = set()
        for entry in self.prices:
            for model in entry.models:
                place = (entry.provider.value, model, entry.effective_from)
                if place in seen:
                    raise ValueError(f"{model} of {entry.provider.value} has two prices from {entry.effective_from}")
                seen.add(place)
        return self


@dataclass(frozen=True, slots=True, order=True)
class Price:
    """A row of ``model_prices``."""

    provider: str
    model: str
    effective_from: datetime
    input_usd_per_mtok: Decimal | None
    output_usd_per_mtok: Decimal | None
    source: str


def read_price_file(path: Path) -> PriceFile:
    """A file of prices as it is written. Raises DocumentError with every mistake and its line."""
    files = read_documents(path, PriceFile)
    if len(files) != 1:
        raise DocumentError(f"{path}: {len(files)} documents; a file of prices is one")
    return files[0]


def read_prices(path: Path) -> list[Price]:
    """Prices of a file, in order. Raises DocumentError with every mistake and its line."""
    return sorted(
        Price(
            entry.provider.value,
            model,
            datetime.combine(entry.effective_from, time.min, UTC),
            entry.input_usd_per_mtok,
            entry.output_usd_per_mtok,
            entry.source,
        )
        for entry in read_price_file(path).prices
        for model in entry.models
    )


def missing_prices(client: Client, prices: Iterable[Price], *, database: str = "tachograph") -> list[Price]:
    """Those that the table does not have, or has otherwise."""
    sql = (
        "SELECT provider, model, effective_from, argMax(tuple(input_usd_per_mtok, output_usd_per_mtok, source), "  # noqa: S608 - a quoted name
        f"loaded_at) FROM {quoted_identifier(database)}.model_prices GROUP BY provider, model, effective_from"
    )
    try:
        rows = client.query(sql, tz_mode="aware").result_rows
    except Error as error:
        raise translated(error, "reading prices") from None
    known = {(provider, model, since): tuple(values) for provider, model, since, values in rows}
    return [
        price
        for price in prices
        if known.get((price.provider, price.model, price.effective_from))
        != (price.input_usd_per_mtok, price.output_usd_per_mtok, price.source)
    ]


def apply_prices(client: Client, prices: Iterable[Price], *, database: str = "tachograph") -> list[Price]:
    """Load what is new or changed, and return it. Loading the same file again changes nothing."""
    new = missing_prices(client, prices, database=database)
    if new:
        columns = ["provider", "model", "effective_from", "input_usd_per_mtok", "output_usd_per_mtok", "source"]
        rows = [[getattr(price, column) for column in columns] for price in new]
        try:
            client.insert("model_prices", rows, column_names=columns, database=database, settings={"async_insert": 0})
        except Error as error:
            raise translated(error, "loading prices") from None
    return new
