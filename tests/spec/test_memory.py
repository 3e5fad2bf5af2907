"""What a run needs of a machine's memory: the same for cells and windows, and who is refused where there is less."""

from __future__ import annotations

import pytest

from lab.errors import LabError
from lab.experiments import find_scenario, scenarios
from lab.spec import attached, memory, planning
from lab.spec.machine import Machine
from lab.spec.options import Options
from lab.spec.plan import CELLS, Plan

# What a laptop sold with 8 GB has at least, after its graphics have taken their part.
LAPTOP = Machine(cores=4, memory_mb=7_400)


def planned(scenario: str, machine: Machine = LAPTOP, **options) -> Plan:
    """A plan for a machine."""
    return planning.make_plan(find_scenario(scenario), Options(seed=1, **options), machine)


def needed_mb(plan: Plan, machine: Machine = LAPTOP) -> int:
    """The most that a plan needs at any time."""
    return max(memory.needed_mb(plan, group, plan.peak_users, machine) for group in plan.groups)


def refusal(plan: Plan, machine: Machine) -> LabError:
    """How a machine is refused."""
    with pytest.raises(LabError) as error:
        memory.check(plan, plan.peak_users, machine)
    return error.value


@pytest.mark.parametrize("name", scenarios())
def test_no_scenario_is_refused_on_a_laptop_of_8_gb(name):
    """With the load, the limits and the variants that it has by default."""
    plan = planned(name)
    memory.check(plan, plan.peak_users, LAPTOP)


def test_heaps_without_a_limit_of_several_nodes_are_counted_once():
    """A limit that the JVM chooses is not what it uses: four nodes may each have a quarter of the machine."""
    one, four = (planned("delay", nodes=nodes, limits="default", variants=["mvc"]) for nodes in (1, 4))
    assert needed_mb(four) == needed_mb(one) + 3 * memory.BESIDES_HEAP_MB
    memory.check(four, four.peak_users, LAPTOP)


def test_servers_that_are_somewhere_else_need_no_memory_here():
    """Of --mysql-url and --mongo-url nothing is started."""
    plan = planned("chain-mongo")
    (at_once,) = {memory.needed_mb(plan, group, plan.peak_users, LAPTOP) for group in plan.groups}
    least = Machine(4, at_once - memory.DATABASE_MB["mongo"])
    memory.check(plan, plan.peak_users, least, {"mongo"})
    assert "1,536 for mongo" in str(refusal(plan, least))


def test_two_nodes_with_their_database_are_not_refused_on_a_laptop_of_8_gb():
    """As ``lab reproduce migration`` has them."""
    plan = planned("migration", nodes=2)
    memory.check(plan, plan.peak_users, LAPTOP)


def test_a_refusal_says_what_needs_how_much_and_what_needs_less():
    """Each part with its own memory, all of them with the sum."""
    plan, machine = planned("jwt", variants=["mvc"], users=[1024], workers=2), Machine(4, 4_000)
    error = refusal(plan, machine)
    assert str(error.problem) == (
        "This needs 4,892 MiB of memory, and this machine has 4,000 MiB: 2,560 for mvc (a heap of 2,048 and 512 "
        "outside it), 540 for its load (2 workers, 1,024 users), 768 for mysql, 1,024 for the lab and the system."
    )
    assert error.next_step == "Choose a smaller --heap-mb, fewer --users or fewer --workers."
    memory.check(plan, plan.peak_users, Machine(4, 4_892))
    assert needed_mb(plan) == 4_892


def test_databases_and_what_a_jvm_has_beside_its_heap_count_for_cells_too():
    """As they always have for windows: the same variant needs the same either way."""
    alone = planned("jwt", variants=["mvc", "webflux"], interleave=CELLS)
    together = planned("jwt", Machine(4, 20_000), variants=["mvc", "webflux"], interleave="windows")
    each_mb = memory.of_cell_mb(alone, alone.cells[0], alone.peak_users, LAPTOP)
    assert needed_mb(alone) == each_mb + memory.shared_mb(alone)
    assert needed_mb(together) == 2 * each_mb + memory.shared_mb(alone)
    assert memory.shared_mb(alone) == memory.DATABASE_MB["mysql"] + memory.OWN_MB


def test_where_windows_are_planned_they_are_not_refused():
    """What fits for the plan fits for the run: in all variants at once, and in batches."""
    for memory_mb in (8_000, 10_500):
        machine = Machine(4, memory_mb)
        plan = planned("jwt", machine, interleave="windows")
        memory.check(plan, plan.peak_users, machine)


def test_where_more_are_up_than_fit_all_of_them_are_named():
    """As where a run is resumed on a smaller machine."""
    plan = planned("jwt", Machine(4, 20_000), interleave="windows")
    error = refusal(plan, Machine(4, 8_000))
    assert error.problem.startswith("mvc, mvc-virtual and webflux are up at once, which needs 10,")
    assert error.next_step == "Choose a smaller --heap-mb, fewer --users, fewer --workers or --interleave cells."


def test_a_heap_that_is_left_to_the_jvm_is_a_quarter_of_the_machine():
    """It is no heap of nothing; and a smaller one needs other limits."""
    plan, machine = planned("delay", variants=["mvc"], limits="default", users=[10]), Machine(4, 2_000)
    error = refusal(plan, machine)
    assert "a heap of 500 and 512 outside it" in error.problem
    assert "a --heap-mb, with --limits equal" in error.next_step


def test_each_node_and_each_service_that_is_called_has_a_jvm_of_its_own():
    """Fewer nodes would need less."""
    one, two = (planned("delay", nodes=nodes, variants=["mvc"]) for nodes in (1, 2))
    assert needed_mb(two) - needed_mb(one) == 2048 + memory.BESIDES_HEAP_MB
    assert "2 nodes of mvc" in refusal(two, Machine(4, 3_000)).problem
    assert "fewer --nodes" in refusal(two, Machine(4, 3_000)).next_step
    chain = planned("chain", variants=["mvc"])
    called = [component for component in chain.components if component.module]
    each_mb = memory.CALLED_HEAP_MB + memory.BESIDES_HEAP_MB
    assert memory.shared_mb(chain) == memory.OWN_MB + len(called) * each_mb


def test_of_attached_services_and_programs_the_lab_has_no_heap():
    """A load needs a generator, a program not even that; what has no heap is not told to make it smaller."""
    url = "http://127.0.0.1:1/a"
    load = attached.make_plan([url], [], {}, Options(users=[1024], workers=2), LAPTOP)
    assert needed_mb(load) == memory.MASTER_MB + 2 * memory.WORKER_MB + memory.USER_KB + memory.OWN_MB
    assert "--heap-mb" not in refusal(load, Machine(4, 1_000)).next_step
    assert needed_mb(planned("grep")) == memory.OWN_MB
    memory.check(planned("grep"), 1, Machine(1, 500))


def test_users_on_other_machines_need_no_memory_here():
    """Of eight workers two are here, with a quarter of the users."""
    url = "http://127.0.0.1:1/a"
    options = Options(users=[8192], workers=2, remote_workers=6, bind="192.168.1.20")
    plan = attached.make_plan([url], [], {}, options, LAPTOP)
    assert needed_mb(plan) == memory.MASTER_MB + 2 * memory.WORKER_MB + 2 * memory.USER_KB + memory.OWN_MB


def test_a_tuned_pool_is_of_the_size_of_the_machine_that_is_planned_for():
    """Two connections a core, and one more."""
    pools = {planned("jwt", Machine(cores, 20_000), limits="tuned").limits_of("mvc").pool for cores in (2, 8)}
    assert pools == {5, 17}
