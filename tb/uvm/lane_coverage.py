"""Functional coverage of the lane; its stimuli must hit every bin."""

from collections.abc import Hashable
from itertools import product

import numpy as np
from numpy.typing import NDArray
from tb.uvm import lane_timing
from tb.uvm.components import Coverage
from tb.uvm.covergroup import Covergroup
from tb.uvm.lane_items import Checked
from tb.uvm.lane_pins import flag

from qstep import Config, Rounding
from qstep.spec.fixed import greatest_coefficient
from qstep_rtl.timing import write_stage

__all__ = ["LaneCoverage", "lane_bins"]

_ALL_PAIRS_UP_TO = 512
_ALL_TIES_UP_TO = 4
_RELATIONS = ("same pair", "other action", "next row", "self loop")


def lane_bins(config: Config) -> dict[str, list[Hashable]]:
    """Return the bins of a configuration.

    The distance of a hazard is the number of clocks between the issues of its two transitions. No hazard
    can occur at a distance below `loop_depth`, because the lane holds the second transition; instead,
    there are bins for held clocks. Another action of the same state is not a hazard.
    """
    modes = [mode.value for mode in Rounding]
    distances = range(1, write_stage(config) + 2)
    bins: dict[str, list[Hashable]] = {
        "hazard": [
            (distance, relation)
            for distance, relation in product(distances, _RELATIONS)
            if distance >= config.loop_depth or relation == "other action"
        ],
        "saturation": list(product(modes, ("none", "up", "down"))),
        "surplus": list(
            product(modes, ("negative", "positive"), ("zero", "below", "tie", "above"))
        ),
        "terminated": ["no", "yes", "yes with a hazard"],
        "gap": [0, 1, 2, "3 or more"],
        "alpha": ["0", "least", "half", "most", "other"],
        "kappa": ["0", "between", "alpha"],
        "reward": ["least", "-1", "0", "greatest", "other"],
        "reset": ["while busy"],
        "pair": _pair_bins(config),
        "ties": _tie_bins(config),
    }
    if config.loop_depth > 1:
        bins["held"] = list(product(range(1, config.loop_depth), ("same pair", "next row")))
    return bins


def _pair_bins(config: Config) -> list[Hashable]:
    if config.states * config.actions <= _ALL_PAIRS_UP_TO:
        return list(product(range(config.states), range(config.actions)))
    return list(product((0, config.states - 1), (0, config.actions - 1)))


def _tie_bins(config: Config) -> list[Hashable]:
    if config.actions <= _ALL_TIES_UP_TO:
        return list(range(1, 1 << config.actions))
    return ["one", "first and last", "two", "three or more", "all"]


def _class_of_ties(ties: int, actions: int) -> Hashable:
    if actions <= _ALL_TIES_UP_TO:
        return ties
    count = ties.bit_count()
    if count == actions:
        return "all"
    if ties == 1 | 1 << (actions - 1):
        return "first and last"
    return {1: "one", 2: "two"}.get(count, "three or more")


