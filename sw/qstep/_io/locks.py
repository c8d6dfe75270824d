"""Locks on open files, which the kernel releases whenever their holder ends."""

from __future__ import annotations

import fcntl
import os

__all__ = ["is_linked", "lock"]


def lock(descriptor: int, wait: bool = False) -> bool | None:
    """Lock an open file for this process alone until it is closed.

    The lock works between containers on one machine, and between machines if their common file system
    supports locks.

    Parameters
    ----------
    descriptor : int
        Open for writing, which NFS requires.
    wait : bool
        Wait until the lock is free.

    Returns
    -------
    bool or None
        Whether the lock was free; None if the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_linked(descriptor: int) -> bool:
    """Whether an open file still has a name; another process may have removed it before the lock."""
    return os.fstat(descriptor).st_nlink > 0
