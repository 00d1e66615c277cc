"""A git repository with one commit, made without starting git: a pack, an index and four small files.

Equal files give equal bytes, so both arms of a block see the same commit id.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SUBJECT = "base"
"""Of the base commit."""
WHEN = "946684800 +0000"
"""Date of the base commit: 2000-01-01."""
_WHO = "skilltrial <skilltrial@localhost>"
_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\tautocrlf = false
[user]
\tname = skilltrial
\temail = skilltrial@localhost
[commit]
\tgpgsign = false
"""


class Source(NamedTuple):
    """A file to commit."""

    data: bytes
    executable: bool


class _Object(NamedTuple):
    id: bytes
    kind: int
    data: bytes


def repository(files: Mapping[str, Source], *, staged_only: bool = False, hidden: Sequence[str] = ()) -> dict[str, bytes]:
    """The files of a `.git` folder, by path within it.

    Args:
        files: by POSIX path; parts of repositories among them are left out.
        staged_only: the base commit is empty and the files are in the index alone, as after `git add`.
        hidden: folders that git does not see, by `info/exclude`.
    """
    tracked = {path: source for path, source in sorted(files.items()) if ".git" not in path.lower().split("/")}
    blobs = {path: _object("blob", 3, source.data) for path, source in tracked.items()}
    objects = {blob.id: blob for blob in blobs.values()}
    root = _tree("", {} if staged_only else {path: (blobs[path], tracked[path].executable) for path in tracked}, objects)
    commit = _object("commit", 1, f"tree {root.id.hex()}\nauthor {_WHO} {WHEN}\ncommitter {_WHO} {WHEN}\n\n{SUBJECT}\n".encode())
    objects[commit.id] = commit
    pack, index = _pack(sorted(objects.values()))
    name = pack[-20:].hex()
    return {
        "HEAD": b"ref: refs/heads/main\n",
        "config": _CONFIG.encode(),
        "info/exclude": "".join(f"/{folder}/\n" for folder in hidden).encode(),
        "refs/heads/main": commit.id.hex().encode() + b"\n",
        f"objects/pack/pack-{name}.pack": pack,
        f"objects/pack/pack-{name}.idx": index,
        "index": _index({path: (blobs[path], tracked[path]) for path in tracked}),
    }


def _object(name: str, kind: int, data: bytes) -> _Object:
    return _Object(hashlib.sha1(f"{name} {len(data)}\0".encode() + data, usedforsecurity=False).digest(), kind, data)


def _tree(below: str, files: Mapping[str, tuple[_Object, bool]], objects: dict[bytes, _Object]) -> _Object:
    """The tree of a folder; it and the trees below it are added to `objects`."""
    entries: list[tuple[str, bytes]] = []
    for name in dict.fromkeys(path[len(below) :].partition("/")[0] for path in files):
        path = below + name
        if path in files:
            blob, executable = files[path]
            entries.append((name, (b"100755 " if executable else b"100644 ") + name.encode() + b"\0" + blob.id))
        else:
            inner = {key: value for key, value in files.items() if key.startswith(f"{path}/")}
            entries.append((f"{name}/", b"40000 " + name.encode() + b"\0" + _tree(f"{path}/", inner, objects).id))
    tree = _object("tree", 2, b"".join(entry for _, entry in sorted(entries, key=lambda pair: pair[0].encode())))
    objects[tree.id] = tree
    return tree


def _pack(objects: Sequence[_Object]) -> tuple[bytes, bytes]:
    """A pack of version 2 and its index of version 2."""
    pieces = [b"PACK" + struct.pack(">II", 2, len(objects))]
    offsets, sums, at = [], [], 12
    for item in objects:
        piece = _packed_header(item) + zlib.compress(item.data, 1)
        offsets.append(at)
        sums.append(zlib.crc32(piece))
        pieces.append(piece)
        at += len(piece)
    body = b"".join(pieces)
    pack = body + _sha1(body)
    fanout = [sum(item.id[0] <= first for item in objects) for first in range(256)]
    count = len(objects)
    index = b"".join(
        [
            b"\377tOc" + struct.pack(">I", 2),
            struct.pack(">256I", *fanout),
            *(item.id for item in objects),
            struct.pack(f">{count}I", *sums),
            struct.pack(f">{count}I", *offsets),
            pack[-20:],
        ]
    )
    return pack, index + _sha1(index)


def _packed_header(item: _Object) -> bytes:
    size = len(item.data)
    head = [item.kind << 4 | size & 15]
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)


def _index(files: Mapping[str, tuple[_Object, Source]]) -> bytes:
    """An index of version 2 that knows nothing of dates: git looks at the contents once and agrees."""
    pieces = [b"DIRC" + struct.pack(">II", 2, len(files))]
    for path, (blob, source) in sorted(files.items(), key=lambda item: item[0].encode()):
        name = path.encode()
        mode = 0o100755 if source.executable else 0o100644
        entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, len(source.data)) + blob.id
        entry += struct.pack(">H", min(len(name), 0xFFF)) + name
        pieces.append(entry + b"\0" * (8 - len(entry) % 8))
    body = b"".join(pieces)
    return body + _sha1(body)


def _sha1(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()