class LaneCoverage(Coverage):
    """Samples the transitions that the scoreboard has checked."""

    def build_phase(self) -> None:
        self.config: Config = self.cdb_get("CONFIG")
        self.group = Covergroup(lane_bins(self.config))

    def write(self, checked: Checked) -> None:
        self._coefficients(checked)
        self._hazards(checked)
        self._values(checked)
        if checked.reset:
            self.group.hit("reset", "while busy")

    def _count(self, point: str, labels: NDArray[np.generic] | list[Hashable]) -> None:
        values, counts = np.unique(np.asarray(labels), return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self.group.hit(point, value, count)

    def _coefficients(self, checked: Checked) -> None:
        c = checked.hyper.coefficients_for(self.config)
        most = greatest_coefficient(c.bits)
        names = {0: "0", 1: "least", -(-most // 2): "half", most: "most"}
        self.group.hit("alpha", names.get(c.alpha, "other"))
        self.group.hit(
            "kappa", "0" if c.kappa == 0 else "alpha" if c.kappa == c.alpha else "between"
        )

    def _hazards(self, checked: Checked) -> None:
        offers, issue, config = checked.offers, checked.issue, self.config
        last = write_stage(config) + 1
        hazard = np.zeros(len(offers), np.bool_)
        for lag in range(1, min(last + 1, len(offers))):
            distance = issue[lag:] - issue[:-lag]
            near = distance <= last
            pair, row = lane_timing.same_entry(offers, lag), lane_timing.same_row(offers, lag)
            state = offers["state"][lag:] == offers["state"][:-lag]
            hazard[lag:] |= near & (pair | row)
            kinds = (pair & ~row, state & ~pair & ~row, row & ~state, row & state)
            for relation, which in zip(_RELATIONS, kinds, strict=True):
                for d, count in zip(
                    *np.unique(distance[near & which], return_counts=True), strict=True
                ):
                    self.group.hit("hazard", (int(d), relation), count)
            if lag < config.loop_depth:
                held = issue[lag:] - offers["edge"][lag:].astype(np.int64) - 1
                for d in range(1, config.loop_depth):
                    for name, which in (("same pair", pair), ("next row", row)):
                        self.group.hit("held", (d, name), (which & (held == d)).sum())
        terminated = flag(offers, "terminated")
        self.group.hit("terminated", "no", (~terminated).sum())
        self.group.hit("terminated", "yes", (terminated & ~hazard).sum())
        self.group.hit("terminated", "yes with a hazard", (terminated & hazard).sum())
        # A gap is counted between acceptances in one batch; waiting for a held transition is not a gap.
        free = np.maximum(offers["edge"][:-1].astype(np.int64), issue[:-1] - 1)
        gaps = np.minimum(offers["edge"][1:] - free - 1, 3)
        for gap, count in zip(*np.unique(gaps, return_counts=True), strict=True):
            self.group.hit("gap", int(gap) if gap < 3 else "3 or more", count)

    def _values(self, checked: Checked) -> None:
        assert checked.hyper.rounding is not None
        offers, config, mode = checked.offers, self.config, checked.hyper.rounding.value
        low, high = config.format.minimum, config.format.maximum
        rounded, surplus = checked.rounded, checked.surplus
        for name, which in (
            ("none", (rounded >= low) & (rounded <= high)),
            ("up", rounded > high),
            ("down", rounded < low),
        ):
            self.group.hit("saturation", (mode, name), which.sum())
        tie = 1 << (config.coefficient_bits - 1)
        for sign, of_sign in (("negative", rounded < 0), ("positive", rounded >= 0)):
            for name, which in (
                ("zero", surplus == 0),
                ("below", (surplus > 0) & (surplus < tie)),
                ("tie", surplus == tie),
                ("above", surplus > tie),
            ):
                self.group.hit("surplus", (mode, sign, name), (of_sign & which).sum())
        reward = offers["reward"]
        special = {"least": low, "-1": -1, "0": 0, "greatest": high}
        for name, value in special.items():
            self.group.hit("reward", name, (reward == value).sum())
        self.group.hit("reward", "other", (~np.isin(reward, list(special.values()))).sum())
        listed = self.group.hits["pair"]
        pairs, counts = np.unique(
            np.stack([offers["state"], offers["action"]], axis=1), axis=0, return_counts=True
        )
        for pair, count in zip(map(tuple, pairs.tolist()), counts.tolist(), strict=True):
            if pair in listed:
                self.group.hit("pair", pair, count)
        self._ties(checked.ties)

    def _ties(self, ties: list[int]) -> None:
        seen: dict[Hashable, int] = {}
        for subset in ties:
            label = _class_of_ties(subset, self.config.actions)
            seen[label] = seen.get(label, 0) + 1
        for label, count in seen.items():
            self.group.hit("ties", label, count)
