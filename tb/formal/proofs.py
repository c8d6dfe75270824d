"""All proofs of the link, the farm, the interleaved lane and the lane, by name."""

from dataclasses import replace

from tb.formal.proof import Proof
from tb.planted import faults

__all__ = ["FAST", "PROOFS"]


def _files(names: str) -> tuple[str, ...]:
    return tuple(name if name.endswith(".v") else f"{name}.sv" for name in names.split())


# The two numbers after the files are the clocks of the induction, and the clocks after power-up
# within which all covers are reached.
_LINK = (
    Proof(
        "cobs",
        "the link's COBS decoder undoes every legal stuffing, and tells frames that were cut off",
        _files("cobs_decoder.v cobs_proof"),
        *(1, 10),
    ),
    Proof(
        "encoder",
        "the link's COBS encoder sends a legal stuffing of exactly the bytes that it was given",
        _files("cobs_encoder.v encoder_proof"),
        *(2, 20),
        memories=True,
    ),
    Proof(
        "session",
        "a session carries out each request once, in order, none of another session or after "
        "a refusal",
        _files("session.v session_proof"),
        *(14, 60),
    ),
    Proof(
        "crc",
        "the link's CRC is CRC-32 bit by bit; a frame with its own CRC behind it matches",
        _files("crc32.v crc_proof"),
        *(6, 10),
    ),
    Proof(
        "handler",
        "STORE, FETCH, RUN, STOP and PROGRESS do what the link says, once, or change nothing: "
        "2 lanes",
        _files("agents_handler.v handler_proof"),
        *(3, 20),
    ),
    Proof(
        "commands",
        "each good frame gets one answer, behind its last byte, and only what passed its "
        "checks is carried out: agents in 2 lanes",
        _files("commands_pkg commands.v commands_frames commands_proof"),
        *(2, 90),
    ),
    Proof(
        "commands-lane",
        "each good frame gets one answer, behind its last byte, and only what passed its "
        "checks is carried out: a lane",
        _files("commands_pkg commands_lane.v commands_frames commands_lane_proof"),
        *(3, 43),
    ),
    Proof(
        "access",
        "REWARDS, CLEAR, LOAD and READ move exactly the values that they name, once, or none: "
        "12 states, 3 actions, 13 bits",
        _files("table_access.v access_proof"),
        *(2, 20),
    ),
    Proof(
        "records",
        "the transitions of an APPLY are handed over once, in order, up to the first illegal "
        "record: 12 states, 3 actions, 13 bits",
        _files("record_decoder.v records_proof"),
        *(2, 12),
        memories=True,
    ),
    Proof(
        "head",
        "the head of a chain sends each request once, to lane k behind k zeros, and gives the "
        "word that comes back: 5 lanes, indices of 20 bits",
        _files("chain_head.v head_proof"),
        *(2, 118),
    ),
    Proof(
        "node",
        "a node takes the frames for its lane, passes on the others, and returns answers "
        "unchanged: indices of 18 bits",
        _files("qs_chain_pkg qs_chain_node node_proof"),
        *(4, 90),
    ),
    Proof(
        "crossing",
        "the crossing between the clocks of link and lanes carries each order once, and busy "
        "spans each run, whatever the clocks are: 2 lanes",
        _files("crossing.v crossing_proof"),
        *(1, 40),
    ),
)

