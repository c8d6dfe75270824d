"""Closing at the end of a ``with`` block: the base of every device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing(ABC):
    """Closes itself at the end of a ``with`` block, also after an error."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; calling it twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
