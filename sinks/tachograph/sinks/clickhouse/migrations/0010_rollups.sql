-- What models and tools did, by minute and by hour, and what models cost.
--
-- Buckets follow the event's own time: a late event is counted in the minute in which it happened. A clock beyond what
-- DateTime holds is counted at the edge, in 1970 or 2106, instead of wrapping around into a wrong day.
--
-- The views that fill these tables see every block that is inserted. An insert that is repeated under the same token is
-- dropped by the table and by each of these, one by one: so each has a deduplication window of its own, and the sink asks
-- for the check in dependent views. A server killed between table and rollup is mended by the sink's repeat.
-- They read under the account of the migrations: the writer's own may not read a single column.
--
-- Latencies are DDSketch states: quantiles within one per cent, and states of many minutes or servers can be merged.
-- Rollups begin with the rows that arrive after this migration.

CREATE TABLE IF NOT EXISTS {database}.model_minutes
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    minute DateTime('UTC') COMMENT 'Start of the minute in which the calls ended, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    agent_id LowCardinality(String) COMMENT 'Agent that called.',
    provider LowCardinality(String) COMMENT 'Who served the model.',
    model LowCardinality(String) COMMENT 'Model.',
    calls SimpleAggregateFunction(sum, UInt64) COMMENT 'Model calls.',
    errors SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that brought nothing back.',
    without_usage SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose tokens the provider did not tell.',
    input_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens sent.',
    output_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens received.',
    timed SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose time is known.',
    latency_ms AggregateFunction(quantilesDD(0.01, 0.5, 0.9, 0.95, 0.99), Nullable(Float64)) COMMENT 'Sketch of latencies in milliseconds.'
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant_id, minute, agent_id, provider, model)
TTL minute + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Model calls by minute. The view model_usage_by_minute reads it.';

CREATE TABLE IF NOT EXISTS {database}.model_hours
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    hour DateTime('UTC') COMMENT 'Start of the hour in which the calls ended, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    agent_id LowCardinality(String) COMMENT 'Agent that called.',
    provider LowCardinality(String) COMMENT 'Who served the model.',
    model LowCardinality(String) COMMENT 'Model.',
    calls SimpleAggregateFunction(sum, UInt64) COMMENT 'Model calls.',
    errors SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that brought nothing back.',
    without_usage SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose tokens the provider did not tell.',
    input_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens sent.',
    output_tokens SimpleAggregateFunction(sum, UInt64) COMMENT 'Tokens received.',
    timed SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose time is known.',
    latency_ms AggregateFunction(quantilesDD(0.01, 0.5, 0.9, 0.95, 0.99), Nullable(Float64)) COMMENT 'Sketch of latencies in milliseconds.'
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant_id, hour, agent_id, provider, model)
TTL hour + INTERVAL 730 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Model calls by hour. The view model_usage_by_hour reads it.';

CREATE TABLE IF NOT EXISTS {database}.tool_minutes
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    minute DateTime('UTC') COMMENT 'Start of the minute in which the calls began, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    agent_id LowCardinality(String) COMMENT 'Agent that called.',
    tool_name LowCardinality(String) COMMENT 'Tool.',
    calls SimpleAggregateFunction(sum, UInt64) COMMENT 'Tool calls.',
    errors SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that failed.',
    stopped SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that a hook skipped or aborted.',
    incomplete SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls of which a leg never arrived.',
    timed SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose time is known.',
    latency_ms AggregateFunction(quantilesDD(0.01, 0.5, 0.9, 0.95, 0.99), Nullable(Float64)) COMMENT 'Sketch of durations in milliseconds.'
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant_id, minute, agent_id, tool_name)
TTL minute + INTERVAL 30 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Tool calls by minute. The view tool_usage_by_minute reads it.';

