"""What the scripted model does, step by step, with whatever tools a request offers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from .asking import Asked
from .turns import Call, Turn

_SHELLS = ("exec_command", "shell_command", "shell", "Bash", "bash", "run_shell_command")
_WRITERS = ("Write", "write", "write_file", "create")
_READERS = ("Read", "read", "read_file", "view")
_SKILLS = ("Skill", "skill", "activate_skill")
_BACKGROUND = "python3 -c 'import time; time.sleep(300)' >/dev/null 2>&1 & echo started $!"


@dataclass(frozen=True)
class Scene:
    """One play and its props. `play` is a key of PLAYS, or a fault: error401, error429once, later401, truncated, malformed, html, hang."""

    play: str = "answer"
    skill: str = "release-notes"
    """A regular expression: the first skill that is offered and has such a name."""
    learns: str = "WRITE: (.+)"
    """What the model takes from a skill's text once this reached it; a regular expression with one group."""
    file: str = "out.txt"
    content: str = "nobody told me what to write\n"
    """Written unless something was learned."""
    answer: str = "Done, all of it (the last word)."
    """`{learned}` stands for what was learned, or UNKNOWN."""

    def next(self, asked: Asked) -> Turn:
        """The reply to this request."""
        steps = [call for call in (step(self, asked) for step in PLAYS.get(self.play, ())) if call]
        if self.play == "loop":
            return Turn(f"Turn {asked.results}.", tuple(filter(None, [_shell(asked, f"echo turn {asked.results}")])))
        if self.play == "parallel" and not asked.results:
            return Turn("Both at once.", tuple(steps))
        if self.play != "parallel" and asked.results < len(steps):
            return Turn(f"Step {asked.results + 1}.", (steps[asked.results],))
        if self.play == "maxtok":
            return Turn("This answer is cut", stop="length")
        if self.play == "refusal":
            return Turn("I cannot help with that.", stop="refusal")
        if self.play == "empty":
            return Turn("", final=True)
        return Turn(self.answer.replace("{learned}", self.learned(asked) or "UNKNOWN"), final=True)

    def learned(self, asked: Asked) -> str | None:
        told = re.search(self.learns, asked.text)
        return told.group(1) if told else None

    def offered(self, asked: Asked) -> str | None:
        """The skill's name; None: there is no such skill."""
        return next((name for name in asked.skills if re.fullmatch(self.skill, name)), None)


def _shell(asked: Asked, command: str) -> Call | None:
    tool = asked.tool(*_SHELLS)
    return Call(tool.name, tool.fitted(command__cmd=command, description="a scripted step")) if tool else None


def _activate(scene: Scene, asked: Asked) -> Call | None:
    """The program's own skill tool, else a read of the skill's file; None when this skill is not offered."""
    name, tool = scene.offered(asked), asked.tool(*_SKILLS)
    if name is None:
        return None
    return Call(tool.name, tool.fitted(skill__name=name)) if tool else _read(scene, asked)


def _read(scene: Scene, asked: Asked) -> Call | None:
    """SKILL.md by a shell, which every program has, else by a file tool; None when this skill is not offered."""
    name = scene.offered(asked)
    if name is None:
        return None
    hidden = ".claude" if "Skill" in asked.tools else ".agents"
    path = asked.skills[name] or f"{asked.folder or '.'}/{hidden}/skills/{name}/SKILL.md"
    shell = _shell(asked, f"cat {shlex.quote(path)}")
    reader = asked.tool(*_READERS)
    if reader and (scene.play == "readskill" or not shell):
        return Call(reader.name, reader.fitted(file_path__filePath__path__absolute_path=path))
    return shell


def _write(scene: Scene, asked: Asked) -> Call | None:
    """The file tool where the program has one and told its folder, else the shell."""
    tool, learned = asked.tool(*_WRITERS), scene.learned(asked)
    words = f"{learned}\n" if learned else scene.content
    if tool and asked.folder:
        path = f"{asked.folder}/{scene.file}"
        return Call(tool.name, tool.fitted(file_path__filePath__path=path, content__file_text=words))
    return _shell(asked, f"printf %s {shlex.quote(words)} > {shlex.quote(scene.file)}")


def _fail(scene: Scene, asked: Asked) -> Call | None:
    return _shell(asked, "echo to-stdout; echo to-stderr >&2; exit 3")


def _unknown(scene: Scene, asked: Asked) -> Call | None:
    return Call("no_such_tool", {"x": 1})


def _ask_tracker(scene: Scene, asked: Asked) -> Call | None:
    """The first tool called like the stand-in server's, however the program spells the name of the server before it."""
    name = next((name for name in asked.tools if name.endswith("list_issues")), None)
    return Call(name, {"state": "open"}) if name else None


def _leave_running(scene: Scene, asked: Asked) -> Call | None:
    return _shell(asked, _BACKGROUND)


def _wait_long(scene: Scene, asked: Asked) -> Call | None:
    return _shell(asked, "python3 -c 'import time; time.sleep(120)'; echo woke")


Step = Callable[[Scene, Asked], Call | None]
PLAYS: dict[str, tuple[Step, ...]] = {
    "answer": (),
    "skill": (_activate, _write),
    "noskill": (_write,),
    "skillonly": (_activate,),
    "tracker": (_ask_tracker,),
    "readskill": (_read, _write),
    "parallel": (_activate, _write),
    "later401": (_activate, _write),
    "toolfail": (_fail,),
    "badtool": (_unknown,),
    "bgproc": (_leave_running,),
    "longshell": (_wait_long,),
}
