"""Run work in a separate process and kill it before a chosen system call.

Between system calls, a process changes nothing that another process can observe. Killing the work before
its first, second, ... and last system call therefore covers every possible moment. This needs ptrace on
Linux. Only the system calls of the working thread are counted, but the kill ends all threads.
"""

import contextlib
import ctypes
import os
import signal
import traceback
from collections.abc import Callable, Iterator

__all__ = ["dies_before", "done", "kills"]

_TRACEME, _SYSCALL, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E  # <sys/ptrace.h>
_EXITKILL, _TRACESYSGOOD = 1 << 20, 1
_AT_SYSCALL = signal.SIGTRAP | 0x80
_ENTERING = 1

_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.restype = ctypes.c_long
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def dies_before(number: int, work: Callable[[], object]) -> bool:
    """Do work in a fork of this process, and kill it before system call `number`, counted from 1.

    Returns
    -------
    bool
        Whether the work was killed; otherwise it finished first.

    Raises
    ------
    RuntimeError
        The work failed without a kill; its traceback is on stderr.
    """
    child = _forked(work, traced=True)
    os.waitpid(child, 0)  # the child stops itself
    _ask(_SETOPTIONS, child, 0, _EXITKILL | _TRACESYSGOOD)
    info = ctypes.create_string_buffer(128)
    calls, passed_on = 0, 0
    while True:
        _ask(_SYSCALL, child, 0, passed_on)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            _check_end(status)
            return False
        passed_on = 0
        if os.WSTOPSIG(status) != _AT_SYSCALL:
            passed_on = os.WSTOPSIG(status)
            continue
        _ask(_GET_SYSCALL_INFO, child, len(info), ctypes.addressof(info))
        calls += info.raw[0] == _ENTERING
        if calls == number:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return True


def kills(work: Callable[[], object]) -> Iterator[int]:
    """Repeat work, and kill it before its first, second, ... and last system call.

    Yield the number of the system call after each kill, and end after the work has finished.
    """
    number = 1
    while dies_before(number, work):
        yield number
        number += 1


def done(work: Callable[[], object]) -> None:
    """Do work in a fork of this process; raise RuntimeError if it fails."""
    _check_end(os.waitpid(_forked(work, traced=False), 0)[1])


def _forked(work: Callable[[], object], traced: bool) -> int:
    """Return the ID of a process that does the work and exits."""
    child = os.fork()
    if child:
        return child
    status = 1
    with contextlib.suppress(BaseException):
        try:
            if traced:
                _ask(_TRACEME, 0, 0, 0)
                os.kill(os.getpid(), signal.SIGSTOP)
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
    os._exit(status)


def _check_end(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise RuntimeError(f"the work ended with status {code}")


def _ask(request: int, child: int, address: int, data: int) -> None:
    if _ptrace(request, child, address, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace: {os.strerror(ctypes.get_errno())}")
