"""How each agent program is started so that the scripted model drives it: the facts our backends rest on, tried by `tests/real`.

Versions are those of `tests/real/install.sh`. Every command line here ran with zero look-ups of foreign names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

AGENTS = Path(os.environ.get("SKILLTRIAL_AGENTS_DIR") or Path.home() / ".cache/skilltrial/agents")
INSTALL = Path(__file__).parents[1] / "real/install.sh"


@dataclass(frozen=True)
class Start:
    """One headless run in a clean home."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    """Settings, by path below the home."""
    prompt_by: str = "stdin"
    """stdin, or argv: then the prompt is the last argument and standard input the null device."""


@dataclass(frozen=True)
class Ran:
    """How it ended."""

    code: int
    lines: tuple[bytes, ...]
    stderr: str

    @property
    def records(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.lines if line.strip().startswith(b"{")]


SKILL_DIRS = {
    "claude-code": ".claude/skills", "codex": ".agents/skills", "opencode": ".agents/skills", "gemini": ".agents/skills",
    "qwen": ".agents/skills", "copilot": ".agents/skills", "pi": ".agents/skills",
}  # fmt: skip
COMMANDS = {"claude-code": "claude"}
MODELS = {
    "claude-code": "claude-sonnet-4-5", "codex": "gpt-5", "opencode": "scripted-model", "gemini": "gemini-2.5-pro",
    "qwen": "scripted-model", "copilot": "scripted-model", "pi": "scripted-model",
}  # fmt: skip
"""Names that the program takes without knowing the endpoint."""


def claude_code(url: str, home: Path, work: Path) -> Start:
    """`IS_SANDBOX` lets it skip permissions as root; without the retry limit a wrong key costs minutes."""
    return Start(
        argv=(
            "claude", "-p", "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5",
            "--dangerously-skip-permissions", "--no-session-persistence", "--max-turns", "30",
        ),
        env={
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-scripted", "CLAUDE_CONFIG_DIR": f"{home}/.claude", "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1", "CLAUDE_CODE_MAX_RETRIES": "1",
        },
    )  # fmt: skip


def codex(url: str, home: Path, work: Path) -> Start:
    """A provider of our own: the built-in one tries WebSockets for seconds first. `CODEX_HOME` must exist."""
    settings = {
        "model_provider": '"scripted"', "model_providers.scripted.name": '"scripted"',
        "model_providers.scripted.base_url": f'"{url}/v1"', "model_providers.scripted.env_key": '"SCRIPTED_API_KEY"',
        "model_providers.scripted.wire_api": '"responses"', "model_providers.scripted.request_max_retries": "1",
        "model_providers.scripted.stream_max_retries": "1", "analytics.enabled": "false", "check_for_update_on_startup": "false",
        "skills.bundled.enabled": "false",
    }  # fmt: skip
    return Start(
        argv=(
            "codex", "exec", "--json", "--ephemeral", "--skip-git-repo-check", "-C", str(work), "-m", "gpt-5",
            "--dangerously-bypass-approvals-and-sandbox", "--disable", "plugins", "--disable", "apps",
            *(word for key, value in settings.items() for word in ("-c", f"{key}={value}")), "-",
        ),
        env={"SCRIPTED_API_KEY": "sk-scripted", "CODEX_HOME": f"{home}/.codex"},
        files={".codex/.keep": ""},
    )  # fmt: skip


def opencode(url: str, home: Path, work: Path) -> Start:
    """Its skill tool runs `rg`, which it downloads from GitHub when PATH has none. `--title` saves a call for one."""
    model = {"name": "scripted-model", "cost": {"input": 1, "output": 2}, "limit": {"context": 128000, "output": 8000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": {"baseURL": f"{url}/v1", "apiKey": "sk-scripted"},
        "models": {"scripted-model": model},
    }  # fmt: skip
    return Start(
        argv=("opencode", "run", "--format", "json", "--model", "scripted/scripted-model", "--auto", "--title", "trial"),
        env={
            "OPENCODE_CONFIG_CONTENT": json.dumps({"autoupdate": False, "share": "disabled", "provider": {"scripted": provider}}),
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "npm_config_offline": "true",
            "XDG_CONFIG_HOME": f"{home}/.config", "XDG_DATA_HOME": f"{home}/.local/share", "XDG_CACHE_HOME": f"{home}/.cache",
            "XDG_STATE_HOME": f"{home}/.local/state",
        },
    )  # fmt: skip


def gemini(url: str, home: Path, work: Path) -> Start:
    """Without `selectedType` it ends with status 41."""
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    return Start(
        argv=("gemini", "-o", "stream-json", "-m", "gemini-2.5-pro", "--yolo", "--skip-trust"),
        env={
            "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "scripted-key", "GEMINI_CLI_HOME": str(home),
            "GEMINI_TELEMETRY_ENABLED": "false", "GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_BROWSER": "1",
        },
        files={".gemini/settings.json": json.dumps(settings)},
    )  # fmt: skip


def qwen(url: str, home: Path, work: Path) -> Start:
    """Memory features off, else one more model call follows each run. Needs node 22 in PATH."""
    settings = {
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False}, "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
    }  # fmt: skip
    return Start(
        argv=(
            "qwen", "-o", "stream-json", "--auth-type", "openai", "--openai-base-url", f"{url}/v1", "--openai-api-key", "sk-scripted",
            "-m", "scripted-model", "--yolo", "--chat-recording=false",
        ),
        env={"QWEN_HOME": f"{home}/.qwen"},
        files={".qwen/settings.json": json.dumps(settings)},
    )  # fmt: skip


def copilot(url: str, home: Path, work: Path) -> Start:
    """Own endpoint and offline mode: no GitHub login is asked for."""
    return Start(
        argv=(
            "copilot", "--output-format", "json", "--allow-all", "--no-ask-user", "--no-auto-update", "--model", "scripted-model",
            "--log-level", "none", "-p",
        ),
        env={
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "sk-scripted", "COPILOT_OFFLINE": "true",
            "COPILOT_HOME": f"{home}/.copilot", "COPILOT_ALLOW_ALL": "true",
        },
        prompt_by="argv",
    )  # fmt: skip


def pi(url: str, home: Path, work: Path) -> Start:
    """Its endpoint stands in a file."""
    model = {
        "id": "scripted-model", "name": "scripted", "reasoning": False, "input": ["text"], "contextWindow": 128000, "maxTokens": 8000,
        "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
    }  # fmt: skip
    provider = {"baseUrl": f"{url}/v1", "apiKey": "sk-scripted", "api": "openai-completions", "models": [model]}
    return Start(
        argv=("pi", "-p", "--mode", "json", "--no-session", "--offline", "--provider", "scripted", "--model", "scripted-model"),
        env={"PI_CODING_AGENT_DIR": f"{home}/.pi/agent", "PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        files={".pi/agent/models.json": json.dumps({"providers": {"scripted": provider}})},
        prompt_by="argv",
    )


STARTS = {
    "claude-code": claude_code, "codex": codex, "opencode": opencode, "gemini": gemini, "qwen": qwen, "copilot": copilot, "pi": pi,
}  # fmt: skip


def search_path() -> str:
    """PATH with every program that install.sh put into its folder ahead of the machine's own."""
    ours = [str(AGENTS / name / "node_modules/.bin") for name in STARTS if name != "qwen"]
    return os.pathsep.join([*ours, os.environ.get("PATH", os.defpath)])


