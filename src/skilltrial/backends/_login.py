"""How a program is let in: its login, made available to a fresh home without the rest of the user's own.

Looked for in this order: a token or key in a variable, a file in the user's home, the keychain of macOS. Long-lived tokens
come first. What is handed over never holds a refresh token that changes when it is used: the user's own login would end.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from skilltrial.backends._json_line import at, parsed, text_at
from skilltrial.seams import Machine
from skilltrial.system.files import read_capped

_LARGEST_FILE = 1 << 20
_SECRET = re.compile(r"KEY|TOKEN|SECRET")


@dataclass(frozen=True, slots=True)
class Login:
    """A way in that was found."""

    source: str
    """Name of the variable, file or keychain entry; never a value."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Secrets for the program's environment, by name."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files below its home."""
    expired: bool = False
    """It was found, and its time is over."""

    def secrets(self) -> tuple[str, ...]:
        """Every value that must not show anywhere."""
        named = (value for name, value in self.env.items() if _SECRET.search(name))
        return (*named, *(word for data in self.files.values() for word in _long_words(parsed(data))))


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that a program keeps its login in."""

    path: str
    """Below the home, as `.codex/auth.json`."""
    use: Callable[[dict[str, Any]], Login | None]
    """Reads it; None: there is no login in it. The `source` it gives is replaced."""
    variable: str | None = None
    """Names the folder when the user moved it, as CODEX_HOME."""


@dataclass(frozen=True, slots=True)
class Doors:
    """Where a program's login may be."""

    command: str
    """What to type when there is none."""
    variables: tuple[str, ...] = ()
    """The first that is set is handed over."""
    clouds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """A switch, as CLAUDE_CODE_USE_BEDROCK, and the variables that go along with it."""
    files: tuple[Kept, ...] = ()
    keychain: tuple[str, Callable[[dict[str, Any]], Login | None]] | None = None
    """Service on macOS, and how its JSON is read."""


def found(doors: Doors, machine: Machine) -> Login | None:
    """The first login there is; an expired one only when there is no other."""
    environ = machine.environ
    for switch, names in doors.clouds.items():
        if environ.get(switch, "") not in ("", "0", "false"):
            return Login(switch, {name: environ[name] for name in (switch, *names) if environ.get(name)})
    for name in doors.variables:
        if environ.get(name):
            return Login(name, {name: environ[name]})
    kept = [login for file in doors.files if (login := _kept(file, environ))]
    kept += [login for login in (_in_keychain(doors),) if login]
    return next((login for login in kept if not login.expired), kept[0] if kept else None)


def _kept(file: Kept, environ: Mapping[str, str]) -> Login | None:
    home = environ.get("HOME") or environ.get("USERPROFILE")
    moved = environ.get(file.variable) if file.variable else None
    if moved:
        path = Path(moved) / file.path.partition("/")[2]
    elif home:
        path = Path(home) / file.path
    else:
        return None
    read = read_capped(path, _LARGEST_FILE)
    data = parsed(read.data) if read and not read.truncated else None
    login = file.use(data) if data else None
    return Login(f"~/{file.path}", login.env, login.files, login.expired) if login else None


def _in_keychain(doors: Doors) -> Login | None:
    if sys.platform != "darwin" or doors.keychain is None:
        return None
    service, use = doors.keychain
    asked = subprocess.run(
        ["security", "find-generic-password", "-s", service, "-w"], capture_output=True, check=False, timeout=30
    )
    data = parsed(asked.stdout) if asked.returncode == 0 else None
    login = use(data) if data else None
    return Login(f"keychain entry '{service}'", login.env, login.files, login.expired) if login else None


# ---------------------------------------------------------------- what the files hold
def claude_token(data: dict[str, Any]) -> Login | None:
    """The access token alone, as a variable: a program that has no refresh token cannot end the user's login."""
    token = text_at(data, "claudeAiOauth", "accessToken")
    over = is_over(at(data, "claudeAiOauth", "expiresAt"), 1000)
    return Login("", {"CLAUDE_CODE_OAUTH_TOKEN": token}, expired=over) if token else None


def codex_copy(data: dict[str, Any]) -> Login | None:
    """The same file without its refresh token, dated today so that none is asked for."""
    tokens = at(data, "tokens")
    access = text_at(tokens, "access_token")
    if not access and not text_at(data, "OPENAI_API_KEY"):
        return None
    copy = dict(data)
    if isinstance(tokens, dict):
        copy["tokens"] = {**tokens, "refresh_token": ""}
        copy["last_refresh"] = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    return Login("", files={".codex/auth.json": _json(copy)}, expired=is_over(_claims(access).get("exp"), 1))


def providers_copy(target: str) -> Callable[[dict[str, Any]], Login | None]:
    """For files that hold one login per provider: the same without refresh tokens, those whose time is over left out."""

    def use(data: dict[str, Any]) -> Login | None:
        good = {name: row for name, row in data.items() if isinstance(row, dict) and not is_over(row.get("expires"), 1000)}
        copy = {name: {**row, "refresh": ""} if "refresh" in row else row for name, row in good.items()}
        return Login("", files={target: _json(copy or data)}, expired=not copy) if data else None

    return use


def whole_copy(target: str, key: str, **more: bytes) -> Callable[[dict[str, Any]], Login | None]:
    """The file as it is, for logins whose refresh token stays the same when it is used."""
    return lambda data: Login("", files={target: _json(data), **more}) if text_at(data, key) else None


def access_copy(target: str) -> Callable[[dict[str, Any]], Login | None]:
    """The file without its refresh token."""

    def use(data: dict[str, Any]) -> Login | None:
        if not text_at(data, "access_token"):
            return None
        copy = {key: value for key, value in data.items() if key != "refresh_token"}
        return Login("", files={target: _json(copy)}, expired=is_over(data.get("expiry_date"), 1000))

    return use


def is_over(moment: Any, per_second: int) -> bool:
    """True for a moment of the past, or less than a minute ahead."""
    return isinstance(moment, int | float) and moment / per_second < time.time() + 60


def _claims(token: str) -> dict[str, Any]:
    """What a JSON web token says of itself; unverified."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        return parsed(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))) or {}
    except ValueError:
        return {}


def _json(data: Any) -> bytes:
    return json.dumps(data).encode()


def _long_words(data: Any) -> tuple[str, ...]:
    """Strings of 16 characters and more without a space: in a file of logins these are tokens, and ids at worst."""
    if isinstance(data, str):
        return (data,) if len(data) >= 16 and " " not in data else ()
    rows = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return tuple(word for row in rows for word in _long_words(row))