CREATE TABLE IF NOT EXISTS {database}.tool_hours
(
    tenant_id LowCardinality(String) COMMENT 'Whose data this is.',
    hour DateTime('UTC') COMMENT 'Start of the hour in which the calls began, by the producer\'s clock.' CODEC(Delta, ZSTD(1)),
    agent_id LowCardinality(String) COMMENT 'Agent that called.',
    tool_name LowCardinality(String) COMMENT 'Tool.',
    calls SimpleAggregateFunction(sum, UInt64) COMMENT 'Tool calls.',
    errors SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that failed.',
    stopped SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls that a hook skipped or aborted.',
    incomplete SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls of which a leg never arrived.',
    timed SimpleAggregateFunction(sum, UInt64) COMMENT 'Calls whose time is known.',
    latency_ms AggregateFunction(quantilesDD(0.01, 0.5, 0.9, 0.95, 0.99), Nullable(Float64)) COMMENT 'Sketch of durations in milliseconds.'
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant_id, hour, agent_id, tool_name)
TTL hour + INTERVAL 730 DAY
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Tool calls by hour. The view tool_usage_by_hour reads it.';

CREATE TABLE IF NOT EXISTS {database}.model_prices
(
    provider LowCardinality(String) COMMENT 'Who serves the model.',
    model LowCardinality(String) COMMENT 'Model, as calls name it.',
    effective_from DateTime('UTC') COMMENT 'From when on the price holds, until the next one of the model.',
    input_usd_per_mtok Nullable(Decimal(18, 6)) COMMENT 'US dollars for a million tokens sent; NULL if there is no price any more.',
    output_usd_per_mtok Nullable(Decimal(18, 6)) COMMENT 'US dollars for a million tokens received; NULL if there is no price any more.',
    source String COMMENT 'Where the price comes from.',
    loaded_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was loaded. The latest counts.'
)
ENGINE = ReplacingMergeTree(loaded_at)
ORDER BY (provider, model, effective_from)
COMMENT 'Prices of models. `tachograph prices apply` writes it.';

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.model_minutes_feed TO {database}.model_minutes
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    toDateTime(intDiv(least(greatest(toUnixTimestamp64Micro(occurred_at), 0), 4294967295000000), 60000000) * 60, 'UTC') AS minute,
    agent_id,
    provider,
    model,
    count() AS calls,
    countIf(isNull(event.completion_id) AND isNull(event.output_raw) AND isNull(event.output_artifact_id) AND isNull(event.output_structured) AND empty(event.tool_calls)) AS errors,
    countIf(isNull(event.input_tokens) AND isNull(event.output_tokens)) AS without_usage,
    sum(toUInt64(greatest(ifNull(event.input_tokens, 0), 0))) AS input_tokens,
    sum(toUInt64(greatest(ifNull(event.output_tokens, 0), 0))) AS output_tokens,
    countIf(isNotNull(event.latency_ms)) AS timed,
    quantilesDDState(0.01, 0.5, 0.9, 0.95, 0.99)(toFloat64(greatest(event.latency_ms, 0))) AS latency_ms
FROM {database}.decision_events AS event
WHERE provider != ''
GROUP BY tenant_id, minute, agent_id, provider, model;

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.model_hours_feed TO {database}.model_hours
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    toDateTime(intDiv(least(greatest(toUnixTimestamp64Micro(occurred_at), 0), 4294967295000000), 3600000000) * 3600, 'UTC') AS hour,
    agent_id,
    provider,
    model,
    count() AS calls,
    countIf(isNull(event.completion_id) AND isNull(event.output_raw) AND isNull(event.output_artifact_id) AND isNull(event.output_structured) AND empty(event.tool_calls)) AS errors,
    countIf(isNull(event.input_tokens) AND isNull(event.output_tokens)) AS without_usage,
    sum(toUInt64(greatest(ifNull(event.input_tokens, 0), 0))) AS input_tokens,
    sum(toUInt64(greatest(ifNull(event.output_tokens, 0), 0))) AS output_tokens,
    countIf(isNotNull(event.latency_ms)) AS timed,
    quantilesDDState(0.01, 0.5, 0.9, 0.95, 0.99)(toFloat64(greatest(event.latency_ms, 0))) AS latency_ms
