"""The only place that opens files for writing, and careful ways to read what strangers left behind.

Nothing here follows a symbolic link below a given root, opens a pipe or a device, or trusts a name.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from skilltrial.errors import UsageError

if TYPE_CHECKING:  # its patterns take milliseconds to compile, and `validate` masks nothing
    from skilltrial.system.redaction import Redactor

UNREAD = "unread"
"""Stands for the digest of a file that was not read: too large, or the disk refused."""
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_CAREFUL = os.O_RDONLY | _CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


# ---------------------------------------------------------------- writing
def write_atomic(path: Path | str, data: bytes | str, redactor: Redactor | None, *, durable: bool = False) -> None:
    """Puts `data` at `path`, whole or not at all; folders on the way are made. `durable`: it survives a power cut."""
    content = _masked(data, redactor)
    folder, name = os.path.split(path)  # paths are text here for speed: folder views write ten thousands of files
    temporary = os.path.join(folder, f".{name[:80]}.{os.urandom(6).hex()}.tmp")  # noqa: PTH118
    try:
        try:
            _write_new(temporary, content, 0o644, durable=durable)
        except FileNotFoundError:
            Path(folder).mkdir(parents=True, exist_ok=True)
            _write_new(temporary, content, 0o644, durable=durable)
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(Path(folder))


def write_new(path: Path | str, data: bytes, redactor: Redactor | None, *, executable: bool = False) -> bool:
    """Puts a file where there is none; False, and nothing changed, when there is one. Links are never followed."""
    try:
        _write_new(path, _masked(data, redactor), 0o755 if executable else 0o644)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return write_new(path, data, redactor, executable=executable)
    except FileExistsError:
        return False
    return True


def refuse_unwritable(path: Path) -> None:
    """Says before any work is done that no file can be made at a path.

    Raises:
        UsageError: it is a folder, something above it is no folder, or may not be written to.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder", "name a file in it")
    above = next((folder for folder in path.absolute().parents if os.path.lexists(folder)), None)
    if above is None or not above.is_dir() or not os.access(above, os.W_OK):
        raise UsageError(f"{path} cannot be written: {above} is no folder that may be written to", "name another place")


def copy_tree(source: Path, target: Path) -> tuple[str, ...]:
    """Copies folders and regular files, byte by byte; answers with what was left out (links, pipes, devices)."""
    listing = manifest(source, everything=True)
    for path, entry in listing.files.items():
        read = read_capped(source / path, entry.size + 1)
        if read is None or not write_new(target / path, read.data, None, executable=entry.executable):
            raise OSError(f"cannot copy {source / path}")
    target.mkdir(parents=True, exist_ok=True)
    return listing.special


def replicate(source: Path, target: Path, *, share_over: int) -> None:
    """An exact copy of a folder that is there for copying: files with mode and time, and links that stay inside it.

    Files larger than `share_over` bytes become another name of the same bytes where the system allows it.

    Raises:
        OSError: something cannot be copied.
    """
    listing = manifest(source, everything=True, max_files=1_000_000, max_seconds=600)
    if listing.truncated:
        raise OSError(f"{source} is too large to be copied")
    for folder, _, _ in os.walk(source):  # empty ones too: a repository needs them
        (target / os.path.relpath(folder, source)).mkdir(parents=True, exist_ok=True)
    for path, entry in listing.files.items():
        spot = target / path
        if entry.size > share_over and _linked(source / path, spot):
            continue
        read = read_capped(source / path, entry.size + 1)
        if read is None:
            raise OSError(f"cannot copy {source / path}")
        _write_new(spot, read.data, 0o755 if entry.executable else 0o644)
        os.utime(spot, ns=(entry.modified_ns, entry.modified_ns))
    for path in listing.special:
        link = source / path
        if link.is_symlink() and _stays(path, str(link.readlink())):
            (target / path).symlink_to(link.readlink())


