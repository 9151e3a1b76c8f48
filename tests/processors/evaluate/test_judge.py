"""The judge model against a real HTTP server on loopback: good answers, bad ones, and none."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from tachograph.processors.evaluate.judge import Judge
from tachograph.processors.evaluate.plugins import PluginResult, PluginRunner
from tachograph.schemas.settings import JudgeSettings
from tests.processors.evaluate.events import HMAC, event

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def ask(answer: Answer, subject: dict[str, Any], timeout_s: float = 30.0) -> tuple[PluginResult, list[web.Request]]:
    """One event through the runner, the judge and a server that answers so."""
    found: list[PluginResult] = []
    asked: list[web.Request] = []

    async def endpoint(request: web.Request) -> web.StreamResponse:
        await request.read()
        asked.append(request)
        return await answer(request)

    async def run() -> None:
        application = web.Application()
        application.router.add_post("/v1/chat/completions", endpoint)
        server = web.AppRunner(application, shutdown_timeout=0.01)
        await server.setup()
        site = web.TCPSite(server, "127.0.0.1", 0)
        await site.start()
        host, port = server.addresses[0][:2]
        settings = JudgeSettings(
            url=f"http://{host}:{port}/v1/", model="judge-1", api_key=SecretStr("k-1"), timeout_s=timeout_s,
            max_characters=20,
        )  # fmt: skip
        runner = PluginRunner([Judge(settings)], found.append)
        await runner.start()
        runner.submit(subject)
        await runner.join()
        await runner.stop()
        await server.cleanup()

    asyncio.run(run())
    (result,) = found
    return result, asked


def says(text: str) -> Answer:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.json_response({"choices": [{"message": {"role": "assistant", "content": text}}]})

    return answer


async def _fails(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=500, text="canary")


async def _garbage(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>canary")


async def _hangs(_request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


@pytest.mark.parametrize(
    ("text", "status", "constraint", "violations"),
    [
        pytest.param('{"status": "pass", "constraint_id": null}', "pass", None, [], id="pass"),
        pytest.param('{"status": "fail", "constraint_id": "c0"}', "fail", "c0", ["alignment.judge.model"], id="fail"),
        pytest.param('```json\n{"status": "warn"}\n```', "warn", None, ["alignment.judge.model"], id="in a fence"),
        pytest.param('{"status": "fail", "constraint_id": "odd"}', "fail", None, ["alignment.judge.model"], id="x"),
    ],
)  # fmt: skip
def test_a_good_answer_is_a_verdict(text: str, status: str, constraint: str | None, violations: list[str]) -> None:
    """The judge's status counts; a constraint only if the request has it; its words are not stored."""
    result, _ = ask(says(text), event(constraints=["be kind"]))
    ((side, check),) = result.checks
    assert (side, check.status, check.constraint_id) == ("alignment", status, constraint)
    assert [found.code for found in result.violations] == violations


def test_content_is_sent_as_captured_and_cut() -> None:
    """Request, constraints and output go out in their stored form, no longer than allowed, with the key."""
    _, (request,) = ask(says('{"status": "pass"}'), event(output="word " * 50, constraints=["be kind"]))
    body = json.loads(request._read_bytes or b"")
    assert (body["model"], request.headers["authorization"]) == ("judge-1", "Bearer k-1")
    assert json.loads(body["messages"][1]["content"]) == {
        "request": "Fix the failing test",
        "constraints": [{"id": "c0", "rule": "be kind"}],
        "output": "word word word word ",
        "action": "message",
    }


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(event(output=HMAC, mode="hashed"), id="hashed"),
        pytest.param(event(output=HMAC), id="a hash in another mode"),
        pytest.param(event(mode=None), id="no capture mode"),
        pytest.param(event(output=None), id="no output"),
    ],
)
def test_nothing_is_sent_of_what_was_not_captured_as_text(subject: dict[str, Any]) -> None:
    """Such an event is unknown, and the judge never hears of it."""
    result, asked = ask(says('{"status": "pass"}'), subject)
    assert [check.status for _, check in result.checks] == ["unknown"]
    assert asked == []


@pytest.mark.parametrize(
    ("answer", "timeout_s", "reason"),
    [
        pytest.param(_fails, 30.0, "error: the evaluator raised JudgeError", id="status 500"),
        pytest.param(_garbage, 30.0, "error: the evaluator raised JudgeError", id="not JSON"),
        pytest.param(says("looks fine to me"), 30.0, "error: the evaluator raised JudgeError", id="prose"),
        pytest.param(says('{"status": "superb"}'), 30.0, "error: the evaluator raised JudgeError", id="odd status"),
        pytest.param(says("[1]"), 30.0, "error: the evaluator raised JudgeError", id="not an object"),
        pytest.param(_hangs, 0.2, "timeout: the evaluator took too long", id="no answer"),
    ],
)
def test_no_usable_answer_is_unknown(answer: Answer, timeout_s: float, reason: str) -> None:
    """A judge that is down, confused or slow gives unknown, and nothing it said is kept."""
    result, _ = ask(answer, event(), timeout_s)
    assert result.reason == reason
    assert [check.status for _, check in result.checks] == ["unknown"]
    assert "canary" not in repr(result.checks)
