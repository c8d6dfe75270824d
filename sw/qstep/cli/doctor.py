"""`qstep doctor`: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text

from qstep.cli._console import console
from qstep.cli._json import JsonOutput, json_option
from qstep.cli._room import room_for
from qstep.doctor import Finding, examine, is_ready

__all__ = ["command"]


@click.command()
@json_option("the findings")
def command(json_output: JsonOutput) -> None:
    """Show what is installed, what is missing and how to get it.

    The exit status is 0 if the simulated accelerator can run here, otherwise 1.
    """
    findings = examine()
    ready = is_ready(findings)
    report = {"ready": ready, "findings": [asdict(finding) for finding in findings]}
    with room_for(json_output.file):
        json_output.tell(report, lambda: _show(findings, ready))
    sys.exit(0 if ready else 1)


def _show(findings: list[Finding], ready: bool) -> None:
    out = console()
    table = Table("what", "here", "needed by", box=None, pad_edge=False)
    for finding in findings:
        absent = Text("missing", "red") if finding.required else Text("none", "yellow")
        table.add_row(finding.name, finding.found or absent, finding.needed_by)
    out.print(table)
    lacking = [finding for finding in findings if finding.found is None]
    if lacking:
        out.print("\nHow to get the rest:")
    for finding in lacking:
        out.print(f"  {finding.name}: {finding.remedy}", soft_wrap=True)
    verdict = "can run here" if ready else "cannot run here yet: see what is missing"
    out.print(f"\nLearning on the simulated accelerator {verdict}.")
