"""Run inside a place, alone and with the standard library only: tries to get out, and prints what it managed, as JSON.

Every function is one attempt. It answers why it counts as a success, or None when the walls held.
"""

# ruff: noqa: PTH108, PTH110, PTH115, PTH123, PTH208
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import Any

Scene = dict[str, Any]
CLONE_NEWUSER = 0x10000000
USUAL_DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}


def reads_a_secret_in_the_callers_home(scene: Scene) -> str | None:
    return _read(scene["secret"])


def lists_the_callers_home(scene: Scene) -> str | None:
    return _listed(scene["home"], ".ssh")


def reads_the_suite(scene: Scene) -> str | None:
    return _read(scene["suite"])


def reads_earlier_results(scene: Scene) -> str | None:
    return _read(scene["results"])


def follows_a_link_out_of_its_folder(scene: Scene) -> str | None:
    Path("out").symlink_to(scene["secret"])
    return _read("out")


def writes_beside_its_folder(scene: Scene) -> str | None:
    return _written(f"{scene['outside']}/planted")


def changes_the_skill_it_was_given(scene: Scene) -> str | None:
    return _written(scene["skill"])


def writes_to_the_system(scene: Scene) -> str | None:
    places = ("/", "/usr", "/usr/bin", "/etc", "/var/lib", "/root", "/opt", "/home")
    return next((found for place in places if (found := _written(f"{place}/skilltrial-probe-{os.getpid()}", remove=True))), None)


def reads_private_files_of_the_system(scene: Scene) -> str | None:
    for folder, _, files in os.walk("/etc"):
        for name in files:
            path = f"{folder}/{name}"
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                if stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IROTH and open(path, "rb").read(1):  # noqa: SIM115
                    return f"read {path}"
    return None


def learns_the_machines_users(scene: Scene) -> str | None:
    text = Path("/etc/passwd").read_text(encoding="utf-8", errors="replace")
    return "they stand in /etc/passwd" if "root:" in text or "daemon:" in text else None


def learns_the_machines_name(scene: Scene) -> str | None:
    return "it is the host's" if socket.gethostname() == scene["hostname"] else None


def sees_other_processes(scene: Scene) -> str | None:
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if scene["token"].encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return f"process {pid}"
    return None


def kills_other_processes(scene: Scene) -> str | None:
    with contextlib.suppress(OSError):
        os.kill(scene["victim"], signal.SIGKILL)
        return "the signal was sent"
    return None


def calls_a_server_on_loopback(scene: Scene) -> str | None:
    return _connected(socket.AF_INET, ("127.0.0.1", scene["port"]))


def calls_a_socket_without_a_path(scene: Scene) -> str | None:
    return _connected(socket.AF_UNIX, f"\0{scene['token']}")


def calls_a_socket_in_the_callers_home(scene: Scene) -> str | None:
    return _connected(socket.AF_UNIX, scene["socket"])


def mounts(scene: Scene) -> str | None:
    Path("mounted").mkdir()
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"none", b"mounted", b"tmpfs", 0, None):
        return None
    library.umount(b"mounted")
    return "a tmpfs"


def has_capabilities(scene: Scene) -> str | None:
    return next((line for line in _status() if line.startswith(("CapEff", "CapPrm")) and int(line.split()[1], 16)), None)


def may_gain_privileges(scene: Scene) -> str | None:
    return None if "NoNewPrivs:\t1" in _status() else "no_new_privs is not set"


def makes_a_user_namespace(scene: Scene) -> str | None:
    child = os.fork()
    if child == 0:
        os._exit(1 if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) else 0)
    return "unshare worked" if os.waitpid(child, 0)[1] == 0 else None


def writes_settings_of_the_kernel(scene: Scene) -> str | None:
    places = ["/proc/sysrq-trigger", "/proc/mtrr", *(f"/proc/sys/{name}" for name in ("kernel/core_pattern", "kernel/hostname", "vm/drop_caches", "fs/binfmt_misc/register", "kernel/modprobe"))]  # fmt: skip
    for place in places:
        with contextlib.suppress(OSError):
            os.close(os.open(place, os.O_WRONLY))
            return place
    return None


def has_devices(scene: Scene) -> str | None:
    for name in os.listdir("/dev"):
        mode = os.lstat(f"/dev/{name}").st_mode
        if (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) and name not in USUAL_DEVICES:
            return name
    return None


def sees_the_common_temporary_folder(scene: Scene) -> str | None:
    return _read(scene["in_tmp"])


def has_more_than_it_was_given_in_the_environment(scene: Scene) -> str | None:
    allowed = {*scene["variables"], "PWD", "SHLVL", "_", "LC_CTYPE", "HOSTNAME", "container", "TERM", "SKILLTRIAL_CELL", "PATH"}
    more = sorted(set(os.environ) - allowed)
    return ", ".join(more) or None


def has_a_used_home(scene: Scene) -> str | None:
    home = os.environ["HOME"]
    if home == scene["home"]:
        return "it is the caller's"
    more = sorted(set(os.listdir(home)) - {"tmp"})
    return ", ".join(more) or None


def inherits_open_files(scene: Scene) -> str | None:
    names = [name for name in os.listdir("/proc/self/fd") if int(name) > 2 and os.path.exists(f"/proc/self/fd/{name}")]
    opened = [os.readlink(f"/proc/self/fd/{name}") for name in names]
    return ", ".join(path for path in opened if not path.startswith("/proc/")) or None


# ---------------------------------------------------------------- small things
def _read(path: str) -> str | None:
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        return f"read {len(file.read())} characters of {path}"
    return None


def _listed(folder: str, name: str) -> str | None:
    with contextlib.suppress(OSError):
        return f"{name} is in {folder}" if name in os.listdir(folder) else None
    return None


def _written(path: str, *, remove: bool = False) -> str | None:
    with contextlib.suppress(OSError):
        with open(path, "a", encoding="utf-8") as file:
            file.write("!")
        if remove:
            os.unlink(path)
        return f"wrote {path}"
    return None


def _connected(family: int, address: Any) -> str | None:
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(3)
        one.connect(address)
        return f"connected to {address!r}"
    return None


def _status() -> list[str]:
    return Path("/proc/self/status").read_text(encoding="utf-8").splitlines()


ATTEMPTS = {
    name: attempt for name, attempt in list(globals().items())
    if callable(attempt) and not name.startswith("_") and getattr(attempt, "__module__", "") == __name__
}  # fmt: skip


def main() -> None:
    scene: Scene = json.load(sys.stdin)
    for name, attempt in ATTEMPTS.items():
        try:
            got = attempt(scene)
        except Exception as error:  # an attempt that breaks is shown, never taken for walls that held
            got = f"broke: {error!r}"
        print(json.dumps([name, got]), flush=True)


if __name__ == "__main__":
    main()
