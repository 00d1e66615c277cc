"""The walls as arguments of `bwrap`: pure, but for a look at what this machine has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skilltrial.sandboxes import _identity
from skilltrial.sandboxes.programs import SYSTEM, is_system
from skilltrial.seams import Access

ETC = (
    "ssl", "pki", "ca-named", "ca-named.conf", "crypto-policies", "resolv.conf", "nsswitch.conf", "host.conf",
    "gai.conf", "protocols", "services", "localtime", "timezone", "locale.conf", "alternatives", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "mime.types", "magic", "fonts", "terminfo", "inputrc", "perl", "python3", "java", "ImageMagick-6",
)  # fmt: skip
"""What programs need of /etc. The rest tells of users, services and secrets."""
_PRIVATE = ("/etc/ssl/private", "/etc/pki/tls/private")
_OF_ROOT = (
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/mtrr",
    "/proc/acpi",
    "/proc/pressure",
)
"""Settings of the machine that its root may write even without any capability: `core_pattern` alone starts programs outside."""


def bare() -> tuple[str, ...]:
    """The walls without a place."""
    return (*_namespaces(Access()), *_system())


def walls(root: Path, home: Path, access: Access, identity: Mapping[str, Path], named: Sequence[str] = ()) -> tuple[str, ...]:
    """The walls around a place.

    Args:
        identity: files of ours by the path they are shown at.
        named: files and folders that variables name, to be shown.
    """
    everything = Path("/") in access.readable
    arguments = [*_namespaces(access), *(_all_of_it() if everything else _system())]
    for place, file in identity.items():
        arguments += ["--ro-bind", str(file), place]
    arguments += ["--bind", f"{home}/tmp", "/tmp"]
    if not everything:
        arguments += _shown([path for path in (*access.readable, *_tools(), *map(Path, named)) if not is_system(path)])
    for folder in (root, home, *access.writable):
        arguments += ["--bind", str(folder), str(folder)]
    return (*arguments, *(() if everything else ("--remount-ro", "/")), "--remount-ro", "/dev")


def _namespaces(access: Access) -> Iterator[str]:
    who = _identity.ours()
    yield from ("--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--uid", str(who.user), "--gid", str(who.group), "--cap-drop", "ALL", "--hostname", _identity.HOSTNAME)
    if access.network != "on":
        yield "--unshare-net"
    if not access.nested:
        yield "--disable-userns"


def _system() -> Iterator[str]:
    for name in SYSTEM:
        folder = Path(name)
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), name)
        elif folder.is_dir():
            yield from ("--ro-bind", name, name)
    for name in ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for name in _PRIVATE:
        if Path(name).is_dir():
            yield from ("--tmpfs", name)
    yield from _kernel()
    yield from ("--dir", "/tmp", "--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp")


def _all_of_it() -> Iterator[str]:
    """The whole machine as the caller may read it, for commands that need the caller's own tools."""
    yield from ("--ro-bind", "/", "/")
    yield from _kernel()


def _kernel() -> Iterator[str]:
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm")
    if os.getuid() == 0:
        for name in _OF_ROOT:
            if Path(name).exists():
                yield from ("--ro-bind", name, name)


def _tools() -> list[Path]:
    """Installations below /opt that are on PATH."""
    on_path = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder.startswith("/opt/")]
    return [Path("/opt", folder.parts[2]) for folder in on_path if len(folder.parts) > 2]


def _shown(paths: Sequence[Path]) -> list[str]:
    """Folders and files read-only, outer ones first; a link stays the link it is."""
    arguments: list[str] = []
    folders: list[Path] = []
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if any(path.is_relative_to(folder) for folder in folders):
            continue
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            arguments += ["--ro-bind", str(path), str(path)]
            folders.append(path)
    return arguments
