"""SQL text to statements."""

import pytest

from tachograph.schemas.errors import ConfigError
from tachograph.sinks.clickhouse.statements import statements


def test_statements_end_at_semicolons_that_are_neither_quoted_nor_commented() -> None:
    """Quotes of all three kinds, both kinds of comment, escapes."""
    sql = r"""
    -- a comment; with a semicolon and a 'quote
    CREATE TABLE {database}.t (a String COMMENT 'it''s; {database} \' ;' /* ; */, `b;` Int8); SELECT "x;y" - 1 / 2;
    ;
    SELECT 1 -- {database}
    """
    assert [" ".join(statement.split()) for statement in statements(sql, database="d1")] == [
        r"CREATE TABLE `d1`.t (a String COMMENT 'it''s; {database} \' ;' , `b;` Int8)",
        'SELECT "x;y" - 1 / 2',
        "SELECT 1",
    ]


@pytest.mark.parametrize("name", ["", "1st", "a-b", "a`b", "a b", "x" * 65, "d; DROP"])
def test_a_database_name_is_a_plain_word(name: str) -> None:
    """It is put into SQL, so nothing else is taken."""
    with pytest.raises(ConfigError, match="plain name"):
        statements("SELECT 1", database=name)