def path_for(program: str) -> str:
    """`search_path`, with node 22 in front for the one program that needs it."""
    return os.pathsep.join([*([str(AGENTS / "qwen/node_modules/.bin")] if program == "qwen" else []), search_path()])


def missing(program: str) -> str | None:
    """Why this program cannot run here, and what installs it; None: it can."""
    command = COMMANDS.get(program, program)
    if shutil.which(command, path=path_for(program)):
        return None
    pins = subprocess.run([INSTALL, "--list"], capture_output=True, text=True, check=True).stdout
    pin = re.search(rf"^{program}: (.*)$", pins, re.M)
    return f"{command} is not installed; tests/real/install.sh {program} puts {pin.group(1) if pin else program} into {AGENTS}"


def workspace(below: Path, files: Mapping[str, str]) -> tuple[Path, Path]:
    """A clean home and a folder with these files in one commit."""
    home, work = below / "home", below / "work"
    (home / "tmp").mkdir(parents=True)
    work.mkdir()
    _put(work, files)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "start"]):
        subprocess.run([*git, *words], cwd=work, env=env, check=True)
    return home, work


def run(program: str, url: str, home: Path, work: Path, prompt: str, timeout_s: float = 90) -> Ran:
    """Runs it to its end; raises subprocess.TimeoutExpired after killing its group."""
    start = STARTS[program](url, home, work)
    _put(home, start.files)
    env = {
        "PATH": path_for(program), "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8", "NO_COLOR": "1", "TMPDIR": f"{home}/tmp",
        **start.env,
    }  # fmt: skip
    argv = [*start.argv, *([prompt] if start.prompt_by == "argv" else [])]
    given = None if start.prompt_by == "argv" else prompt.encode()
    process = subprocess.Popen(
        argv, cwd=work, env=env, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = process.communicate(given, timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        raise
    return Ran(process.returncode, tuple(out.splitlines(keepends=True)), err.decode("utf-8", "replace"))


def _put(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
