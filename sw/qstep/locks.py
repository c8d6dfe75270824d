"""Locks on open files, which the kernel releases when their holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os

__all__ = ["is_linked", "lock"]


def lock(descriptor: int, wait: bool = False) -> bool | None:
    """Lock an open file for this process alone, until it is closed.

    The lock holds between containers on one machine, and between machines where their common file
    system passes locks on.

    Parameters
    ----------
    descriptor : int
        Open for writing, which NFS asks for.
    wait : bool
        Wait until the lock is free.

    Returns
    -------
    bool or None
        Whether the lock was free; None where the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_linked(descriptor: int) -> bool:
    """Whether an open file still has a name: who removes a file that is locked may have been faster."""
    return os.fstat(descriptor).st_nlink > 0
