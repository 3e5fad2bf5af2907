"""The files that the programs of a scenario read, as a value: what they are like, and which parameters say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.formulas.units import MIB

# Whether files are in memory when a program is started.
WARM, COLD = "warm", "cold"


@dataclass(frozen=True)
class Content:
    """What the files of a corpus hold: shares of its bytes by the ending of their names; the rest is binary.

    Attributes:
        text: shares from 0 to 1, such as ``{".txt": 0.5, ".log": 0.25}``. The files of the rest end with ``.bin``, and
            hold any bytes, zeros among them.

    """

    text: Mapping[str, float]


@dataclass(frozen=True)
class Corpus:
    """Files made from a seed, before any program is executed; ``{corpus}`` in a command line is their folder.

    Attributes:
        shape: the parameter, one of its choices, that says how large each file is, by ``file_bytes``.
        content: the parameter, one of its choices, that says what is in them, by ``contents``.
        megabytes: the parameter that says how large all of them are, in MiB.
        cache: the parameter, ``warm`` or ``cold``, that says whether they are in memory when a program is started;
            empty if they always are.
        word: what one line in ``lines_a_word`` holds, in text and in binary files.

    """

    shape: str
    content: str
    megabytes: str
    cache: str
    word: str
    lines_a_word: int = 1000
    file_bytes: Mapping[str, int] = field(default_factory=dict)
    contents: Mapping[str, Content] = field(default_factory=dict)

    def recipe(self, parameters: Mapping[str, int | str]) -> Recipe:
        """What is made for these values of the scenario's parameters."""
        shape, content = str(parameters[self.shape]), str(parameters[self.content])
        megabytes = int(parameters[self.megabytes])
        return Recipe(
            f"{shape}-{content}-{megabytes}mib",
            megabytes * MIB,
            self.file_bytes[shape],
            self.contents[content],
            self.word,
            self.lines_a_word,
        )

    def is_cold(self, parameters: Mapping[str, int | str]) -> bool:
        """Whether its files are to be out of the page cache before each execution."""
        return bool(self.cache) and parameters[self.cache] == COLD

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that it speaks of."""
        return tuple(filter(None, (self.shape, self.content, self.megabytes, self.cache)))


@dataclass(frozen=True)
class Recipe:
    """One corpus: everything that decides the bytes of its files, besides the seed.

    Attributes:
        name: what its folder is called, such as ``few-large-text-256mib``.
        total_bytes: of all files together.
        file_bytes: of each file; the last one of a kind may be smaller.

    """

    name: str
    total_bytes: int
    file_bytes: int
    content: Content
    word: str
    lines_a_word: int