_AGENTS = (
    Proof(
        "agents",
        "agents touch no table but their own: 3 agents, 8 states, 2 actions",
        _files(
            "qs_pkg qs_map_pkg qs_agents_pkg qs_delay qs_max_tree qs_draw qs_epsilon qs_alias "
            "qs_expectation qs_ram qs_table qs_agent_ram qs_agent_rows qs_agent_budget "
            "qs_agent_order qs_agent_counters qs_agent_choice qs_agent_product qs_agent_update "
            "qs_sum_tree qs_agent_bus qs_agent_slots qs_agent_flags qs_agent_episode "
            "qs_agent_place qs_agent_explore qs_agent_write qs_agent_read qs_epsilon_constant "
            "qs_agents agents_proof"
        ),
        *(24, 160),
        parameters={"Agents": 3},
        free_products=True,
        rtl_assertions=False,
    ),
    Proof(
        "budget",
        "a RUN of n makes n steps of each agent, n up to 2^48 - 1: 4 agents, 16 slots",
        _files(
            "qs_pkg qs_map_pkg qs_agents_pkg qs_agent_slots qs_agent_ram qs_agent_budget budget_proof"
        ),
        *(3, 140),
        parameters={"Agents": 4},
    ),
    Proof(
        "counters",
        "the counters of each of 16 agents are exact sums; a read is of one moment: rewards "
        "of 16 bits",
        _files(
            "qs_pkg qs_map_pkg qs_agents_pkg qs_ram qs_agent_ram qs_agent_counters counters_proof"
        ),
        *(6, 60),
        memories=True,
    ),
    Proof(
        "epsilon",
        "epsilon of each of 16 agents falls as the model says, after each step or episode",
        _files("qs_pkg qs_map_pkg qs_agents_pkg qs_agent_ram qs_ram qs_epsilon epsilon_proof"),
        *(2, 44),
        memories=True,
        rtl_assertions=False,
    ),
    Proof(
        "world",
        "qs_world answers as its tables say: 500 states, 6 actions, 4 outcomes, 512 starts, "
        "16 bits",
        _files("qs_pkg qs_map_pkg qs_agents_pkg qs_delay qs_ram qs_alias qs_world world_proof"),
        *(4, 12),
        memories=True,
    ),
    *(
        Proof(
            name,
            "each of 16 agents draws from its own word: xorshift, five rounds of Simon, never 0; "
            f"{fraction} bits for rounding",
            _files("qs_pkg qs_map_pkg qs_agents_pkg qs_agent_ram qs_draw draw_proof"),
            *(4, 16),
            parameters={"CoeffFraction": fraction},
            memories=True,
            rtl_assertions=False,
        )
        for name, fraction in (("draw", 15), ("draw-24", 24))
    ),
    Proof(
        "explore",
        "agents explore if the draw is below epsilon, with action (draw * 6) >> 16",
        _files("qs_pkg qs_map_pkg qs_agents_pkg qs_delay qs_agent_explore explore_proof"),
        *(8, 10),
    ),
    *(
        Proof(
            name,
            "qs_agent_update is the formula on the operands of a slot: 16 bits, "
            f"{fraction} fractional bits of coefficients, any product",
            _files("qs_pkg qs_agent_product qs_agent_update agent_update_proof"),
            *(10, 12),
            parameters={"CoeffFraction": fraction},
            free_products=True,
        )
        for name, fraction in (("agent-update", 15), ("agent-update-22", 22))
    ),
    *(
        Proof(
            f"agent-update-planes-{planes}",
            "qs_agent_update adds one exact increment to the entry of each plane, and saturates: "
            f"{planes} planes, 8 bits",
            _files("qs_pkg qs_agent_product qs_agent_update agent_update_proof"),
            *(10, 13),
            parameters={"Width": 8, "Planes": planes},
        )
        for planes in (2, 4)
    ),
    Proof(
        "slots",
        "each of 16 agents has one slot in 16 clocks, which passes through the stages one by one",
        _files("qs_pkg qs_map_pkg qs_agents_pkg qs_agent_slots slots_proof"),
        *(1, 60),
    ),
    Proof(
        "agent-ram",
        "qs_agent_ram returns the word that an agent has: 16 agents, 16 bits",
        _files("qs_pkg qs_map_pkg qs_agents_pkg qs_agent_ram agent_ram_proof"),
        *(2, 6),
        memories=True,
    ),
    Proof(
        "rows",
        "qs_agent_rows gives what was written last: 1000 states, 3 actions, 16 bits",
        _files("qs_ram qs_agent_rows rows_proof"),
        *(2, 10),
        memories=True,
    ),
)

_PLANES = (
    Proof(
        "queue",
        "each entry of the evaluation queue leaves once, in order, with the reward of the oldest match: "
        "4 entries, 2 keys",
        _files("qs_pkg qs_planes_pkg qs_ram qs_bus_fifo qs_oldest qs_evaluation_queue queue_proof"),
        *(2, 40),
    ),
)


def _learner(algorithm: str, planes: int) -> str:
    return algorithm if planes == 1 else f"{algorithm} with {planes} planes"


def _order(name: str, algorithm: int, planes: int = 1) -> Proof:
    return Proof(
        f"order-{name}" if planes == 1 else f"order-planes-{planes}",
        "agents of a shared table learn as if one after the other, "
        f"{_learner(name, planes)}: 16 agents, any entry",
        _files("qs_pkg qs_map_pkg qs_agents_pkg qs_agent_slots qs_agent_order order_proof"),
        *(1, 140),
        parameters={"Algorithm": algorithm, "Planes": planes},
        rtl_assertions=False,
    )


def _choice(name: str, algorithm: int, clocks: int, planes: int = 1) -> Proof:
    return Proof(
        f"choice-{name}" if planes == 1 else f"choice-planes-{planes}",
        f"the next action and the target of {_learner(name, planes)} are those of the model: "
        "3 actions, 16 bits",
        _files(
            "qs_pkg qs_map_pkg qs_agents_pkg qs_delay qs_max_tree qs_sum_tree qs_expectation "
            "qs_agent_choice choice_proof"
        ),
        *(clocks, 14),
        parameters={"Algorithm": algorithm, "Planes": planes},
        rtl_assertions=False,
        free_products=True,
    )


