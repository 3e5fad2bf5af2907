"""Concludes the measurement of a cell: stores what was observed, judges it, and writes the summary last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from lab.analysis import expected_counts, observations, ramps, steadiness, verdict, window_figures, window_ratios
from lab.analysis.observations import Conditions
from lab.analysis.program_use import program_use
from lab.analysis.service_cost import generator_cost, of_all_pools, of_pools, service_cost
from lab.analysis.silence import silent_spans
from lab.formulas import stats
from lab.formulas.breakdown import breakdown
from lab.reporting import formatting
from lab.running.measurement import Measurement
from lab.running.testbed import Testbed
from lab.running.turn_taking import calls_made
from lab.runtimes import host
from lab.spec import prediction, sample
from lab.storage import run_folder
from lab.storage.cell_folder import CellFolder
from lab.telemetry.served import Served


def keep_observations(measurement: Measurement) -> None:
    """Store the samples and the metrics of a cell, and the figures of its windows where it took turns."""
    cell, folder, observed = measurement.cell, measurement.folder, measurement.observed
    folder.keep_samples(observed.result.cut, observed.result.stopped)
    metrics = observations.metrics(observed.result, observed.telemetry)
    folder.keep_metrics(metrics)
    if cell.load.windows > 1:
        samples = steady_samples(measurement)
        folder.keep("windows", {"windows": window_figures.of_windows(observed.windows, cell.load, samples, metrics)})


def steady_samples(measurement: Measurement) -> pd.DataFrame:
    """What the steadiness of a cell's load is judged by; empty where that is never steady, or nothing was answered."""
    pieces = measurement.folder.measured_pieces(steadiness.COLUMNS) if measurement.cell.load.steady_span_s else ()
    samples = _joined(pieces)
    # A file without rows has no pieces, and what follows asks for columns.
    return samples if len(samples) else sample.SCHEMA.empty_table().select(steadiness.COLUMNS).to_pandas()


def _joined(pieces: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Pieces as one, with text as categories; column by column, so that hardly more is held than the result.

    Joined as frames they would be held twice, and pandas makes objects of text where pieces have not all the same.
    """
    parts: dict[str, list[Any]] = defaultdict(list)
    for piece in pieces:
        for name, column in piece.items():
            is_number = pd.api.types.is_numeric_dtype(column.dtype)
            parts[str(name)].append(column.to_numpy(copy=True) if is_number else column.astype("category").array)
    columns: dict[str, Any] = {}
    for name in list(parts):
        of_column = parts.pop(name)
        is_text = isinstance(of_column[0], pd.Categorical)
        columns[name] = union_categoricals(of_column) if is_text else np.concatenate(of_column)
    return pd.DataFrame(columns, copy=False)


def conclude(testbed: Testbed, measurement: Measurement, others: list[str], turned: list[CellFolder]) -> None:
    """Judge a cell by what was observed and stored of it, and write the summary last.

    Args:
        others: other runs of this lab that were in progress when the cell began, or began meanwhile.
        turned: the cells that took turns with it, whose observations are stored.

    """
    cell, folder, observed = measurement.cell, measurement.folder, measurement.observed
    metrics = observations.metrics(observed.result, observed.telemetry)
    summary = stats.summarise_pieces(folder.measured_pieces(stats.SUMMARISED), from_planned=cell.load.independent)
    by_name = expected_counts.NameCounts.of(folder.measured_pieces(expected_counts.NameCounts.COLUMNS))
    variant = testbed.plan.scenario.variant(cell.variant)
    named = {request.name for request in testbed.plan.scenario.requests}
    begun, counts = observed.result.begun, observed.counts or Served()
    conditions = Conditions(
        cpu_decides=testbed.plan.cpu_decides,
        entry=testbed.plan.scenario.entry,
        owned_cores=testbed.cores.owned,
        ceiling_rps=testbed.ceiling_rps(cell),
        succeeded_expected=expected_counts.succeeded_expected(by_name, begun),
        answers_expected=expected_counts.answers_expected(testbed.plan.scenario.requests, by_name, begun, counts),
        calls_expected=expected_counts.calls_expected(
            calls_made(testbed.plan, cell), by_name, begun, variant.guarded, counts.refused
        ),
        called_services=[component.name for component in testbed.plan.components if not component.database],
        unknown_names=sorted(by_name.sent.keys() - named),
        slow_connects=observations.slow_connects(folder.measured_pieces(["connect_us"])),
        backlog_set=testbed.plan.limits_of(cell.variant).accept_count is not None,
        others=list(dict.fromkeys([*others, *run_folder.others_running(testbed.run)])),
        # Of a load that was broken off before it began no time is known.
        silent=silent_spans(metrics, folder.measured_pieces) if observed.result.unix_start else {},
        rounds=window_figures.by_round(*map(window_ratios.windows_of, (folder, *turned))) if turned else {},
        sends=observations.sends(folder.measured_pieces, cell.load, summary.elapsed_s),
        over_tls=variant.url.startswith("https"),
        interrupts_in_programs=host.interrupts_in_programs(),
        cpus=testbed.cores.cpus,
    )
    evidence = observations.evidence(observed, conditions, cell.load, summary, steady_samples(measurement))
    folder.keep("evidence", evidence.as_json())
    right, steady = summary.requests - sum(summary.errors.values()), prediction.is_steady(testbed.plan, cell)
    span = (summary.began_s, summary.began_s + summary.elapsed_s)
    pools = of_pools(metrics, *span, summary.requests, folder.read("limits"))
    judged = verdict.judge(evidence, summary, by_name.answered.total())
    folder.keep(
        "summary",
        {
            **asdict(summary),
            **breakdown(
                folder.measured_pieces,
                summary.elapsed_s,
                cell.load.independent,
                testbed.plan.scenario.requests_a_session,
            ),
            **service_cost(metrics, *span, summary.requests, right),
            **generator_cost(metrics, *span, summary.requests),
            **of_all_pools(pools),
            **({"pools": pools} if pools else {}),
            **program_use(metrics),
            **({"ramp": course.as_json()} if (course := ramps.result_of(folder, steady)) else {}),
            "predicted_mean_s": prediction.predict(testbed.plan, cell),
            "verdict": judged.word,
            "reasons": list(judged.reasons),
        },
    )
    testbed.reporter.say(
        f"  {cell.id}: {judged.word} {' '.join(judged.reasons)}", judged.word, formatting.COLOURS[judged.word]
    )
