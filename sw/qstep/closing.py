"""What is closed at the end of a ``with`` block: every device, of transitions or of agents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing(ABC):
    """Closes itself at the end of a ``with`` block, however that ends."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held; calling it twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