def _agent_lane(
    name: str, algorithm: int, clocks: int, planes: int = 1, states: int = 4096, width: int = 16
) -> Proof:
    return Proof(
        f"agent-lane-{name}" if planes == 1 else f"agent-lane-planes-{planes}",
        "each agent acts and learns as if alone, step after step, with the stages of "
        f"{_learner(name, planes)}: 16 agents, {states} states, 4 actions, {width} bits, "
        "any policy, target, update, draws and world",
        _files(
            "qs_pkg qs_map_pkg qs_agents_pkg qs_delay any/drawn any/summed any/policy "
            "any/agent_value any/qs_draw any/qs_agent_ram any/qs_agent_rows any/qs_agent_slots "
            "any/qs_agent_budget any/qs_agent_choice any/qs_agent_update any/qs_sum_tree "
            "qs_max_tree qs_ram qs_table qs_epsilon qs_epsilon_constant qs_agent_order "
            "qs_agent_counters qs_agent_bus qs_agent_flags qs_agent_episode qs_agent_place "
            "qs_agent_explore qs_agent_write qs_agent_read qs_agents agent_lane_proof"
        ),
        *(clocks, 120),
        parameters={"States": states, "Width": width, "Algorithm": algorithm, "Planes": planes},
        free_products=True,
        memories=True,
        rtl_assertions=False,
        apart=True,
    )


_LANE = (
    Proof(
        "table",
        "qs_table gives what was written last, from both copies: 1000 states, 3 actions, 16 bits",
        _files("qs_pkg qs_ram qs_table table_proof"),
        *(2, 10),
        parameters={"States": 1000, "Actions": 3, "Width": 16},
        memories=True,
    ),
    Proof(
        "tree",
        "qs_max_tree gives the maximum and the lowest action that has it: 5 actions, 16 bits, "
        "any mask",
        _files("qs_pkg qs_max_tree tree_proof"),
        *(5, 10),
        parameters={"Actions": 5, "Width": 16},
    ),
)


def _update(loop_depth: int, fraction: int = 15) -> Proof:
    return Proof(
        f"update-16-{loop_depth}" if fraction == 15 else f"update-16-{loop_depth}-{fraction}",
        "qs_update is the formula on the operands it is given and those in flight: 16 bits, "
        f"{fraction} fractional bits of coefficients, loop depth {loop_depth}, any product",
        _files("qs_pkg update_operands updated_value qs_update update_proof"),
        *(2 * loop_depth + 4, 20),
        parameters={"Width": 16, "CoeffFraction": fraction, "LoopDepth": loop_depth},
        free_products=True,
    )


def _lane(actions: int, loop_depth: int, clocks: int) -> Proof:
    return Proof(
        f"lane-{actions}x16-{loop_depth}",
        f"the lane is the sequential one: 1024 states, {actions} actions, 16 bits, "
        f"loop depth {loop_depth}, any update",
        _files(
            "qs_pkg update_operands any/qs_table any/updated_value any/qs_update qs_lane qs_hazard "
            "qs_max_tree qs_noise lane_proof"
        ),
        *(clocks, 40),
        parameters={"States": 1024, "Actions": actions, "Width": 16, "LoopDepth": loop_depth},
        free_products=True,
    )


_ALL = (
    *_LINK,
    *_AGENTS,
    *_PLANES,
    *(_order(*of) for of in (("q-learning", 0), ("expected-sarsa", 2), ("double-q", 3))),
    _order("q-learning", 0, planes=2),
    _choice("q-learning", 0, 6),
    _choice("sarsa", 1, 6),
    _choice("expected-sarsa", 2, 10),
    _choice("double-q", 3, 8),
    *(_choice("q-learning", 0, clocks, planes) for planes, clocks in ((2, 7), (3, 8), (4, 8))),
    _agent_lane("q-learning", 0, 37),
    _agent_lane("expected-sarsa", 2, 41),
    _agent_lane("double-q", 3, 38),
    _agent_lane("q-learning", 0, 39, planes=2, states=64, width=8),
    *_LANE,
    *(_update(loop_depth) for loop_depth in (1, 2, 3)),
    *(_update(loop_depth, 22) for loop_depth in (1, 2, 3)),
    *(_lane(2, *of) for of in ((1, 8), (2, 10), (3, 12))),
    _lane(3, 2, 11),
    *(_lane(4, *of) for of in ((1, 9), (2, 11), (3, 13))),
)
PROOFS = {proof.name: replace(proof, faults=faults(proof.name)) for proof in _ALL}
"""All proofs by name."""

FAST = (
    *("cobs", "crc", "handler", "node", "table", "tree", "update-16-1", "lane-2x16-1"),
    *("world", "choice-double-q", "choice-planes-2", "agent-update", "crossing"),
)
"""Names of the proofs that run in every test run."""
