"""Packets out, answers in: an agent session, or a person, does the runs by hand; no key and no further process is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self, cast

from skilltrial.backends._program import built
from skilltrial.errors import CellError
from skilltrial.records.plan import Target
from skilltrial.records.record import Record
from skilltrial.records.suite import Skill, Stage, Tree, landed
from skilltrial.seams import Awaiting, Blobs, Capabilities, Job, Machine, Probe, Watch
from skilltrial.system.files import inside, safe_name, write_atomic, write_new
from skilltrial.system.redaction import Redactor

PROMPT, ANSWER, FILES, SKILL = "prompt.md", "answer.md", "files", "skill"
"""What a packet's folder holds, `answer.md` once it is answered."""
CONTEXT = "context:"
"""How the first line of an answer begins."""
_FRESH = """\
- One fresh session or subagent answers this packet and no other one, and starts with nothing but this file. If you have \
seen another packet, or know what this one is for, stop and say so instead of answering.
- Read and write nothing outside the folder of this file."""
_ANSWER = f"""\
- When you are done, write `{ANSWER}` into the folder of this file. Its first line is `{CONTEXT} NAME`, where NAME is the \
name or id of your session that whoever started you gave you. Then an empty line, then {{what}}."""


class Manual(Record):
    """Writes each run as a packet, a folder with all that its agent may see; answers are handed in by `submit`."""

    name: ClassVar[str] = "manual"
    capabilities: ClassVar[Capabilities] = Capabilities(
        skills=True, files=True, judge=True, paid=False, deferred=True, delivery="injected", timeout_s=3600.0, concurrency=8
    )

    label: str | None = None
    """What stands after the colon: who answers, as `manual:opus`."""

    @classmethod
    def from_target(cls, target: Target) -> Self:
        """Raises UsageError for an option it does not have."""
        return built(cls, target, label=target.value)

    def probe(self, machine: Machine) -> Probe:
        return Probe(True, "writes packets; their answers are handed in with 'skilltrial submit'")

    @contextmanager
    def open(self, machine: Machine) -> Iterator[ManualRunner]:
        yield ManualRunner(machine.redactor)

    def endpoint_name(self) -> str:
        return "packets, answered by hand"


plugin = Manual


class ManualRunner:
    """Writes the packet of a job, once: what lies there already is left alone."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor

    def run(self, job: Job, watch: Watch) -> Awaiting:
        """Writes the prompt last, so that a packet with a prompt is whole.

        Raises:
            CellError: the job names no folder for the packet, or a file has no place in it.
        """
        folder = job.packet
        if folder is None:
            raise CellError("backend", "a packet needs a folder to be written to")
        if not (folder / PROMPT).exists():
            if not job.judging:
                put_files(folder / FILES, job.fixtures, job.stage, job.blobs)
                _put_skills(folder / SKILL, job.skills, job.blobs)
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / PROMPT, question(job) if job.judging else task(job), self.redactor)
        return Awaiting(folder)


def put_files(root: Path, fixtures: Tree | None, stage: str, blobs: Blobs) -> None:
    """The task's files below `root`, which is there afterwards in any case."""
    root.mkdir(parents=True, exist_ok=True)
    for path, ref in landed(fixtures, cast(Stage, stage)).items() if fixtures else ():
        _put(root, path, blobs.get(ref.digest), ref.executable)


def _put_skills(root: Path, skills: tuple[Skill, ...], blobs: Blobs) -> None:
    for skill in skills:
        for ref in skill.tree.files:
            if ref.path.split("/")[0] != "evals":
                _put(_home(root, skill, skills), ref.path, blobs.get(ref.digest), ref.executable)


def _home(root: Path, skill: Skill, skills: tuple[Skill, ...]) -> Path:
    return root if len(skills) == 1 else root / safe_name(skill.name)


def _put(root: Path, path: str, data: bytes, executable: bool) -> None:
    spot = inside(root, path)
    if spot is None:
        raise CellError("backend", f"'{path}' does not lie inside the packet")
    spot.parent.mkdir(parents=True, exist_ok=True)
    spot.unlink(missing_ok=True)  # of a packet that was not written to its end
    write_new(spot, data, None, executable=executable)


# ---------------------------------------------------------------- what is said
def task(job: Job) -> str:
    """The prompt of a run. But for the line about the skill it is the same in every arm."""
    rules = [_FRESH, _work(job), *_skills(job), _ANSWER.format(what=_ANSWERED)]
    return "\n".join(["# One task", "", *rules, "", "## The task", "", job.prompt.strip("\n"), ""])


_ANSWERED = (
    "your answer to the task, exactly as you would give it to whoever asked, without a word about these rules; "
    "if all that was asked for is files, a line that names them"
)


def _work(job: Job) -> str:
    there = "It holds the files of the task. " if job.fixtures and job.fixtures.files else ""
    return f"- `{FILES}/` beside this file is your working folder. {there}Create, change and delete files only there."


def _skills(job: Job) -> Iterator[str]:
    for skill in job.skills:
        folder = _home(Path(SKILL), skill, job.skills).as_posix()
        follow = "Follow it" if job.forced else "Where it fits the task, follow it"
        yield f"- You have a skill, in `{folder}/`. Read `{folder}/SKILL.md`. {follow}, and use its other files as it says."


def question(job: Job) -> str:
    """The prompt of a question to the judge."""
    rules = [_FRESH, _ANSWER.format(what="the JSON object that is asked for, and nothing else")]
    return "\n".join(["# One question", "", *rules, "", "## The question", "", job.system or "", "", job.prompt, ""])