FROM {database}.decision_events AS event
WHERE provider != ''
GROUP BY tenant_id, hour, agent_id, provider, model;

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.tool_minutes_feed TO {database}.tool_minutes
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    toDateTime(intDiv(least(greatest(toUnixTimestamp64Micro(occurred_at), 0), 4294967295000000), 60000000) * 60, 'UTC') AS minute,
    agent_id,
    tool_name,
    count() AS calls,
    countIf(result_is_error OR isNotNull(error_type)) AS errors,
    countIf(skipped OR hook_action IN ('skip', 'abort')) AS stopped,
    countIf(NOT complete) AS incomplete,
    countIf(isNotNull(duration_ms)) AS timed,
    quantilesDDState(0.01, 0.5, 0.9, 0.95, 0.99)(toFloat64(greatest(duration_ms, 0))) AS latency_ms
FROM {database}.tool_calls
WHERE leg = 'call'
GROUP BY tenant_id, minute, agent_id, tool_name;

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.tool_hours_feed TO {database}.tool_hours
DEFINER = CURRENT_USER SQL SECURITY DEFINER
AS SELECT
    tenant_id,
    toDateTime(intDiv(least(greatest(toUnixTimestamp64Micro(occurred_at), 0), 4294967295000000), 3600000000) * 3600, 'UTC') AS hour,
    agent_id,
    tool_name,
    count() AS calls,
    countIf(result_is_error OR isNotNull(error_type)) AS errors,
    countIf(skipped OR hook_action IN ('skip', 'abort')) AS stopped,
    countIf(NOT complete) AS incomplete,
    countIf(isNotNull(duration_ms)) AS timed,
    quantilesDDState(0.01, 0.5, 0.9, 0.95, 0.99)(toFloat64(greatest(duration_ms, 0))) AS latency_ms
FROM {database}.tool_calls
WHERE leg = 'call'
GROUP BY tenant_id, hour, agent_id, tool_name;

CREATE OR REPLACE VIEW {database}.model_usage_by_minute AS
SELECT
    usage.tenant_id AS tenant_id,
    usage.minute AS minute,
    usage.agent_id AS agent_id,
    usage.provider AS provider,
    usage.model AS model,
    usage.calls AS calls,
    usage.errors AS errors,
    usage.without_usage AS without_usage,
    usage.input_tokens AS input_tokens,
    usage.output_tokens AS output_tokens,
    if(usage.timed = 0, NULL, usage.latency[1]) AS latency_p50_ms,
    if(usage.timed = 0, NULL, usage.latency[2]) AS latency_p90_ms,
    if(usage.timed = 0, NULL, usage.latency[3]) AS latency_p95_ms,
    if(usage.timed = 0, NULL, usage.latency[4]) AS latency_p99_ms,
    (toDecimal128(usage.input_tokens, 0) * price.input_usd + toDecimal128(usage.output_tokens, 0) * price.output_usd) / 1000000 AS cost_usd,
    if(isNull(cost_usd), usage.calls, 0) AS unpriced_calls
FROM
(
    SELECT
        tenant_id,
        minute,
        agent_id,
        provider,
        model,
        sum(rollup.calls) AS calls,
        sum(rollup.errors) AS errors,
        sum(rollup.without_usage) AS without_usage,
        sum(rollup.input_tokens) AS input_tokens,
        sum(rollup.output_tokens) AS output_tokens,
        sum(rollup.timed) AS timed,
        quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(rollup.latency_ms) AS latency
    FROM {database}.model_minutes AS rollup
    GROUP BY tenant_id, minute, agent_id, provider, model
) AS usage
ASOF LEFT JOIN
(
    SELECT
        provider,
        model,
        effective_from,
        CAST(argMax(tuple(input_usd_per_mtok), loaded_at).1, 'Nullable(Decimal(38, 12))') AS input_usd,
        CAST(argMax(tuple(output_usd_per_mtok), loaded_at).1, 'Nullable(Decimal(38, 12))') AS output_usd
    FROM {database}.model_prices
    GROUP BY provider, model, effective_from
) AS price ON price.provider = usage.provider AND price.model = usage.model AND price.effective_from <= usage.minute
COMMENT 'Model calls by minute: counts, latencies, tokens, and cost where the model has a price.';

