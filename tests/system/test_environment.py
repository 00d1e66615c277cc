"""A started program sees what it may see, and no trace of the agent that started us."""

from pathlib import Path

import pytest

from skilltrial.system.environment import callers, clean, is_session_mark, named_files, session_marks, without_proxies

HOME = Path("/place/home")
CALLER = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LANG": "C.UTF-8",
    "LC_ALL": "C",
    "TERM": "xterm",
    "TZ": "UTC",
    "https_proxy": "http://proxy:1",
    "NO_PROXY": "localhost",
    "SSL_CERT_FILE": "/ca.pem",
    "OPENAI_API_KEY": "secret",
    "EDITOR": "vi",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CURSOR_API_KEY": "key",
    "CODEX_HOME": "/codex",
}


def test_a_clean_environment_holds_the_allow_list_and_a_home_of_its_own() -> None:
    found = clean(CALLER, {}, {}, HOME)
    kept = {name: CALLER[name] for name in ("PATH", "LANG", "LC_ALL", "TERM", "TZ", "https_proxy", "NO_PROXY", "SSL_CERT_FILE")}
    assert kept.items() <= found.items()
    assert {"OPENAI_API_KEY", "EDITOR", "CLAUDECODE", "CURSOR_API_KEY", "CODEX_HOME"}.isdisjoint(found)
    assert found["HOME"] == "/place/home"
    assert found["TMPDIR"].startswith("/place/home/")
    assert all(value.startswith("/place/home/") for name, value in found.items() if name.startswith("XDG_"))


def test_what_is_passed_by_name_and_what_the_backend_sets_comes_on_top() -> None:
    found = clean(CALLER, {"EDITOR": "vi", "CLAUDECODE": "1", "LANG": "de"}, {"LANG": "fr", "KEY": "x"}, HOME)
    assert (found["EDITOR"], found["CLAUDECODE"], found["LANG"], found["KEY"]) == ("vi", "1", "fr", "x")


def test_without_a_path_there_is_still_one() -> None:
    assert clean({}, {}, {}, HOME)["PATH"]


def test_an_adapter_keeps_the_callers_environment_without_session_marks() -> None:
    expected = {name: value for name, value in CALLER.items() if name not in {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"}}
    assert callers(CALLER, {}, {}) == expected
    assert callers(CALLER, {}, CALLER) == expected  # also when the backend hands all of it over again
    assert callers(CALLER, {"CLAUDECODE": "1"}, {})["CLAUDECODE"] == "1"
    assert callers(CALLER, {}, {"CLAUDE_CODE_ENTRYPOINT": "other"})["CLAUDE_CODE_ENTRYPOINT"] == "other"


@pytest.mark.parametrize(
    "name",
    ["CLAUDECODE", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX", "CODEX_THREAD_ID", "OPENCODE", "OPENCODE_PID",
     "GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "QWEN_CODE", "CURSOR_AGENT", "CURSOR_TRACE_ID", "COPILOT_CLI", "SKILLTRIAL_CELL"],
)  # fmt: skip
def test_marks_of_agent_sessions_are_known(name: str) -> None:
    assert is_session_mark(name)


@pytest.mark.parametrize(
    "name",
    ["PATH", "CURSOR_API_KEY", "CURSOR_EVAL_MODEL", "CODEX_HOME", "CODEX_API_KEY", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_OAUTH_TOKEN",
     "CLAUDE_CONFIG_DIR", "OPENCODE_CONFIG", "GEMINI_CLI_HOME", "GEMINI_API_KEY", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "ANTHROPIC_MODEL"],
)  # fmt: skip
def test_settings_are_no_marks(name: str) -> None:
    assert not is_session_mark(name)


def test_marks_are_listed_in_order() -> None:
    assert session_marks(CALLER) == ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")


def test_files_that_variables_name_are_told_of() -> None:
    environ = {
        "NODE_EXTRA_CA_CERTS": "/a.pem",
        "SSL_CERT_FILE": "/b.pem",
        "NODE_USE_SYSTEM_CA": "1",
        "HTTPS_PROXY": "http://p",
        "X": "/x",
    }
    assert named_files(environ) == ("/a.pem", "/b.pem")


def test_proxies_can_be_left_out() -> None:
    assert without_proxies({"HTTPS_PROXY": "p", "no_proxy": "n", "PATH": "/bin"}) == {"PATH": "/bin"}
