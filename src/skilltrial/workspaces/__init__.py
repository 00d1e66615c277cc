"""A fresh place for one cell: the same fixtures in every arm, the skill where the target looks for it, nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from skilltrial.errors import CellError
from skilltrial.records.suite import FileRef, Skill, Stage, Tree, landed, landing
from skilltrial.seams import Access, Blobs, Place, Sandbox
from skilltrial.system import git as repositories
from skilltrial.system.files import Manifest, manifest, remove_tree, safe_name, write_new
from skilltrial.system.git import Source
from skilltrial.workspaces.bases import choose
from skilltrial.workspaces.sources import SourceRepository
from skilltrial.workspaces.sources import stage as stage_in_index

__all__ = ["Workspace", "fresh"]

_KEPT_TEMPLATES = 32
_LARGEST_TEMPLATE = 1 << 22
_templates: dict[tuple[object, ...], dict[str, bytes]] = {}


@dataclass(slots=True)
class Workspace:
    """Where one cell runs."""

    place: Place
    root: Path
    home: Path
    before: Manifest
    """What lay there when the run began; the staged skills and `.git` left out."""
    landed: dict[str, FileRef]
    """Fixtures by the path they lie at."""
    status: tuple[str, ...] | None = None
    """What `git status` says when the run begins, as `XY path`; None: git has to be asked."""
    kept: bool = field(default=False, init=False)

    def keep(self) -> None:
        """The root stays when the cell is over; the home goes all the same, for it may hold a login."""
        self.kept = True


@contextmanager
def fresh(
    *,
    sandbox: Sandbox,
    base: Path | None,
    fixtures: Tree,
    stage: str,
    skills: Sequence[Skill],
    skill_dir: str | None,
    blobs: Blobs,
    access: Access,
    stage_files: bool = False,
    git: bool,
    memory: bool = True,
    source: SourceRepository | None = None,
    live: bool = False,
) -> Iterator[Workspace]:
    """A workspace that is gone afterwards, unless it was kept.

    Args:
        base: folder to make it in; None chooses memory or the temporary folder.
        skills: staged at `<skill_dir>/<name>/`, unseen by git and by the manifest; () in a baseline.
        git: a repository with the fixtures in one base commit, unless they bring a repository.
        stage_files: the fixtures are in git's index only, the base commit is empty.
        memory: `/dev/shm` may be chosen.
        source: the repository to start from; the fixtures are put over its files and are not committed.
        live: its remote is the real one, else a private copy.
    Raises:
        CellError: no place will do, a fixture cannot land, or its bytes are missing.
    """
    folder = Path(tempfile.mkdtemp(prefix="skilltrial-", dir=choose(base, memory=memory)))
    workspace = None
    try:
        with sandbox.enter(folder, access) as place:
            spots = _landed(fixtures, stage)
            sources = {path: Source(_bytes(blobs, ref), ref.executable) for path, ref in spots.items()}
            if source is not None:
                source.copy_to(place.root, live=live, hidden=_folders(skills, skill_dir))
            _put_all(place.root, sources, over=source is not None)
            hidden = _stage_skills(place.root, skills, skill_dir, blobs)
            status = None
            if source is not None:
                spots = {**source.files, **spots}
                if stage_files and sources:
                    stage_in_index(place, list(sources))
            elif git and not any(path.split("/")[0] == ".git" for path in spots):
                status = _status(spots, stage_files)
                _put_repository(place.root, sources, (fixtures.digest, stage, stage_files, hidden), stage_files, hidden)
            workspace = Workspace(place, place.root, place.home, manifest(place.root, hidden), spots, status)
            yield workspace
    finally:
        kept = workspace is not None and workspace.kept
        remove_tree(workspace.home if workspace and kept else folder)


def _landed(fixtures: Tree, stage: str) -> dict[str, FileRef]:
    found = landed(fixtures, cast(Stage, stage))
    for ref in fixtures.files:
        path = landing(ref.path, cast(Stage, stage))
        if found[path].digest != ref.digest:
            raise CellError("workspace", f"fixtures '{found[path].path}' and '{ref.path}' both land at '{path}' and differ")
    return found


def _bytes(blobs: Blobs, ref: FileRef) -> bytes:
    try:
        return blobs.get(ref.digest)
    except KeyError:
        raise CellError("workspace", f"the stored copy of '{ref.path}' is missing") from None


def _put_all(root: Path, files: dict[str, Source], *, over: bool = False) -> None:
    """Puts files into a fresh folder; `over`: in place of what lies there."""
    for path, source in files.items():
        if not _is_plain(path):
            raise CellError("workspace", f"'{path}' does not lie inside the workspace")
        try:
            if over and (root / path).is_file():
                (root / path).unlink()
            new = write_new(root / path, source.data, None, executable=source.executable)
        except OSError as error:
            raise CellError("workspace", f"cannot place '{path}': {error.strerror}") from error
        if not new:
            raise CellError("workspace", f"two files want to lie at '{path}'")


def _is_plain(path: str) -> bool:
    """It stays below any folder that holds no links, and a fresh one holds none."""
    return bool(path) and "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _stage_skills(root: Path, skills: Sequence[Skill], skill_dir: str | None, blobs: Blobs) -> tuple[str, ...]:
    """Puts the skills where the target looks for them; answers with their folders. `evals/` never goes along."""
    folders = _folders(skills, skill_dir)
    for folder, skill in zip(folders, skills, strict=bool(folders)):
        staged = [ref for ref in skill.tree.files if ref.path.split("/")[0] != "evals"]
        _put_all(root, {f"{folder}/{ref.path}": Source(_bytes(blobs, ref), ref.executable) for ref in staged})
    return folders


def _folders(skills: Sequence[Skill], skill_dir: str | None) -> tuple[str, ...]:
    return () if skill_dir is None else tuple(f"{skill_dir}/{safe_name(skill.name)}" for skill in skills)


def _status(spots: Iterable[str], staged: bool) -> tuple[str, ...] | None:
    """What git will say of a repository of ours; None where it may see a repository within, or would quote a name."""
    if any(".git" in path.lower().split("/") for path in spots):
        return None
    if not staged:
        return ()
    plain = all(path.isascii() and path.isprintable() and not {'"', "\\"} & set(path) for path in spots)
    return tuple(f"A  {path}" for path in sorted(spots)) if plain else None


def _put_repository(
    root: Path, sources: dict[str, Source], key: tuple[object, ...], staged_only: bool, hidden: tuple[str, ...]
) -> None:
    files = _templates.get(key)
    if files is None:
        files = repositories.repository(sources, staged_only=staged_only, hidden=hidden)
        if sum(map(len, files.values())) <= _LARGEST_TEMPLATE:
            if len(_templates) >= _KEPT_TEMPLATES:
                _templates.clear()
            _templates[key] = files
    folder = root / ".git"
    for path, data in files.items():
        write_new(folder / path, data, None)