CREATE OR REPLACE VIEW {database}.model_usage_by_hour AS
SELECT
    usage.tenant_id AS tenant_id,
    usage.hour AS hour,
    usage.agent_id AS agent_id,
    usage.provider AS provider,
    usage.model AS model,
    usage.calls AS calls,
    usage.errors AS errors,
    usage.without_usage AS without_usage,
    usage.input_tokens AS input_tokens,
    usage.output_tokens AS output_tokens,
    if(usage.timed = 0, NULL, usage.latency[1]) AS latency_p50_ms,
    if(usage.timed = 0, NULL, usage.latency[2]) AS latency_p90_ms,
    if(usage.timed = 0, NULL, usage.latency[3]) AS latency_p95_ms,
    if(usage.timed = 0, NULL, usage.latency[4]) AS latency_p99_ms,
    (toDecimal128(usage.input_tokens, 0) * price.input_usd + toDecimal128(usage.output_tokens, 0) * price.output_usd) / 1000000 AS cost_usd,
    if(isNull(cost_usd), usage.calls, 0) AS unpriced_calls
FROM
(
    SELECT
        tenant_id,
        hour,
        agent_id,
        provider,
        model,
        sum(rollup.calls) AS calls,
        sum(rollup.errors) AS errors,
        sum(rollup.without_usage) AS without_usage,
        sum(rollup.input_tokens) AS input_tokens,
        sum(rollup.output_tokens) AS output_tokens,
        sum(rollup.timed) AS timed,
        quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(rollup.latency_ms) AS latency
    FROM {database}.model_hours AS rollup
    GROUP BY tenant_id, hour, agent_id, provider, model
) AS usage
ASOF LEFT JOIN
(
    SELECT
        provider,
        model,
        effective_from,
        CAST(argMax(tuple(input_usd_per_mtok), loaded_at).1, 'Nullable(Decimal(38, 12))') AS input_usd,
        CAST(argMax(tuple(output_usd_per_mtok), loaded_at).1, 'Nullable(Decimal(38, 12))') AS output_usd
    FROM {database}.model_prices
    GROUP BY provider, model, effective_from
) AS price ON price.provider = usage.provider AND price.model = usage.model AND price.effective_from <= usage.hour
COMMENT 'Model calls by hour: counts, latencies, tokens, and cost where the model has a price.';

CREATE OR REPLACE VIEW {database}.tool_usage_by_minute AS
WITH quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(rollup.latency_ms) AS latency
SELECT
    tenant_id,
    minute,
    agent_id,
    tool_name,
    sum(rollup.calls) AS calls,
    sum(rollup.errors) AS errors,
    sum(rollup.stopped) AS stopped,
    sum(rollup.incomplete) AS incomplete,
    if(sum(rollup.timed) = 0, NULL, latency[1]) AS latency_p50_ms,
    if(sum(rollup.timed) = 0, NULL, latency[2]) AS latency_p90_ms,
    if(sum(rollup.timed) = 0, NULL, latency[3]) AS latency_p95_ms,
    if(sum(rollup.timed) = 0, NULL, latency[4]) AS latency_p99_ms
FROM {database}.tool_minutes AS rollup
GROUP BY tenant_id, minute, agent_id, tool_name
COMMENT 'Tool calls by minute: counts and durations.';

CREATE OR REPLACE VIEW {database}.tool_usage_by_hour AS
WITH quantilesDDMerge(0.01, 0.5, 0.9, 0.95, 0.99)(rollup.latency_ms) AS latency
SELECT
    tenant_id,
    hour,
    agent_id,
    tool_name,
    sum(rollup.calls) AS calls,
    sum(rollup.errors) AS errors,
    sum(rollup.stopped) AS stopped,
    sum(rollup.incomplete) AS incomplete,
    if(sum(rollup.timed) = 0, NULL, latency[1]) AS latency_p50_ms,
    if(sum(rollup.timed) = 0, NULL, latency[2]) AS latency_p90_ms,
    if(sum(rollup.timed) = 0, NULL, latency[3]) AS latency_p95_ms,
    if(sum(rollup.timed) = 0, NULL, latency[4]) AS latency_p99_ms
FROM {database}.tool_hours AS rollup
GROUP BY tenant_id, hour, agent_id, tool_name
COMMENT 'Tool calls by hour: counts and durations.';
