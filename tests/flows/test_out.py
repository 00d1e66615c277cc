"""Files written together: masked like any other, all there once the last one is, replaced where they were."""

from pathlib import Path

import pytest

from skilltrial.errors import UsageError
from skilltrial.flows.out import Bundle
from skilltrial.system.redaction import Redactor

KEY = "hunter2-hunter2"


def bundle(folder: Path) -> Bundle:
    redactor = Redactor()
    redactor.learn(KEY)
    return Bundle(folder, redactor)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("secret", [KEY, KEY.encode("utf-16-le"), b"\xff" + KEY.encode(), "api_key=abc12345xyz"])
def test_a_secret_in_one_of_several_files_is_masked(tmp_path: Path, secret: str | bytes) -> None:
    with bundle(tmp_path) as out:
        out.write("a/plain.txt", "nothing to hide")
        out.write("a/b/secret", secret)
        out.write("sign", "done")
    found = contents(tmp_path)
    assert (found["a/plain.txt"], found["sign"]) == (b"nothing to hide", b"done")
    raw = secret.encode() if isinstance(secret, str) else secret
    assert raw not in found["a/b/secret"]
    assert b"redacted" in found["a/b/secret"].replace(b"\0", b"")


def test_what_was_there_is_replaced_and_large_files_are_written_too(tmp_path: Path) -> None:
    for text in ("a torn ol", "new"):
        with bundle(tmp_path) as out:
            out.write("one.txt", text)
            out.write("large.txt", f"{text}\n" * 500_000)
            assert not (tmp_path / "sign").exists() or text == "new"
            out.write("sign", text)
    assert contents(tmp_path) == {"one.txt": b"new", "large.txt": b"new\n" * 500_000, "sign": b"new"}


def test_a_block_that_fails_writes_no_sign(tmp_path: Path) -> None:
    with pytest.raises(KeyError), bundle(tmp_path) as out:
        out.write("one.txt", "x")
        raise KeyError
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("name", ["../out.txt", "/out.txt", "a/../../out.txt"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="outside its folder"), bundle(tmp_path) as out:
        out.write(name, "x")
