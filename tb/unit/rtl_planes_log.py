"""cocotb test: ``qs_planes`` answers requests recorded from Pythia in the same way as the model."""

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from tb.prefetch_log import PYTHIA, prefetch_log

from qstep.golden.planes_fast import FastPlanesModel
from qstep.spec.random import first_word


@cocotb.test()
async def all_requests_of_the_recording_are_answered_bit_for_bit(dut: Any) -> None:
    requests = prefetch_log().requests
    right = FastPlanesModel(PYTHIA).apply(requests)
    bits = (PYTHIA.rows - 1).bit_length()
    shifts = bits * np.arange(PYTHIA.all_planes)
    learns = requests.learns.tolist()
    rows, next_rows = (
        (own.astype(np.int64) << shifts).sum(axis=1).tolist()
        for own in (requests.rows, requests.next_rows)
    )
    actions, next_actions = requests.action.tolist(), requests.next_action.tolist()
    rewards = (requests.reward % (1 << PYTHIA.format.width)).tolist()
    answers = list(
        zip(right.action.tolist(), right.value.tolist(), right.explored.tolist(), strict=True)
    )
    stalls = float(cocotb.plusargs.get("stalls", 0.1))  # per stream, including the answers

    Clock(dut.clk_i, 10, unit="ns").start()
    dut.alpha_i.value = PYTHIA.coefficients.alpha
    dut.kappa_i.value = PYTHIA.coefficients.kappa
    dut.threshold_i.value, dut.word_i.value = PYTHIA.threshold, first_word(0, 0)
    dut.choose_valid_i.value = dut.learn_valid_i.value = dut.answer_ready_i.value = 0
    dut.learn_terminated_i.value = 0
    dut.rst_i.value = 1
    await FallingEdge(dut.clk_i)
    dut.rst_i.value = 0
    while not dut.learn_ready_o.value:
        await FallingEdge(dut.clk_i)

    at = taken = clocks = 0
    offered = [False, False]
    while taken < len(answers) or at < len(learns):
        # A choose request and the learn request that follows it can be offered in the same clock.
        choose = at < len(learns) and not learns[at]
        follows = at + choose
        learn = follows < len(learns) and learns[follows]
        for number, valid in enumerate((choose, learn)):
            offered[number] = valid and (offered[number] or random.random() >= stalls)
        if offered[0]:
            dut.choose_rows_i.value = rows[at]
            dut.choose_explore_i.value = actions[at] >= 0
            dut.choose_action_i.value = max(actions[at], 0)
        elif choose:
            offered[1] = False  # a learn request must not overtake a late choose request
        if offered[1]:
            dut.learn_rows_i.value, dut.learn_action_i.value = rows[follows], actions[follows]
            dut.learn_reward_i.value = rewards[follows]
            dut.learn_next_rows_i.value = next_rows[follows]
            dut.learn_next_action_i.value = next_actions[follows]
        dut.choose_valid_i.value, dut.learn_valid_i.value = offered
        ready = random.random() >= stalls
        dut.answer_ready_i.value = ready
        await Timer(1, "ns")
        accepted = (
            offered[0] and bool(dut.choose_ready_o.value),
            offered[1] and bool(dut.learn_ready_o.value),
        )
        at += sum(accepted)
        offered = [now and not done for now, done in zip(offered, accepted, strict=True)]
        if ready and dut.answer_valid_o.value:
            seen = (
                int(dut.answer_action_o.value),
                dut.answer_value_o.value.to_signed(),
                bool(dut.answer_explored_o.value),
            )
            assert seen == answers[taken], f"answer {taken} is {seen}, not {answers[taken]}"
            taken += 1
        await FallingEdge(dut.clk_i)
        clocks += 1
    holds = int(dut.holds_o.value)
    cocotb.log.info(f"{len(learns)} requests in {clocks} clocks, {holds} of them holds")
    assert holds > 0
