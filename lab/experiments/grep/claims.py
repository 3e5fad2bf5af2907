"""The claim that a Java program with a thread a file is ten times as fast as grep: with equal scope, and as published.

The published pair does not search the same files, so its times are shown and not compared. What is compared prints the
same lines, which is proved before anything is timed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lab.experiments.grep.scenario import FEW_LARGE, MANY_SMALL, MIXED, TEXT
from lab.experiments.reproduction.judging import NEAR, alike, decide, mean_s, ratios, variant_pairs
from lab.experiments.reproduction.publication import NOT_JUDGED, Claim, Part, Publication, Repeat, ReproducedRow
from lab.spec.corpus import COLD, WARM
from lab.spec.options import Options
from lab.spec.scenario import Value

PUBLISHED_RATIO = 10
MEGABYTES, DURATION_S = 256, 2.0
GREP, GREP_C, THREADS, VIRTUAL, ONE = "grep-utf8", "grep-c", "java-threads", "java-virtual", "java-one"
PUBLISHED_GREP, PUBLISHED_JAVA = "grep-published", "java-published"
LARGE, SMALL, ONLY_TEXT = "few large files", "many small files", "only .txt files"
LARGE_FROM_DISK, SMALL_FROM_DISK = f"{LARGE}, from the disk", f"{SMALL}, from the disk"
FROM_DISK = (GREP, GREP_C, ONE, THREADS, VIRTUAL)


def read_bytes(repeat: Repeat) -> float | None:
    """What an execution asked the kernel to read."""
    return repeat.figures.get("read_bytes")


def read_as_much(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether both programs of the published pair read the same amount, where not all files end with .txt.

    Programs that search the same files do; others need not differ in it, so that it can refute and hardly confirm.
    """
    pairs = [pair for pair in variant_pairs(rows, PUBLISHED_JAVA, PUBLISHED_GREP) if pair[0].part != ONLY_TEXT]
    return decide(alike(pairs, read_bytes))


def as_published(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether the published pair differs tenfold where all files end with .txt; not judged where others are there.

    Times of programs that do not search the same are not compared.
    """
    pairs = [pair for pair in variant_pairs(rows, PUBLISHED_GREP, PUBLISHED_JAVA) if pair[0].part == ONLY_TEXT]
    if not any(row.repeats for pair in pairs for row in pair):
        why = "Where other files are among those that end with .txt the two do not search the same"
        return NOT_JUDGED, f"{why}, so their times say nothing of their speed: see below."
    word, evidence = decide(ratios(pairs, mean_s, PUBLISHED_RATIO, math.inf))
    return word, f"Where all files end with .txt, as elsewhere the two do not search the same: {evidence}"


def ten_times(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether grep takes ten times as long as Java with a thread a file, of equal scope."""
    return decide(ratios(variant_pairs(rows, GREP, THREADS), mean_s, PUBLISHED_RATIO, math.inf))


def faster(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether grep takes longer than Java with a thread a file, of equal scope."""
    return decide(ratios(variant_pairs(rows, GREP, THREADS), mean_s, 1 + NEAR, math.inf))


def threads_win(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether the Java program takes longer with one thread than with one a file."""
    return decide(ratios(variant_pairs(rows, ONE, THREADS), mean_s, 1 + NEAR, math.inf))


def virtual_alike(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether virtual threads take as long as platform threads, which wait for files as well."""
    return decide(alike(variant_pairs(rows, VIRTUAL, THREADS), mean_s))


def reading_alike(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether it takes as long whichever way files are read."""
    others = [f"{threads}-{reading}" for threads in (THREADS, VIRTUAL) for reading in ("random", "nio")]
    pairs = [pair for other in others for pair in variant_pairs(rows, other, other.rpartition("-")[0])]
    return decide(alike(pairs, mean_s))


def locale_alike(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether grep takes as long in UTF-8 as in the C locale, for a word of plain letters."""
    return decide(alike(variant_pairs(rows, GREP, GREP_C), mean_s))


def _part(name: str, corpus: str, content: str = MIXED, cache: str = WARM, variants: Sequence[str] = ()) -> Part:
    parameters: dict[str, Value] = {"corpus": corpus, "content": content, "megabytes": MEGABYTES, "cache": cache}
    return Part(
        name,
        "grep",
        Options(variants=variants, users=(1,), duration=DURATION_S, parameters=parameters),
        scenario="grep",
    )


GREP_ = Publication(
    name="grep",
    title=f"A word in {MEGABYTES} MiB of files: grep, ripgrep, and Java with a thread a file",
    scenario="grep",
    parts=(
        _part(LARGE, FEW_LARGE),
        _part(SMALL, MANY_SMALL),
        _part(ONLY_TEXT, FEW_LARGE, TEXT, variants=(PUBLISHED_GREP, PUBLISHED_JAVA, GREP, THREADS)),
        _part(LARGE_FROM_DISK, FEW_LARGE, cache=COLD, variants=FROM_DISK),
        _part(SMALL_FROM_DISK, MANY_SMALL, cache=COLD, variants=FROM_DISK),
    ),
    claims=(
        Claim("As published: both programs read as much, as they would if they searched the same.", read_as_much),
        Claim("As published: Java with a thread a file takes a tenth of grep's time.", as_published),
        Claim("With equal scope, Java with a thread a file takes a tenth of grep's time.", ten_times),
        Claim("With equal scope, Java with a thread a file is faster than grep.", faster),
        Claim("A thread a file makes the Java program faster than one thread.", threads_win),
        Claim("Virtual threads take as long as platform threads.", virtual_alike),
        Claim(
            "Buffered reading (8 KiB) takes as long as random-access and NIO reading of 256 KiB at once.", reading_alike
        ),
        Claim("GNU grep takes as long in UTF-8 as in the C locale.", locale_alike),
    ),
    repeated_within_s=1080.0,  # five repeats
)

PUBLICATIONS = (GREP_,)
