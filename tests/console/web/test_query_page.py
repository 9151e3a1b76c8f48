"""The query page: anything about one's own tenant, nothing about another's, nothing but reading, with limits."""

import pytest

from tachograph.console.web import Role
from tachograph.console.web.query_guard import QueryNotAllowedError, check_beginning, check_tree, tenant_filters
from tests.console.web.site import Browser, Site, signed_in
from tests.console.web.test_pages import words

pytestmark = [pytest.mark.timeout(300)]


def ask(browser: Browser, sql: str) -> tuple[int, str]:
    answer = browser.visit("POST", "/query", {"sql": sql})
    shown = answer.text.split("</form>", 3)[-1]
    return answer.status_code, words(shown.split("Tables and columns")[0])


@pytest.mark.stack
def test_a_query_is_answered(site: Site) -> None:
    """With views, joins and subqueries; the answer is this tenant's."""
    with signed_in(site.app(), site.tenant, Role.AUDITOR) as browser:
        status, shown = ask(browser, "SELECT count() AS n, uniqExact(tenant_id) AS tenants FROM runs;")
        assert (status, f"n tenants {len(site.run_ids)} 1" in shown) == (200, True), shown
        sql = (
            "WITH x AS (SELECT run_id FROM violations) SELECT run_id FROM agent_runs WHERE run_id IN (SELECT * FROM x)"
        )
        assert ask(browser, sql)[0] == 200
        assert "200 rows, and there may be more" in ask(browser, "SELECT number FROM numbers(100000)")[1]


OTHER = [
    "SELECT * FROM agent_runs",
    "SELECT * FROM tachograph.agent_runs AS x FINAL",
    "SELECT * FROM runs",
    "SELECT * FROM events",
    "SELECT * FROM (SELECT * FROM agent_runs) UNION ALL SELECT * FROM agent_runs",
    "SELECT (SELECT groupArray(run_id) FROM agent_runs)",
    "SELECT groupArray(v.run_id) FROM agent_decisions AS d FULL JOIN violations AS v ON 1 = 1",
    "SELECT * FROM agent_runs WHERE tenant_id = 'OTHER'",
    "SELECT * FROM agent_runs SETTINGS additional_table_filters = {}",
    "SELECT * FROM (SELECT * FROM agent_runs SETTINGS additional_table_filters = {})",
    "SELECT * FROM agent_runs settings/**/max_threads = 1",
    "SELECT * FROM merge('tachograph', 'agent_runs')",
    "SELECT * FROM merge(tachograph, '.*')",
    "SELECT * FROM mergeTreeIndex(tachograph, agent_runs)",
    "SELECT * FROM remote('127.0.0.1', tachograph.agent_runs)",
    "SELECT * FROM agent_runs, mergeTreeIndex('tachograph', 'agent_runs') AS i",
    "SELECT * FROM (SELECT 1 AS `x\n   TableExpression`) AS y, merge('tachograph', 'agent_runs') AS z",
    "WITH agent_runs AS (SELECT * FROM merge('tachograph', 'agent_runs')) SELECT * FROM agent_runs",
    "SELECT 1) UNION ALL (SELECT * FROM agent_runs",
    "SELECT * FROM loop(tachograph.agent_runs) LIMIT 100",
    "SELECT * FROM view(SELECT * FROM merge('tachograph', 'agent_runs'))",
]


@pytest.mark.stack
@pytest.mark.parametrize("sql", OTHER)
def test_no_query_reaches_another_tenant(site: Site, sql: str) -> None:
    """However it is put. Asked by a third, because what is asked is listed among the asker's own views of content."""
    with signed_in(site.app(), "curious") as browser:
        answer = browser.visit("POST", "/query", {"sql": sql.replace("OTHER", site.other)})
        assert answer.status_code in {200, 400}
        assert site.canary not in answer.text


@pytest.mark.stack
@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO agent_runs SELECT * FROM agent_runs",
        "DROP TABLE agent_runs",
        "SET max_threads = 1",
        "SELECT 1; SELECT 2",
        "SELECT * FROM system.tables",
        "SELECT * FROM url('http://127.0.0.1:1/')",
        "SELECT * FROM file('/etc/passwd')",
        "SELECT 1 INTO OUTFILE 'x'",
        "SELECT sleep(3), * FROM nothing",
        "",
    ],
)
def test_nothing_but_reading_one_s_tables(site: Site, sql: str) -> None:
    """Each is refused with a sentence."""
    with signed_in(site.app(), site.tenant) as browser:
        status, shown = ask(browser, sql)
        assert status == 400
        assert shown


@pytest.mark.stack
def test_a_hostile_tenant_name_stays_in_its_quotes(site: Site) -> None:
    """Names come from an identity provider; they are values, not SQL."""
    with signed_in(site.app(), "x' OR 1 = 1 OR '") as browser:
        status, shown = ask(browser, "SELECT count() AS n FROM agent_runs")
    assert (status, "n 0" in shown) == (200, True), shown


def test_only_a_select_is_parsed() -> None:
    """Anything else is refused before ClickHouse hears of it."""
    check_beginning(" \n select 1")
    for sql in ("", "EXPLAIN SELECT 1", "SHOW TABLES", "selection", "-- x\nDROP TABLE y"):
        with pytest.raises(QueryNotAllowedError):
            check_beginning(sql)


@pytest.mark.parametrize(
    ("tree", "allowed"),
    [
        pytest.param(
            ["SelectQuery", " TableExpression (children 1)", "  TableIdentifier t.runs"], True, id="own table"
        ),
        pytest.param(["SelectQuery", " TableExpression (children 1)", "  Subquery (children 1)"], True, id="subquery"),
        pytest.param(["SelectQuery", " TableExpression (children 1)", "  Function merge"], False, id="function"),
        pytest.param(["SelectQuery", " TableExpression (children 1)", "  Function numbers"], True, id="numbers"),
        pytest.param(["SelectQuery", " TableExpression (children 1)", "  TableIdentifier x.y"], False, id="elsewhere"),
        pytest.param(["SelectQuery (children 2)", " Set"], False, id="settings"),
        pytest.param(["SelectQuery", "\tnonsense \x00"], False, id="not understood"),
    ],
)
def test_the_tree_decides(tree: list[str], *, allowed: bool) -> None:
    """What is not understood is not asked."""
    if allowed:
        check_tree(tree, "t")
    else:
        with pytest.raises(QueryNotAllowedError):
            check_tree(tree, "t")


def test_tables_without_tenants_give_nothing() -> None:
    """The ledger of migrations, for one."""
    assert tenant_filters([("a", True), ("b", False)], "t", "o'x\\") == (
        "{'t.a': 'tenant_id = \\'o\\\\\\'x\\\\\\\\\\'', 't.b': '0'}"
    )
