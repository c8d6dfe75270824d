"""Intercepts PyTorch's operations, for tests that count some of them."""

from abc import ABC, abstractmethod
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["Calls"]


class Calls(TorchDispatchMode, ABC):
    """Counts the operations in its `with` block, and passes each one to :meth:`note`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self.calls += 1
        self.note(func.overloadpacket.__name__, args, kwargs, result)
        return result

    @abstractmethod
    def note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Process an operation that has just been executed."""
