"""The environment of a started program, built from nothing or, for adapters, from the caller's without its session marks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_ALLOWED = frozenset(
    {"PATH", "LANG", "LANGUAGE", "TERM", "TZ"}
    | {"SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT"}  # no program starts on Windows without them
)
_NETWORK = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"}
    | {"AWS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"}
)
"""Passed in both cases."""
_FAMILIES = (
    "CLAUDE_CODE_",
    "CLAUDE_AGENT_SDK_",
    "CODEX_",
    "OPENCODE_",
    "GEMINI_CLI_",
    "QWEN_CODE_",
    "CURSOR_",
    "COPILOT_",
    "PI_CODING_",
)
_MARKERS = frozenset(
    {"CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT", "CLAUDE_EFFORT", "OPENCODE", "GEMINI_CLI"}
    | {"QWEN_CODE", "COPILOT_CLI", "CLINE_ACTIVE", "AUGMENT_AGENT", "GOOSE_TERMINAL", "AGENT", "AI_AGENT", "SKILLTRIAL_CELL"}
)
_SETTING = re.compile(
    r"(?:KEY|TOKEN|HOME|MODEL|URL|ENDPOINT|CONFIG|CONFIG_CONTENT|CONFIG_DIR|CA_CERTIFICATE|PROVIDER_\w+|CLOUD_ML_REGION)$"
    r"|_(?:USE|DISABLE|ENABLE|SKIP|MAX|API)_"
)


@lru_cache(maxsize=4096)
def is_session_mark(name: str) -> bool:
    """True for what a coding agent leaves in the environment of the programs it starts: `CLAUDECODE`, `CODEX_THREAD_ID`.

    Its settings (keys, models, homes, addresses, switches) are none.
    """
    if name in _MARKERS:
        return True
    if name.startswith("CLAUDE_CODE_SESSION"):
        return True
    return name.startswith(_FAMILIES) and not _SETTING.search(name)


def session_marks(caller: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the marks in an environment, sorted."""
    return tuple(sorted(name for name in caller if is_session_mark(name)))


def clean(caller: Mapping[str, str], passed: Mapping[str, str], own: Mapping[str, str], home: Path) -> dict[str, str]:
    """Language, terminal, time zone, PATH, proxies and certificates of the caller; a home of its own; then what was asked for.

    Args:
        passed: variables let through by `--env`; they win over everything but `own`.
        own: what the backend sets for its program.
    """
    kept = {
        name: value for name, value in caller.items() if name in _ALLOWED or name.startswith("LC_") or name.upper() in _NETWORK
    }
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", **kept, **homes(home), **passed, **own}


def callers(caller: Mapping[str, str], passed: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment and HOME, without the marks of an enclosing session; `passed` names stay whatever they are."""
    merged = {**caller, **passed, **own}
    marks = {name for name in session_marks(merged) if name not in passed and merged[name] == caller.get(name)}
    return {name: value for name, value in merged.items() if name not in marks}


def without_proxies(caller: Mapping[str, str]) -> dict[str, str]:
    """For a network in which no proxy can be reached."""
    return {name: value for name, value in caller.items() if not name.upper().endswith("_PROXY")}


def named_files(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Files and folders with certificates and credentials that variables name."""
    named = (environ.get(name, "") for name in (*sorted(_NETWORK), "GOOGLE_APPLICATION_CREDENTIALS"))
    return tuple(dict.fromkeys(path for path in named if path.startswith("/")))


def homes(home: Path) -> dict[str, str]:
    """All variables by which programs find their home, its folders and the temporary one."""
    at = str(home)
    temporary = f"{at}/tmp"
    return {
        "HOME": at,
        "USERPROFILE": at,
        "TMPDIR": temporary,
        "TEMP": temporary,
        "TMP": temporary,
        "XDG_CONFIG_HOME": f"{at}/.config",
        "XDG_DATA_HOME": f"{at}/.local/share",
        "XDG_STATE_HOME": f"{at}/.local/state",
        "XDG_CACHE_HOME": f"{at}/.cache",
    }