def _stays(path: str, goal: str) -> bool:
    """A link at `path` that says `goal` leads to something within the folder that both are relative to."""
    lands = Path(os.path.normpath(Path(path).parent / goal))
    return not lands.is_absolute() and lands.parts[:1] != ("..",)


def _linked(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)
    except OSError:
        return False
    return True


class Appender:
    """Adds whole lines to the end of a file through one descriptor; threads may share it.

    A torn last line, left by a process that was killed, is cut off when the file is opened.
    """

    def __init__(self, path: Path, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _CLOEXEC, 0o644)
        self._end = _end_of_last_line(self._fd)
        os.ftruncate(self._fd, self._end)

    def append(self, line: bytes | str) -> tuple[int, int]:
        """Writes one line, the newline added; answers with its offset and its size, newline included."""
        content = _masked(line, self._redactor) + b"\n"
        with self._lock:
            offset = self._end
            try:
                _write_all(self._fd, content)
            except OSError:
                os.ftruncate(self._fd, offset)  # no half line may stay before the next one
                raise
            self._end = offset + len(content)
        return offset, len(content)

    def sync(self) -> None:
        """Returns when everything appended is on the disk."""
        getattr(os, "fdatasync", os.fsync)(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Appender:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def remove_tree(root: Path) -> bool:
    """Removes a folder and all below it, unreadable and very deep folders included; links are removed, not followed."""
    folders, pending = [], [str(root)]
    while pending:
        folder = pending.pop()
        if len(folder) > 2000:  # the system takes no longer paths, so deep folders are pulled up
            near = f"{root}/.{os.urandom(8).hex()}"
            _quietly(os.rename, folder, near)
            folder = near
        folders.append(folder)
        for entry in _listed(folder, force=True) or ():
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            else:
                _quietly(os.unlink, entry.path)
    for folder in reversed(folders):
        _quietly(os.rmdir, folder)
    return not os.path.lexists(root)


def _masked(data: bytes | str, redactor: Redactor | None) -> bytes:
    if isinstance(data, str):
        text = redactor.text(data)[0] if redactor else data
        return text.encode("utf-8", "backslashreplace")
    return redactor.data(data)[0] if redactor else data


def _write_new(path: Path | str, data: bytes, mode: int, *, durable: bool = False) -> None:
    fd = os.open(path, _NEW, mode)
    try:
        _write_all(fd, data)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | _CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _end_of_last_line(fd: int) -> int:
    end = os.fstat(fd).st_size
    while end:
        start = max(0, end - 65_536)
        newline = os.pread(fd, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _quietly(act: Callable[..., None], *paths: str) -> None:
    try:
        act(*paths)
    except PermissionError:
        _open_up(os.path.dirname(paths[0]))  # noqa: PTH120 - paths here are text for speed
        try:
            act(*paths)
        except OSError:
            return
    except OSError:
        return


# ---------------------------------------------------------------- names
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?|.*\.", re.IGNORECASE)


def safe_name(text: str) -> str:
    """The text as a name for a file or folder, `[A-Za-z0-9._-]{1,100}`; a changed one ends with a hash, so two stay two."""
    if _SAFE.fullmatch(text) and not _RESERVED.fullmatch(text):
        return text
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")[:80].rstrip(".-") or "x"
    return f"{plain}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def inside(root: Path, relative: str) -> Path | None:
    """Where a POSIX path lies below `root`; None when it is absolute, leads out, or passes a link. The file need not exist."""
    pure = PurePosixPath(relative)
    if "\0" in relative or pure.is_absolute() or ".." in pure.parts or not pure.parts or (os.name == "nt" and ":" in relative):
        return None
    path = root.joinpath(*pure.parts)
    try:
        real_root = root.resolve()
        real = path.resolve()
    except (OSError, RuntimeError):
        return None
    return path if real.is_relative_to(real_root) and real == real_root.joinpath(*pure.parts) else None


# ---------------------------------------------------------------- reading
def digest(data: bytes) -> str:
    """`sha256:` and 64 hex digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Capped(NamedTuple):
    """The beginning of a file."""

    data: bytes
    size: int
    """Of the whole file, in bytes."""
    truncated: bool


def read_capped(path: Path, limit: int, *, force: bool = False) -> Capped | None:
    """At most `limit` bytes of a regular file; None for anything else: absent, a link, a pipe, a device, refused.

    Args:
        force: make our own unreadable file readable first.
    """
    try:
        fd = os.open(path, _CAREFUL)
    except PermissionError:
        if not force or not stat.S_ISREG(path.lstat().st_mode):
            return None
        _open_up(str(path))
        return read_capped(path, limit)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        data = _read(fd, min(limit, status.st_size + 1) if status.st_size else limit)
        return Capped(data, max(status.st_size, len(data)), status.st_size > len(data))
    except OSError:
        return None
    finally:
        os.close(fd)


def _read(fd: int, limit: int) -> bytes:
    pieces, left = [], limit
    while left > 0:
        piece = os.read(fd, min(left, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


# ---------------------------------------------------------------- manifests
class Entry(NamedTuple):
    """What the file system says of a regular file without opening it. Equal entries: the file was not touched."""

    size: int
    changed_ns: int
    """Change time of the inode, which no program can set."""
    modified_ns: int
    inode: int
    executable: bool


@dataclass(frozen=True, slots=True)
class Manifest:
    """The regular files below a folder."""

    files: dict[str, Entry] = field(default_factory=dict)
    """By POSIX path relative to the folder."""
    special: tuple[str, ...] = ()
    """Links, pipes, sockets, devices, and names that are no text; never opened."""
    truncated: bool = False
    """A cap was hit or a folder refused: absence proves nothing."""
    skipped: frozenset[str] = frozenset()
    """Paths left out on purpose."""


def manifest(
    root: Path, skip: Collection[str] = (), *, everything: bool = False, max_files: int = 50_000, max_seconds: float = 20.0
) -> Manifest:
    """Walks a folder without opening a file or following a link.

    Args:
        skip: relative paths of folders to leave out.
        everything: do not leave out folders called `.git`.
    """
    files: dict[str, Entry] = {}
    special: list[str] = []
    truncated = False
    ends = time.monotonic() + max_seconds
    pending = [("", str(root))]
    while pending and not truncated:
        below, folder = pending.pop()
        entries = _listed(folder, force=True)
        if entries is None:
            truncated = True
            continue
        for entry in entries:
            path = below + entry.name
            if path in skip or (entry.name == ".git" and not everything):
                continue
            status = _status(entry)
            if status is None:
                continue
            if stat.S_ISDIR(status.st_mode):
                pending.append((f"{path}/", entry.path))
            elif stat.S_ISREG(status.st_mode) and _is_text(path):
                files[path] = Entry(
                    status.st_size, status.st_ctime_ns, status.st_mtime_ns, status.st_ino, bool(status.st_mode & 0o100)
                )
            else:
                special.append(path.encode("utf-8", "backslashreplace").decode("ascii", "replace"))
            if len(files) + len(special) > max_files or time.monotonic() > ends:
                truncated = True
                break
    return Manifest(dict(sorted(files.items())), tuple(sorted(special)), truncated or bool(pending), frozenset(skip))


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _listed(folder: str, *, force: bool) -> list[os.DirEntry[str]] | None:
    try:
        with os.scandir(folder) as entries:
            return list(_some(entries))
    except PermissionError:
        if not force:
            return None
        _open_up(folder)
        return _listed(folder, force=False)
    except OSError:
        return None


def _some(entries: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    for count, entry in enumerate(entries):
        if count > 2_000_000:
            return
        yield entry


def _open_up(path: str) -> None:
    """Gives the owner, that is us, access again."""
    try:
        os.chmod(path, 0o700)  # noqa: PTH101 - paths here are text for speed
    except OSError:
        return
