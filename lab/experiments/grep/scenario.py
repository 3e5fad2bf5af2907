"""The scenario ``grep``: programs that search files for a string, with one thread, or with one for each file."""

from __future__ import annotations

from lab.spec.corpus import COLD, WARM, Content, Corpus
from lab.spec.scenario import Parameter, Rehearsal, Scenario
from lab.spec.system import Variant
from lab.spec.workload import Closed

WORD = "namespace"
FEW_LARGE, MANY_SMALL = "few-large", "many-small"
TEXT, MIXED = "text", "mixed"
C, UTF8 = {"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}
PLATFORM, VIRTUAL, ONE = "platform", "virtual", "one"
# Of the pair that was published, each searches something else.
EVERYTHING, TEXT_FILES = "as published: every file, of binary ones the names", "as published: .txt only"
# Every byte of every file is searched, and a line is what stands between two line feeds, also in a binary file.
GNU_GREP = ("grep", "-raF", WORD, "{corpus}")
RIPGREP = ("rg", "--no-config", "--no-ignore", "--hidden", "--no-heading", "--color=never", "--encoding=none", "-aF")


def _java(name: str, threads: str, reading: str) -> Variant:
    """Our own program, which searches every byte of every file."""
    title = {
        PLATFORM: "Java, a platform thread a file",
        VIRTUAL: "Java, a virtual thread a file",
        ONE: "Java, one thread",
    }
    return Variant(
        name,
        "grep",
        f"{title[threads]}, {reading} reading",
        factors={"program": "Java", "threads": threads, "reading": reading},
        command=("{java}", "-jar", "{jar}", threads, reading, WORD, "{corpus}"),
        environment=UTF8,
    )


SCENARIO = Scenario(
    name="grep",
    question="When files are searched for a word, what is won by a thread for each of them?",
    requests=(),
    contract=(),
    parameters=(
        Parameter("corpus", FEW_LARGE, help="how many files there are", choices=(FEW_LARGE, MANY_SMALL)),
        Parameter("content", MIXED, help="what is in them", choices=(TEXT, MIXED)),
        Parameter("megabytes", 256, 1, 1_000_000, "MiB", "how large all files are together"),
        Parameter("cache", WARM, help="whether the files are in memory before", choices=(WARM, COLD)),
    ),
    variants=(
        Variant(
            "grep-published",
            "",
            "GNU grep -r, as published",
            factors={"program": "GNU grep", "locale": "UTF-8"},
            command=("grep", "-r", WORD, "{corpus}"),
            environment=UTF8,
            scope=EVERYTHING,
            published_as="grep",
        ),
        Variant(
            "java-published",
            "grep",
            "Java, a platform thread a .txt file, as published",
            factors={"program": "Java", "threads": PLATFORM, "reading": "buffered"},
            command=("{java}", "-jar", "{jar}", PLATFORM, "buffered", WORD, "{corpus}", ".txt"),
            environment=UTF8,
            scope=TEXT_FILES,
            published_as="java",
        ),
        Variant(
            "grep-c",
            "",
            "GNU grep, LC_ALL=C",
            factors={"program": "GNU grep", "locale": "C"},
            command=GNU_GREP,
            environment=C,
        ),
        Variant(
            "grep-utf8",
            "",
            "GNU grep, UTF-8",
            factors={"program": "GNU grep", "locale": "UTF-8"},
            command=GNU_GREP,
            environment=UTF8,
        ),
        Variant(
            "ripgrep",
            "",
            "ripgrep",
            factors={"program": "ripgrep"},
            command=(*RIPGREP, WORD, "{corpus}"),
            environment=UTF8,
        ),
        _java("java-one", ONE, "buffered"),
        _java("java-threads", PLATFORM, "buffered"),
        _java("java-threads-random", PLATFORM, "random"),
        _java("java-threads-nio", PLATFORM, "nio"),
        _java("java-virtual", VIRTUAL, "buffered"),
        _java("java-virtual-random", VIRTUAL, "random"),
        _java("java-virtual-nio", VIRTUAL, "nio"),
    ),
    load=Closed(users=1, ramp_s=0.0, duration_s=3.0),
    rehearsal=Rehearsal(requests=0, rounds=1),
    sweep={"corpus": (FEW_LARGE, MANY_SMALL)},
    corpus=Corpus(
        shape="corpus",
        content="content",
        megabytes="megabytes",
        cache="cache",
        word=WORD,
        file_bytes={FEW_LARGE: 32 << 20, MANY_SMALL: 16 << 10},
        contents={TEXT: Content({".txt": 1.0}), MIXED: Content({".txt": 0.5, ".log": 0.25})},
    ),
    all_cores=True,
)
