"""All errors that QStep raises on purpose, with one base class.

They derive from :class:`QStepError`, so ``except QStepError`` catches the errors that a user can act on
and lets programming errors through. Each message names the offending value and the legal range.
"""

__all__ = [
    "BuildError",
    "CheckpointError",
    "ClosedError",
    "ConfigError",
    "ConfigMismatchError",
    "DeadlineError",
    "DeviceError",
    "DivergedError",
    "DrawingError",
    "EnvironmentSpaceError",
    "EpisodeError",
    "FileFormatError",
    "LinkError",
    "NoTableError",
    "PrecisionWarning",
    "ProtocolVersionError",
    "QStepError",
    "QStepWarning",
    "RefusedError",
    "RunFolderError",
    "SchedulerError",
    "SessionLostError",
    "TableError",
    "ToolMissingError",
    "TorchDeviceError",
    "TransitionError",
    "WorldError",
    "WorldSilentError",
    "WorldWarning",
]


class QStepError(Exception):
    """Base of every error that QStep raises on purpose."""


class QStepWarning(UserWarning):
    """Base of every warning that QStep issues on purpose; the command line prints each on one line."""


class ConfigError(QStepError, ValueError):
    """A setting or argument of a :class:`~qstep.Config`, a run or an environment is illegal."""


class TransitionError(QStepError, ValueError):
    """Transitions are malformed: wrong length or dtype, NaN, out of range, or a reward does not fit."""


class WorldError(QStepError, ValueError):
    """A world or a map is malformed, cannot be derived from an environment, or does not fit."""


class NoTableError(WorldError):
    """An environment has no transition table, so only the host can act in it."""


class WorldWarning(QStepWarning):
    """A world is legal, but part of it is almost certainly a mistake."""


class PrecisionWarning(QStepWarning):
    """Number widths affect learning: the learned discount differs from gamma, or values do not fit."""


class TableError(QStepError, ValueError):
    """A Q-table has the wrong shape, dtype or values."""


class FileFormatError(QStepError, ValueError):
    """A file has the wrong format, is incomplete, or cannot be read or written."""


class CheckpointError(FileFormatError):
    """A checkpoint is damaged, or belongs to another run."""


class RunFolderError(QStepError, RuntimeError):
    """A folder contains a run that would be overwritten, or is in use by another process."""


class SchedulerError(QStepError, RuntimeError):
    """Work cannot be distributed: there are no workers, a worker lacks a package, or too many died."""


class EnvironmentSpaceError(QStepError, ValueError):
    """An environment is unknown, its spaces do not fit, or its results contradict them."""


class EpisodeError(QStepError, RuntimeError):
    """A step was requested outside an episode: before the first reset, or after the end."""


class DivergedError(QStepError, ArithmeticError):
    """Parameters or losses of a network are no longer finite numbers."""


class ToolMissingError(QStepError, RuntimeError):
    """An external tool that this operation needs is absent; the message says how to get it."""


class TorchDeviceError(QStepError, ValueError):
    """The requested PyTorch device is not available here; the message lists the available ones."""


class BuildError(QStepError, RuntimeError):
    """A bitstream cannot be built: it does not fit, misses its clock, or a tool failed."""


class DrawingError(FileFormatError):
    """A picture cannot be drawn or written; the rest of the command succeeded."""


class DeviceError(QStepError, RuntimeError):
    """Base of all errors in the communication between the host and a device.

    Attributes
    ----------
    applied : int or None
        Number of transitions of the interrupted batch that the device confirmed as applied; None if no
        batch was in progress.
    """

    def __init__(self, message: str, applied: int | None = None) -> None:
        super().__init__(message)
        self.applied = applied


class DeadlineError(DeviceError, TimeoutError):
    """The device did not answer within the deadline, retries included."""


class LinkError(DeviceError):
    """The port failed or could not be opened."""


class ClosedError(DeviceError):
    """A device, or the controller that steers it, was used after it had been closed."""


class ProtocolVersionError(DeviceError):
    """The device speaks another version of the link protocol."""


class ConfigMismatchError(DeviceError):
    """The device's configuration differs from the one that the host expects."""


class SessionLostError(DeviceError):
    """The device was reset, or another host opened a session; its state must be read again."""


class RefusedError(DeviceError):
    """The device understood a command and refused it (out of range, bad length, unknown type)."""


class WorldSilentError(DeviceError):
    """A circuit world did not answer an agent in time, which ended the job.

    The device stays usable; the steps already made are exact and counted.

    Attributes
    ----------
    agent : int
        The agent that waited for an answer.
    clocks : int
        Number of clocks for which it waited.
    """

    def __init__(self, agent: int, clocks: int) -> None:
        super().__init__(
            f"the world did not answer agent {agent} within {clocks} clocks (acting.deadline), which "
            "ended the job; the counters show how many steps were made"
        )
        self.agent, self.clocks = agent, clocks
