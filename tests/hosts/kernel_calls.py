"""System calls that Python 3.11 has no function for: namespaces, mounts, host names, signals at the death of the parent."""
from __future__ import annotations

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000

PR_SET_PDEATHSIG = 1


def checked(result: int, call: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{call}: {os.strerror(error)}")


def unshare(flags: int) -> None:
    checked(LIBC.unshare(ctypes.c_int(flags)), "unshare")


def set_namespace(descriptor: int, kind: int) -> None:
    checked(LIBC.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def set_host_name(name: str) -> None:
    data = name.encode()
    checked(LIBC.sethostname(data, ctypes.c_size_t(len(data))), "sethostname")


def signal_at_parents_death(number: int) -> None:
    """The kernel sends signal `number` to this process when the thread that made it ends."""
    checked(LIBC.prctl(ctypes.c_int(PR_SET_PDEATHSIG), ctypes.c_ulong(number), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)), "prctl")


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    result = LIBC.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    checked(result, f"mount {kind or 'of ' + source} on {target}")


def private_mounts() -> None:
    """A mount table of this process's own, from which nothing propagates."""
    unshare(CLONE_NEWNS)
    mount("none", "/", "", MS_REC | MS_PRIVATE)


def mount_tmpfs(target: str, size: str = "") -> None:
    """`size`: as tmpfs takes it, such as 64m; empty: half of the memory."""
    mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, ",".join(filter(None, ["mode=1777", f"size={size}" if size else ""])))


def mount_processes() -> None:
    """A /proc of this process's PID namespace."""
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def bind(source: str, target: str) -> None:
    mount(source, target, "", MS_BIND | MS_REC)


def become_root_of_user_namespace() -> None:
    """All capabilities over namespaces made from here on, for a user who has none on this machine."""
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
