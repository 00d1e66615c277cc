"""A container engine's command line program: the few questions and orders that a run needs beside `run` itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skilltrial.system import environment

_PATIENCE_S = 60.0
_USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OWN = ("DOCKER_", "CONTAINER", "XDG_", "PODMAN_", "BUILDAH_", "STORAGE_")
_OWN_NAMES = frozenset({"HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"})
_answers: dict[tuple[str, ...], tuple[str | None, str]] = {}


@dataclass(frozen=True, slots=True)
class Cli:
    """`docker` or a program that takes its arguments."""

    program: str

    def version(self) -> tuple[str | None, str]:
        """The engine's; None and why it does not answer."""
        for form in ("{{.Server.Version}}", "{{.Client.Version}}"):
            answer, complaint = self._once("version", "--format", form)
            if answer and answer != "<no value>":
                return answer, ""
            if "Cannot connect" in complaint or "permission denied" in complaint:
                break
        return None, complaint or "it names no version"

    def has_timeout(self, image: str, walls: tuple[str, ...]) -> tuple[bool, str | None]:
        """Whether the image has the program `timeout`; found out by starting it, so that a complaint is about the image."""
        answer, complaint = self._once("run", *walls, image, "timeout", "9", "true")
        if answer is not None:
            return True, None
        answer, complaint = self._once("run", *walls, image, "true")
        return False, None if answer is not None else complaint

    def path_in(self, image: str) -> str:
        """PATH as the image sets it."""
        answer, _ = self._once("image", "inspect", "--format", "{{json .Config.Env}}", image)
        try:
            variables = json.loads(answer or "null") or []
        except ValueError:
            variables = []
        return next((text.partition("=")[2] for text in variables if text.startswith("PATH=")), _USUAL_PATH)

    def rootless(self) -> bool:
        """Whether root inside is the caller outside."""
        answer, _ = self._once("info", "--format", "{{json .}}")
        return '"name=rootless"' in (answer or "")

    def containers(self, label: str) -> Iterator[tuple[str, str]]:
        """Containers that carry a label, with its value."""
        answer, _ = self._ask("ps", "--all", "--filter", f"label={label}", "--format", "{{.ID}} {{.Labels}}")
        for line in (answer or "").splitlines():
            found = re.search(re.escape(label) + r"[=:]([\w.]+)", line)  # as docker and as podman prints all labels
            if found:
                yield line.split()[0], found[1]

    def remove(self, container: str) -> None:
        """Ends a container and all that runs in it. Removing alone would wait for it first."""
        self._ask("kill", "--signal", "KILL", container)
        self._ask("rm", "--force", container)

    def _once(self, *words: str) -> tuple[str | None, str]:
        key = (self.program, *words)
        if key not in _answers:
            _answers[key] = self._ask(*words)
        return _answers[key]

    def _ask(self, *words: str) -> tuple[str | None, str]:
        """What it printed; None and its complaint when it failed."""
        try:
            asked = subprocess.run(
                [self.program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, str(error)
        if asked.returncode:
            lines = [line for line in asked.stderr.splitlines() if line.strip() and not line.startswith("See '")]
            return None, lines[-1].strip() if lines else f"status {asked.returncode}"
        return asked.stdout.strip(), ""


def split(whole: Mapping[str, str], caller: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The environment of the engine's program, and the arguments that hand `whole` to the container.

    Values stand in no argument, but for names that the engine's program needs for itself: those of folders, mostly.
    """
    marks = environment.session_marks(caller)
    own = {name: value for name, value in caller.items() if _is_own(name) and name not in marks}
    given: list[str] = []
    for name, value in whole.items():
        given += ["--env", f"{name}={value}" if _is_own(name) else name]
    theirs = {name: value for name, value in whole.items() if not _is_own(name)}
    return {"PATH": os.defpath, **own, **theirs}, given


def _is_own(name: str) -> bool:
    """An engine's program would take it for itself: it would keep its own files in the home of the run."""
    return name in _OWN_NAMES or name.startswith(_OWN)
