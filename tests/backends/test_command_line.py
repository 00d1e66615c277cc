"""What every agent program is asked to do, without starting one: pure commands, and logins handed on with care."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from skilltrial import registry
from skilltrial.backends._address import bare, rooted
from skilltrial.backends._command_line import CommandLine
from skilltrial.backends._running import over_a_cap
from skilltrial.records.plan import Target
from skilltrial.records.suite import Limits

PROGRAMS = [name for name in registry.names("backends") if registry.get("backends", name).capabilities.program]
WITH_STDIN = [name for name in PROGRAMS if name != "agy"]
FUTURE_MS, PAST_MS = (time.time() + 86_400) * 1000, (time.time() - 86_400) * 1000


class Spot(NamedTuple):
    """The Place seam, never entered."""

    root: Path = Path("/place/work")
    home: Path = Path("/place/home")
    level: str = "none"

    def start(self, *args: Any) -> Any:
        raise AssertionError("a pure half starts nothing")


@pytest.fixture(params=PROGRAMS)
def name(request: Any) -> str:
    return str(request.param)


def backend(name: str, model: str | None = "some-model", **options: Any) -> CommandLine:
    made: CommandLine = registry.get("backends", name).from_target(Target(name="t", backend=name, value=model, options=options))
    return made


def argv(made: CommandLine, bench: Any, level: str = "none", **fields: Any) -> str:
    return " ".join(made.command(bench.job(Spot(level=level), **fields)).argv)


def everything(made: CommandLine, bench: Any, **fields: Any) -> str:
    """All that the program is given but secrets."""
    job = bench.job(Spot(), **fields)
    command = made.command(job)
    return json.dumps([command.argv, dict(command.env), {n: d.decode() for n, d in made.home_files(job).items()}])


# ---------------------------------------------------------------- every program
def test_a_command_is_pure_and_equal_each_time(name: str, bench: Any) -> None:
    made, job = backend(name), bench.job(Spot())
    assert made.command(job) == made.command(job)


def test_the_model_is_passed_on_as_it_is(name: str, bench: Any) -> None:
    assert "vendor/odd:model" in argv(backend(name, "vendor/odd:model"), bench)


def test_arguments_of_the_users_own_are_passed_on(name: str, bench: Any) -> None:
    made = registry.get("backends", name).from_target(Target(name="t", backend=name, args=("--my-own", "argument")))
    assert "--my-own argument" in argv(made, bench)


def test_the_executable_can_be_given_as_a_path(name: str, bench: Any) -> None:
    assert argv(backend(name, path="/my/program"), bench).startswith("/my/program ")


EVERY = frozenset(PROGRAMS)
REASONING = {"claude-code", "codex", "copilot", "opencode", "pi"}
LISTS_TOOLS = EVERY - {"codex", "agy"}
COUNTS = {"claude-code", "copilot", "gemini", "opencode", "pi", "qwen"}
TELLS_TOKENS = {"claude-code", "opencode", "pi", "qwen"}
TELLS_COST = {"claude-code", "opencode", "pi"}
REQUESTS: dict[str, tuple[dict[str, Any], dict[str, Any], set[str] | frozenset[str], str]] = {
    "reasoning": ({"reasoning_effort": "high"}, {}, REASONING, "reasoning effort: 'high'"),
    "endpoint": ({"base_url": "http://127.0.0.1:9"}, {}, EVERY - {"agy"}, "base_url"),
    "allowed tools": ({"allowed_tools": ["read", "write"]}, {}, LISTS_TOOLS, "read, write is not enforced"),
    "settings file": ({"settings": {"a": 1}}, {}, EVERY - {"agy"}, "settings is not passed on"),
    "key": ({"api_key_env": "MY_KEY"}, {}, EVERY - {"agy"}, "api_key_env is not passed on"),
    "turns": ({}, {"limits": Limits(max_turns=3)}, COUNTS, "limit of 3 per run (max_turns)"),
    "requests": ({}, {"limits": Limits(max_requests=4)}, COUNTS, "limit of 4 per run (max_requests)"),
    "tokens": ({}, {"limits": Limits(max_tokens=9000)}, TELLS_TOKENS, "limit of 9000 per run (max_tokens)"),
    "cost": ({}, {"limits": Limits(max_cost_usd=0.5)}, TELLS_COST, "limit of 0.5 per run (max_cost_usd)"),
    "parameter": ({}, {"params": {"temperature": 0.5}}, set(), "'temperature'"),
    "more tools": ({}, {"tools": ({"name": "lookup"},)}, set(), "no way to add tools"),
}
"""What can be asked for: as an option of the target or as a field of the job; which programs have it; what the others say."""


@pytest.mark.parametrize("wish", REQUESTS)
def test_what_it_does_not_have_is_a_warning_and_no_silence(name: str, wish: str, bench: Any) -> None:
    options, fields, have, words = REQUESTS[wish]
    warnings = backend(name, **options).missing(bench.job(Spot(), **fields))
    if name in have:
        assert warnings == ()
    else:
        (warning,) = warnings
        assert warning.startswith(f"{name} has no ") and words in warning


def test_its_capabilities_say_the_same_as_its_warnings(name: str) -> None:
    made = backend(name)
    assert made.capabilities.reasoning == (name in REASONING)
    assert made.capabilities.endpoint == (name in EVERY - {"agy"})
    assert made.capabilities.turns or "max_turns" not in made.keeps
    assert made.capabilities.cost or "cost" not in made.counts
    assert made.capabilities.tokens or "tokens" not in made.counts


HOMELESS = {
    "settings": ({"settings": {"a": 1}}, {"claude-code", "copilot", "gemini", "pi", "qwen"}),
    "allowed_tools": ({"allowed_tools": ["read"]}, {"gemini", "qwen"}),
    "base_url": ({"base_url": "http://127.0.0.1:9"}, {"pi"}),
}


@pytest.mark.parametrize("option", HOMELESS)
def test_in_the_users_own_home_what_its_files_would_have_said_is_a_warning(name: str, option: str, bench: Any) -> None:
    options, silent = HOMELESS[option]
    made, there = backend(name, **options), bench.job(Spot(), own_home=False)
    told = [text for text in made.missing(there) if "the user's own home" in text]
    assert [option in text for text in told] == [True] * (name in silent)
    assert "the user's own home" not in " ".join(made.missing(bench.job(Spot())))


def test_a_limit_that_its_home_would_have_set_is_ours_to_keep_in_the_users_own(bench: Any) -> None:
    made, limits = backend("gemini"), Limits(max_turns=1)
    reader = made.reader()
    for _ in range(2):
        reader.feed(b'{"type":"tool_use","tool_name":"a","tool_id":"1"}')
        reader.feed(b'{"type":"tool_result","tool_id":"1","status":"success"}')
    assert over_a_cap(reader, limits, made.kept(bench.job(Spot()))) is None
    assert over_a_cap(reader, limits, made.kept(bench.job(Spot(), own_home=False))) is not None


def test_nothing_asked_for_is_nothing_missed(name: str, bench: Any) -> None:
    assert backend(name).missing(bench.job(Spot())) == ()


def test_a_setting_it_has_is_passed_on(name: str, bench: Any) -> None:
    if not backend(name).capabilities.reasoning:
        pytest.skip("it has none")
    assert "xhigh" in everything(backend(name, reasoning_effort="xhigh"), bench)


def test_the_endpoint_is_passed_on_where_it_can_be(name: str, bench: Any) -> None:
    made = backend(name, base_url="http://127.0.0.1:9999")
    assert ("127.0.0.1:9999" in everything(made, bench)) == made.capabilities.endpoint
    assert ("127.0.0.1:9999" in everything(backend(name), bench, endpoint="http://127.0.0.1:9999")) == made.capabilities.endpoint


def test_the_users_real_home_is_left_as_it_is(name: str, bench: Any) -> None:
    """`--user-home`: no variable points anywhere else."""
    command = backend(name).command(bench.job(Spot(), own_home=False))
    assert "/place/home" not in json.dumps([command.argv, dict(command.env)])


def test_a_forced_case_calls_for_its_skill(name: str, bench: Any) -> None:
    job = bench.job(Spot(), with_skill=True, forced=True)
    command = backend(name).command(job)
    assert "sample-skill" in command.stdin.decode() + " ".join(command.argv)


def test_a_baseline_hears_nothing_of_the_skill(name: str, bench: Any) -> None:
    assert "sample-skill" not in everything(backend(name), bench, forced=True)


@pytest.mark.parametrize("program", WITH_STDIN)
def test_a_prompt_that_looks_like_an_option_stays_a_prompt(program: str, bench: Any) -> None:
    command = backend(program).command(bench.job(Spot(), prompt="--help me"))
    assert command.stdin == b"--help me"
    assert "--help me" not in command.argv


# ---------------------------------------------------------------- addresses and places
@pytest.mark.parametrize(
    ("given", "with_version", "without"),
    [
        ("http://h:1", "http://h:1/v1", "http://h:1"),
        ("http://h:1/", "http://h:1/v1", "http://h:1"),
        ("http://h:1/v1", "http://h:1/v1", "http://h:1"),
        ("http://h/proxy/v1/", "http://h/proxy/v1", "http://h/proxy"),
    ],
)
def test_one_address_serves_programs_with_and_without_the_version_in_it(given: str, with_version: str, without: str) -> None:
    assert (rooted(given), bare(given, "/v1")) == (with_version, without)


def test_a_password_in_an_address_is_not_shown() -> None:
    assert backend("codex", base_url="http://me:secret@host/v1").endpoint_name() == "codex at host/v1"


# ---------------------------------------------------------------- logins
def kept(bench: Any, path: str, data: Any) -> None:
    file = Path(bench.environ["HOME"]) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data), encoding="utf-8")


def token(expires: float) -> str:
    body = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"head.{body}.signature"


def test_a_long_lived_token_comes_before_a_file(bench: Any) -> None:
    kept(bench, ".claude/.credentials.json", {"claudeAiOauth": {"accessToken": "from-the-file", "expiresAt": FUTURE_MS}})
    assert backend("claude-code").login(bench.machine).source == "~/.claude/.credentials.json"  # type: ignore[union-attr]
    bench.environ.update(CLAUDE_CODE_OAUTH_TOKEN="long-lived", ANTHROPIC_API_KEY="a-key")
    login = backend("claude-code").login(bench.machine)
    assert login is not None
    assert dict(login.env) == {"CLAUDE_CODE_OAUTH_TOKEN": "long-lived"}


def test_claudes_login_is_handed_on_without_what_could_end_it(bench: Any) -> None:
    oauth = {"accessToken": "access-token-1234567890", "refreshToken": "refresh-token-1234567890", "expiresAt": FUTURE_MS}
    kept(bench, ".claude/.credentials.json", {"claudeAiOauth": oauth})
    login = backend("claude-code").login(bench.machine)
    assert login is not None
    assert dict(login.env) == {"CLAUDE_CODE_OAUTH_TOKEN": "access-token-1234567890"}
    assert "refresh-token" not in str(login)
    assert login.secrets() == ("access-token-1234567890",)


def test_codexs_login_is_handed_on_without_its_refresh_token(bench: Any) -> None:
    tokens = {"access_token": token(time.time() + 9999), "refresh_token": "refresh-token-1234567890", "id_token": "x"}
    kept(bench, ".codex/auth.json", {"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2020-01-01T00:00:00Z"})
    login = backend("codex").login(bench.machine)
    assert login is not None
    copy = json.loads(login.files[".codex/auth.json"])
    assert copy["tokens"] == {**tokens, "refresh_token": ""}
    assert copy["last_refresh"] > "2026"
    assert not login.expired
    assert tokens["access_token"] in login.secrets()


@pytest.mark.parametrize(
    ("name", "path", "data"),
    [
        ("claude-code", ".claude/.credentials.json", {"claudeAiOauth": {"accessToken": "a" * 20, "expiresAt": PAST_MS}}),
        ("codex", ".codex/auth.json", {"tokens": {"access_token": token(1.0), "refresh_token": "r"}}),
        ("opencode", ".local/share/opencode/auth.json", {"anthropic": {"type": "oauth", "access": "a", "expires": PAST_MS}}),
        ("qwen", ".qwen/oauth_creds.json", {"access_token": "a", "expiry_date": PAST_MS}),
    ],
)
def test_a_login_whose_time_is_over_is_told_before_any_cell(name: str, path: str, data: Any, bench: Any) -> None:
    kept(bench, path, data)
    made = backend(name, None)
    assert "has expired" in made.shut_out(made.login(bench.machine))
    assert path in made.shut_out(made.login(bench.machine))


@pytest.mark.parametrize(("name", "path"), [("opencode", ".local/share/opencode/auth.json"), ("pi", ".pi/agent/auth.json")])
def test_logins_of_several_providers_are_handed_on_without_refresh_tokens(name: str, path: str, bench: Any) -> None:
    rows: dict[str, dict[str, Any]] = {
        "a": {"type": "api", "key": "k"},
        "b": {"type": "oauth", "access": "x", "refresh": "never", "expires": FUTURE_MS},
    }
    kept(bench, path, rows)
    login = backend(name, None).login(bench.machine)
    assert login is not None
    assert json.loads(login.files[path]) == {"a": rows["a"], "b": {**rows["b"], "refresh": ""}}


@pytest.mark.parametrize("name", ["opencode", "pi"])
def test_a_model_that_names_its_provider_gets_that_ones_key_only(name: str, bench: Any) -> None:
    bench.environ.update(OPENAI_API_KEY="of-openai", ANTHROPIC_API_KEY="of-anthropic")
    login = backend(name, "anthropic/claude-x").login(bench.machine)
    assert login is not None
    assert dict(login.env) == {"ANTHROPIC_API_KEY": "of-anthropic"}
    del bench.environ["ANTHROPIC_API_KEY"]
    assert backend(name, "anthropic/claude-x").login(bench.machine) is None


def test_a_key_named_by_the_user_is_the_only_one_taken(bench: Any) -> None:
    bench.environ.update(ANTHROPIC_API_KEY="the-usual", MINE="my-own")
    login = backend("claude-code", api_key_env="MINE").login(bench.machine)
    assert login is not None
    assert dict(login.env) == {"ANTHROPIC_API_KEY": "my-own"}
    missing = backend("claude-code", api_key_env="ABSENT")
    assert missing.login(bench.machine) is None
    assert "ABSENT is not set" in missing.shut_out(None)


def test_a_cloud_switch_brings_its_variables_along_and_hides_only_secrets(bench: Any) -> None:
    bench.environ.update(CLAUDE_CODE_USE_BEDROCK="1", AWS_REGION="us-east-1", AWS_SECRET_ACCESS_KEY="aws-secret-value")
    login = backend("claude-code").login(bench.machine)
    assert login is not None
    assert login.env["AWS_REGION"] == "us-east-1"
    assert set(login.env) == {"CLAUDE_CODE_USE_BEDROCK", "AWS_REGION", "AWS_SECRET_ACCESS_KEY"}
    assert login.secrets() == ("aws-secret-value",)


def test_an_endpoint_without_a_key_gets_none_of_the_users(bench: Any) -> None:
    bench.environ["CLAUDE_CODE_OAUTH_TOKEN"] = "login-of-the-user"
    login = backend("claude-code", base_url="http://127.0.0.1:9").login(bench.machine)
    assert login is not None
    assert "login-of-the-user" not in str(login)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"claudeAiOauth": 1}', '{"tokens": []}'])
@pytest.mark.parametrize("name", ["claude-code", "codex", "opencode", "gemini", "qwen", "pi"])
def test_a_damaged_file_is_no_login(name: str, content: str, bench: Any) -> None:
    for file in backend(name).doors.files:
        path = Path(bench.environ["HOME"]) / file.path
        path.parent.mkdir(parents=True)
        path.write_text(content)
    login = backend(name, None).login(bench.machine)
    assert login is None or login.expired
