"""A network as an ONNX model, which needs neither QStep nor PyTorch."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from qstep._io import extras
from qstep._io.files import json_text

__all__ = ["to_onnx"]


def to_onnx(module: nn.Module, example: Tensor, output: str, report: Mapping[str, Any]) -> bytes:
    """Return the bytes of an ONNX model that computes the same as a module, for any batch size.

    Parameters
    ----------
    module : torch.nn.Module
        The module, on the CPU.
    example : Tensor
        An input of the module with at least two observations; it defines the dtype and shape of the
        input ``observation``.
    output : str
        Name of the model's output.
    report : mapping
        Plain values, stored as JSON in the metadata entry ``report``.

    Raises
    ------
    ToolMissingError
        The extra ``onnx`` is not installed.
    """
    extras.load("onnxscript", "onnx")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it warns that torchvision is absent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's exporter calls deprecated functions
        program = torch.onnx.export(
            module.eval(),
            (example,),
            input_names=["observation"],
            output_names=[output],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    for node in program.model.graph:
        node.metadata_props.clear()  # PyTorch's stack traces, with paths of this machine
    program.model.metadata_props["report"] = json_text(report, indent=None)
    file: bytes = program.model_proto.SerializeToString()
    return file
