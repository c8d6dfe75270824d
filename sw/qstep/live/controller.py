"""Plays, pauses, steps and resets a run in a separate thread, so that the page stays responsive."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from qstep.errors import ClosedError, ConfigError
from qstep.golden.contract import Closing
from qstep.live.run import View, Watched
from qstep.spec.checks import integer
from qstep.spec.protocol import MOST_STEPS

__all__ = ["MOST_SPEED", "Controller", "Done"]

MOST_SPEED = 1_000_000
"""Maximum speed in steps per second per agent."""

_CHUNK_SECONDS = 0.03  # approximate time of a device call, during which a command has to wait
_VIEW_SECONDS = 0.1  # time between views of a playing run
_VIEW_SHARE = 4  # pause after a view, as a multiple of its time: a board's link is slow
_SAMPLE_SECONDS = 1.0  # time between recent points of a playing run
_RATE_VIEWS = 10  # number of views over which the rate is averaged
_LATE_SECONDS = 0.5  # a device that is too slow does not catch up on longer delays

Done = Future[View]
"""A future that is done when its command has been executed; its result is the view after that."""


class Controller(Closing):
    """Steers a run at 0 to 1,000,000 steps per second per agent; 0 is full speed.

    Commands return at once and are executed in order, between device calls. After construction, only the
    controller's thread may use the run. A run starts paused, and its result does not depend on the speed
    or on pauses.

    :attr:`view` is the latest view, and :attr:`rate` the updates of all agents per second of wall-clock
    time, 0 while paused. :attr:`error` is the device failure that ended the thread; every later command
    fails with the same error.
    """

    def __init__(self, run: Watched, speed: int) -> None:
        self._run = run
        self._speed = integer("speed", speed, 0, MOST_SPEED)
        self._left, self._paced = 0, True
        self._stepping: deque[tuple[int, Done]] = deque()  # the first one is in progress
        self._chunk = 1
        self._call = float("inf")  # fixed time of a call, regardless of its steps
        self._due = 0.0
        self._shown_at = self._shown_in = 0.0
        self._sampled_at = self._sampled_in = 0.0
        self._made: deque[tuple[float, int]] = deque(maxlen=_RATE_VIEWS)
        self._show()
        self.error: Exception | None = None
        self._commands: queue.SimpleQueue[tuple[Callable[[Done], None], Done] | None]
        self._commands = queue.SimpleQueue()
        self._open, self._lock = True, threading.Lock()
        self._thread = threading.Thread(target=self._work, name="qstep live", daemon=True)
        self._thread.start()

    @property
    def playing(self) -> bool:
        """Whether agents are learning, in :meth:`play` or :meth:`step`."""
        return self._left > 0

    @property
    def speed(self) -> int:
        """Steps per second per agent while playing; 0 is as fast as possible."""
        return self._speed

    # Commands

    def play(self) -> Done:
        """Run the agents until the next command."""
        return self._do(lambda: self._go(MOST_STEPS, paced=True))

    def pause(self) -> Done:
        """Pause the agents; once the command is done, no more steps are taken."""
        return self._do(lambda: self._go(0, paced=True))

    def step(self, steps: int) -> Done:
        """Run every agent for exactly `steps` steps (1 to 2^48 - 1) at full speed, then pause.

        Steps requested in the meantime are queued. The command is done when its steps have been taken,
        or when :meth:`play`, :meth:`pause` or :meth:`reset` has ended it early.
        """
        integer("steps", steps, 1, MOST_STEPS, "from 1 to 2^48-1")

        def begin(done: Done) -> None:
            if not self._stepping:
                self._go(steps, paced=False)
            self._stepping.append((steps, done))

        return self._put(begin)

    def reset(self) -> Done:
        """Return to the initial state, including settings; a playing run continues from there."""

        def begin() -> None:
            self._go(self._left if self._paced else 0, paced=True)
            self._run.reset()

        return self._do(begin)

    def configure(self, **values: float) -> Done:
        """Change `alpha`, `gamma` or `epsilon`; an illegal value is reported by the future."""
        return self._do(lambda: self._run.configure(**values))

    def pace(self, speed: int) -> Done:
        """Change the playing speed; raises ConfigError if it is out of range."""
        integer("speed", speed, 0, MOST_SPEED)

        def change() -> None:
            self._speed, self._due = speed, time.monotonic()

        return self._do(change)

    def close(self) -> None:
        """End the thread; the device stays open. Repeated calls are harmless."""
        self._commands.put(None)
        self._thread.join()

    # The thread

    def _do(self, command: Callable[[], None]) -> Done:
        def carried_out(done: Done) -> None:
            command()
            self._show()
            done.set_result(self.view)

        return self._put(carried_out)

    def _put(self, command: Callable[[Done], None]) -> Done:
        done: Done = Future()
        done.set_running_or_notify_cancel()  # from here on it cannot be cancelled
        with self._lock:
            if self._open:
                self._commands.put((command, done))
            else:
                done.set_exception(self._why())
        return done

    def _why(self) -> Exception:
        return self.error or ClosedError("the controller is closed; make another")

    def _work(self) -> None:
        try:
            while (command := self._next()) is not None:
                self._carry_out(*command)
        except Exception as error:
            self.error = error
        with self._lock:
            self._open, self._left = False, 0
        left = [done for _, done in self._stepping]
        while not self._commands.empty():
            if command := self._commands.get():
                left.append(command[1])
        for done in left:
            done.set_exception(self._why())

    def _next(self) -> tuple[Callable[[Done], None], Done] | None:
        """Run the agents until a command arrives; return the command."""
        while True:
            wait = max(0.0, self._due - time.monotonic()) if self._left else None
            try:
                return self._commands.get(timeout=wait)
            except queue.Empty:
                self._advance()

    def _carry_out(self, command: Callable[[Done], None], done: Done) -> None:
        try:
            command(done)
        except ConfigError as error:  # the command changed nothing
            done.set_exception(error)
        except Exception as error:
            done.set_exception(error)
            raise

    def _go(self, steps: int, *, paced: bool) -> None:
        if self._stepping:
            self._show()
        while self._stepping:
            self._stepping.popleft()[1].set_result(self.view)
        self._left, self._paced = steps, paced
        self._due = time.monotonic()
        self._made.clear()

    def _advance(self) -> None:
        speed = self._speed if self._paced else 0
        steps = min(self._left, self._chunk)
        if speed:
            steps = min(steps, max(1, round(speed * _CHUNK_SECONDS)))
        begun = time.monotonic()
        made = self._run.advance(steps)
        now = time.monotonic()
        self._left -= made if made else self._left  # 0 if the budget is spent
        self._call = min(self._call, now - begun)
        acting = now - begun - self._call
        if acting > 2 * _CHUNK_SECONDS:
            self._chunk = max(1, made // 2)
        elif acting < _CHUNK_SECONDS and made == self._chunk:
            self._chunk *= 2
        late = speed == 0 or now - self._due > _LATE_SECONDS
        self._due = now if late else self._due + made / speed
        if not self._left or now - self._shown_at >= max(
            _VIEW_SECONDS, _VIEW_SHARE * self._shown_in
        ):
            self._show()
        if not self._left and self._stepping:
            self._stepping.popleft()[1].set_result(self.view)
            self._left = self._stepping[0][0] if self._stepping else 0

    def _show(self) -> None:
        begun = time.monotonic()
        rest = max(_SAMPLE_SECONDS, _VIEW_SHARE * self._sampled_in)
        sample = not self._left or begun - self._sampled_at >= rest
        self.view = view = self._run.view(sample)
        self._made.append((begun, sum(own.steps for own in view.counters)))
        (first, before), (last, after) = self._made[0], self._made[-1]
        self.rate = max(0, after - before) / (last - first) if self._left and last > first else 0.0
        self._shown_at = time.monotonic()
        self._shown_in = self._shown_at - begun
        if sample:
            self._sampled_at, self._sampled_in = begun, self._shown_in
