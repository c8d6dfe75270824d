"""Plays, pauses, steps and resets a run in its own thread, so that the page stays responsive."""

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
"""Legal speeds in steps a second of each agent."""

_CHUNK_SECONDS = 0.03  # about how long a call of the device takes, for which a command may wait
_VIEW_SECONDS = 0.1  # between two views of a playing run
_VIEW_SHARE = 4  # pause after a view, in times of its own: a board's table comes over a serial line
_SAMPLE_SECONDS = 1.0  # between two recent points of a playing run
_RATE_VIEWS = 10  # views over which the rate is averaged
_LATE_SECONDS = 0.5  # delay that a device too slow for the speed need not make up for

Done = Future[View]
"""A future that is done when its command is; its result is the view after it."""


class Controller(Closing):
    """Steers a run at a speed in steps a second of each agent, 0 to 1,000,000; 0 is full speed.

    Commands return at once and are executed in order, between two calls of the device. Only this
    controller's thread may use the run from now on. A run begins paused, and its result does not depend
    on the speed or on pauses.

    :attr:`view` is the latest view, and :attr:`rate` the updates a second of all agents by wall clock, 0
    at rest. :attr:`error` is the failure of the device that ended the thread; every later command ends
    with it too.
    """

    def __init__(self, run: Watched, speed: int) -> None:
        self._run = run
        self._speed = integer("speed", speed, 0, MOST_SPEED)
        self._left, self._paced = 0, True
        self._stepping: deque[tuple[int, Done]] = deque()  # the first is under way
        self._chunk = 1
        self._call = float("inf")  # what a call takes, whatever its steps
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
        """Whether agents learn, or make the steps of :meth:`step`."""
        return self._left > 0

    @property
    def speed(self) -> int:
        """Steps a second of each agent while it plays; 0 is as fast as it goes."""
        return self._speed

    # Commands

    def play(self) -> Done:
        """Let the agents learn until the next command."""
        return self._do(lambda: self._go(MOST_STEPS, paced=True))

    def pause(self) -> Done:
        """Stop: once this is done, no more steps are made."""
        return self._do(lambda: self._go(0, paced=True))

    def step(self, steps: int) -> Done:
        """Let every agent make exactly `steps` steps at full speed, 1 to 2^48 - 1, then pause.

        Steps requested meanwhile follow after them. The command is done when they are made, or when
        :meth:`play`, :meth:`pause` or :meth:`reset` has ended them early.
        """
        integer("steps", steps, 1, MOST_STEPS, "from 1 to 2^48-1")

        def begin(done: Done) -> None:
            if not self._stepping:
                self._go(steps, paced=False)
            self._stepping.append((steps, done))

        return self._put(begin)

    def reset(self) -> Done:
        """Return to the beginning, including settings; a playing run starts again."""

        def begin() -> None:
            self._go(self._left if self._paced else 0, paced=True)
            self._run.reset()

        return self._do(begin)

    def configure(self, **values: float) -> Done:
        """Continue with another `alpha`, `gamma` or `epsilon`; an illegal one is the future's error."""
        return self._do(lambda: self._run.configure(**values))

    def pace(self, speed: int) -> Done:
        """Play at another speed; raises ConfigError if it is out of range."""
        integer("speed", speed, 0, MOST_SPEED)

        def change() -> None:
            self._speed, self._due = speed, time.monotonic()

        return self._do(change)

    def close(self) -> None:
        """End the thread; the device stays open. Calling it twice is harmless."""
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
        """Let the agents learn until there is a command; return it."""
        while True:
            wait = max(0.0, self._due - time.monotonic()) if self._left else None
            try:
                return self._commands.get(timeout=wait)
            except queue.Empty:
                self._advance()

    def _carry_out(self, command: Callable[[Done], None], done: Done) -> None:
        try:
            command(done)
        except ConfigError as error:  # nothing is changed
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
        self._left -= made if made else self._left  # none: the budget is spent
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
