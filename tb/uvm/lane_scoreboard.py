"""The lane's scoreboard, which checks each clock's timing and checks each result against the model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tb.uvm import lane_timing
from tb.uvm.components import EdgeScoreboard
from tb.uvm.lane_items import Checked, Readback, Setting
from tb.uvm.lane_pins import CLOCK, flag

from qstep import Hyperparameters, Rounding
from qstep.golden.lane import Model, Update
from qstep.spec.random import NoiseState
from qstep_rtl.timing import write_stage

__all__ = ["BatchFigures", "LaneScoreboard"]

_NOISE_AFTER_RESET = NoiseState(1, 0)


@dataclass(frozen=True, slots=True)
class BatchFigures:
    """Event counts of one batch, derived from the sampled signals."""

    name: str
    accepted: int
    offered_clocks: int
    forwarded: int
    held: int

    @property
    def throughput(self) -> float:
        """Updates per offered clock; 0 for a batch that offered nothing."""
        return self.accepted / self.offered_clocks if self.offered_clocks else 0.0


class LaneScoreboard(EdgeScoreboard):
    """Compares every clock, and each table that is read back, with :class:`qstep.golden.lane.Model`."""

    def build_phase(self) -> None:
        super().build_phase()
        self.transitions = 0
        self.readbacks = 0
        self.figures: list[BatchFigures] = []
        self._model = Model(self.config)
        self._hyper: Hyperparameters | None = None
        self._rows: list[list[int]] | None = None
        self._batch = "before the first setting"
        self._clocks = np.zeros(0, CLOCK)

    def add(self, clocks: NDArray[np.void]) -> None:
        self._clocks = np.append(self._clocks, clocks)

    def check_until(self, edge: int) -> None:
        cut = np.searchsorted(self._clocks["edge"], edge, side="right")
        self._check_clocks(self._clocks[:cut])
        self._clocks = self._clocks[cut:]

    def conclude(self) -> None:
        super().conclude()
        self._check_clocks(self._clocks)
        assert self.transitions, "no transition was checked"
        assert self.readbacks, "the table was never read back"

    def take_event(self, event: Setting | Readback) -> None:
        if isinstance(event, Setting):
            self._batch = event.batch
            if event.hyper is not None:
                self._hyper = event.hyper
                self._model.configure(event.hyper)
            if event.table is not None:
                self._model.load(event.table)
                self._rows = event.table.tolist()
            return
        expected = self._model.table
        wrong = np.argwhere(event.table != expected)
        assert not len(wrong), (
            f"{self._batch}: {len(wrong)} entries differ, the first at {wrong[0]}: "
            f"{event.table[tuple(wrong[0])]} instead of {expected[tuple(wrong[0])]}"
        )
        assert expected.tolist() == self._rows, "the scoreboard's own rows left the model's"
        assert event.noise == self._model.noise, (
            f"{self._batch}: noise is {event.noise}, not {self._model.noise}"
        )
        self.readbacks += 1

    def _check_clocks(self, clocks: NDArray[np.void]) -> None:
        resets = np.flatnonzero(clocks["reset"])
        start = 0
        for stop in [*(resets + 1), len(clocks)]:
            self._check_run(clocks[start:stop], reset=stop - 1 in resets)
            start = stop

    def _check_run(self, clocks: NDArray[np.void], reset: bool) -> None:
        """Check a run of clocks that ends with an idle lane or with a reset."""
        valid, ready, hold = (flag(clocks, name) for name in ("valid", "ready", "hold"))
        in_reset = clocks["reset"] != 0
        accepted, has_result = valid & ready & ~in_reset, flag(clocks, "res_valid")
        offers, results = clocks[accepted], clocks[has_result]
        assert len(results) <= len(offers), f"{self._batch}: more results than transitions"
        dropped = len(offers) - len(results)
        assert reset or not dropped, f"{self._batch}: {dropped} transitions have no result"
        self._same("ready", clocks, ready, ~hold)
        if len(results):
            self._check_transitions(clocks, offers, results, reset and dropped > 0)
        begun, ended = (np.cumsum(each) - each for each in (accepted, has_result))
        self._same("busy", clocks, flag(clocks, "busy"), begun > ended)
        if reset:
            self._model.noise = _NOISE_AFTER_RESET
        if valid.any():
            self.figures.append(
                BatchFigures(
                    self._batch,
                    len(offers),
                    int(valid.sum()),
                    int(flag(results, "forwarded").sum()),
                    int((hold & valid).sum()),
                )
            )

    def _check_transitions(
        self,
        clocks: NDArray[np.void],
        offers: NDArray[np.void],
        results: NDArray[np.void],
        reset: bool,
    ) -> None:
        issue = lane_timing.issue_edges(clocks, offers)
        offers, issue = offers[: len(results)], issue[: len(results)]
        config = self.config
        self._same("issue edge", offers, issue, lane_timing.expected_issue(config, offers, issue))
        self._same(
            "result edge", offers, results["edge"].astype(np.int64), issue + write_stage(config)
        )
        self._same(
            "forwarded",
            offers,
            flag(results, "forwarded"),
            lane_timing.forwarded(config, offers, issue),
        )
        expected = self._apply(offers)
        for name in ("value", "maximum", "greedy"):
            self._same(name, offers, results[name], expected[name])
        self._same("saturated", offers, flag(results, "saturated"), expected["saturated"])
        self.transitions += len(offers)
        assert self._hyper is not None
        self.ap.write(
            Checked(
                self._hyper,
                offers,
                issue,
                expected["ties"].tolist(),
                expected["rounded"],
                expected["surplus"],
                reset,
            )
        )

    def _apply(self, offers: NDArray[np.void]) -> dict[str, NDArray[np.int64]]:
        """Apply transitions to the model; return the lane's expected results and data for coverage."""
        assert self._hyper is not None, "transitions came before coefficients"
        assert self._rows is not None, "transitions came before a table"
        model, rows, c = self._model, self._rows, self._hyper.coefficients_for(self.config)
        alpha, beta, kappa = c.alpha, c.beta, c.kappa
        fixed_bias = 1 << (c.bits - 1) if self._hyper.rounding is Rounding.NEAREST else 0
        stochastic = self._hyper.rounding is Rounding.STOCHASTIC
        low_bits = (1 << c.bits) - 1
        names = ("state", "action", "reward", "next_state")
        columns = [offers[name].tolist() for name in names] + [flag(offers, "terminated").tolist()]
        out = []
        for state, action, reward, next_state, terminated in zip(*columns, strict=True):
            row, old = rows[next_state], rows[state][action]
            bias = model.noise.draw(c.bits) if stochastic else fixed_bias
            update = model.update(state, action, reward, next_state, terminated)
            maximum = update.maximum
            ties = 0
            for a, value in enumerate(row):
                if value == maximum:
                    ties |= 1 << a
            acc = beta * old + alpha * reward + kappa * (0 if terminated else maximum)
            rounded = (acc + bias) >> c.bits
            rows[state][action] = update.value
            out.append((*update, ties, rounded, acc & low_bits))
        results = (*Update._fields, "ties", "rounded", "surplus")
        return {
            name: np.array(column, np.uint64 if name == "ties" else np.int64)
            for name, column in zip(results, zip(*out, strict=True), strict=True)
        }

    def _same(
        self,
        what: str,
        where: NDArray[np.void],
        seen: NDArray[np.generic],
        right: NDArray[np.generic],
    ) -> None:
        wrong = np.flatnonzero(seen != right)
        if not len(wrong):
            return
        first = int(wrong[0])
        offer = dict(zip(CLOCK.fields or (), where[first].item(), strict=True))
        raise AssertionError(
            f"{self._batch}: {what} is {seen[first]}, not {right[first]}, for number {first} "
            f"({len(wrong)} such) with {self._hyper}: {offer}"
        )
