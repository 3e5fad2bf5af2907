"""The HTML report: everything inside one file, true on any run, and fit for a laptop's width."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from open_loops import overloaded
from patience import PATIENCE_S

from lab.errors import LabError
from lab.reporting import html, run_view
from lab.reporting.run_tables import SESSION_TIMES
from lab.spec.plan import Cell
from lab.storage import run_folder
from lab.storage.run_folder import RunFolder

EXAMPLE = run_folder.EXAMPLES / "delay-sweep"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# What a browser is asked when the page has loaded: figures it could show, tables that are cut off, the width it needs.
QUESTION = """<script>addEventListener("load", () => { document.title = JSON.stringify({
  shown: [...document.images].filter(image => image.naturalWidth > 100).length,
  cut: [...document.querySelectorAll(".wide")].filter(box => box.scrollWidth > box.clientWidth).length,
  needs: document.documentElement.scrollWidth, has: innerWidth }) })</script>"""


class Elements(HTMLParser):
    """Collects what a page refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.images: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Note a tag, and every attribute that could fetch something."""
        self.tags.append(tag)
        found = dict(attributes)
        if tag == "img":
            self.images.append(found["src"])
        self.references += [found[name] for name in ("src", "href", "action", "data") if name in found]


def part_of(example: str, folder: Path, is_kept: Callable[[Cell], bool]) -> RunFolder:
    """A copy of the cells of an example run that are kept, as if it had measured no others."""
    whole = RunFolder(run_folder.EXAMPLES / example)
    kept = {cell.id for cell in whole.plan().cells if is_kept(cell)}
    folder.mkdir()
    shutil.copy(whole.path / "environment.json", folder)
    run = json.loads((whole.path / "run.json").read_text())
    both = zip(run["plan"]["cells"], whole.plan().cells, strict=True)
    run["plan"]["cells"] = [stored for stored, cell in both if cell.id in kept]
    (folder / "run.json").write_text(json.dumps(run))
    for name in kept:
        shutil.copytree(whole.path / "cells" / name, folder / "cells" / name)
    return RunFolder(folder)


@pytest.mark.usefixtures("words_only")
def test_a_choice_is_shown_by_its_name_in_every_table(tmp_path):
    """And not by its place among the choices; of sessions too, whose rows could not be told apart."""
    variants = ("mvc", "mvc-virtual")
    folder = part_of("operations", tmp_path / "20260101T000000Z-operations", lambda cell: cell.variant in variants)
    run = run_view.Run(folder)
    rows = Counter(re.findall(r'<td class="name">mvc</td>\s*<td class="number">([^<]*)</td>', html.render(run)))
    of_mvc = [cell for cell in run.cells if cell["variant"] == "mvc"]
    names = len(of_mvc[0]["by_name"])  # and a row of the generator
    assert rows == dict.fromkeys(("10", "4"), len(of_mvc) // 2 * (1 + names + len(SESSION_TIMES) + 1))


@pytest.fixture
def copy(tmp_path) -> RunFolder:
    """A small copy of the example run that a test may spoil: three variants at 4,000 users."""
    return part_of("delay-sweep", tmp_path / "20260101T000000Z-delay", lambda cell: cell.load.users == 4000)


def change(path: Path, **values) -> None:
    """Change some values of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.fixture(scope="module")
def example() -> str:
    """The report of the run that ships with the lab."""
    return html.render(run_view.open_run("delay-sweep"))


def test_nothing_is_fetched_from_elsewhere(example):
    """Every figure is inside, there is no script, and nothing refers to another file or address."""
    elements = Elements(example)
    assert len(elements.images) == 3
    assert all(source.startswith("data:image/png;base64,") for source in elements.references)
    assert not {"script", "link", "iframe"} & set(elements.tags)
    assert not re.search(r"url\(|@import|https?:", example)


def test_it_tells_the_whole_story(example):
    """Question, verdict, every cell, published numbers, limits, machine, and the line that repeats it."""
    words = re.sub(r"data:image[^\"]*|<[^>]+>|\s+", " ", example)
    for part in (
        "how many users can platform threads",
        "21 valid",
        "20.564",
        "20.525",
        "15.729",
        "Sprinklr 2023",
        "accept count",
        "The threads were the bottleneck: 200 of 200",
        "Linux (virtual machine)",
        "python -m lab sweep delay --seed 1",
        "1a2a2397169fe96a5984e8583bbc43a1c6fc0901",
    ):
        assert part in words
    assert len(re.findall(r'<tr class="valid', example)) == 2 * 21, "of the cells, and of the generator in each"


@pytest.mark.thorough
def test_repeats_are_compared_and_what_decided_is_said():
    """A run with repeats shows them, the ratios and the sentence."""
    text = html.render(run_view.open_run("jwt-repeats"))
    assert len(Elements(text).images) == 5
    words = re.sub(r"data:image[^\"]*|<[^>]+>|\s+", " ", text)
    for part in ("webflux against mvc at 50 users (5 interleaved", "The CPU was the bottleneck"):
        assert part in words
    assert re.search(r" 0\.00\d{3} ", words)


@pytest.mark.thorough
def test_facts_of_the_machine_are_no_data_structures():
    """What the generator can do is said in words."""
    words = re.sub(r"data:image[^\"]*|<[^>]+>|\s+", " ", html.render(run_view.open_run("document-cpu")))
    assert re.search(r"token (at least )?[\d,]+ requests/s", words)
    assert "{'" not in words


@pytest.mark.usefixtures("words_only")
def test_an_open_loop_shows_both_times(example, tmp_path):
    """Latency from the planned moments, and beside it the service time that the settings line promises."""
    text = html.render(run_view.Run(overloaded(tmp_path)))
    head = re.search(r'<table class="results dense">.*?</thead>', text, re.DOTALL)[0]
    row = re.search(r'<tr class="suspect.*?</tr>', text, re.DOTALL)[0]
    figures = [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
    shown = dict(zip(re.findall(r"<th[^>]*>(.*?)</th>", head), figures, strict=True))
    assert shown["mean s"] == "10.035"
    assert {shown[f"service<br>{name}"] for name in ("mean", "p50", "p99")} == {"0.04000"}
    assert "mean from the actual send" in text
    assert "actual send" not in example


@pytest.mark.usefixtures("words_only")
def test_failures_and_the_tail_of_a_closed_loop_are_spoken_of_where_there_are_any(example, copy):
    """All requests' latencies beside those of right answers; one sentence on a closed loop, none on single requests."""
    assert "with failures and timeouts" not in example
    assert "coordinated omission" not in example
    cell = copy.cells()[0].path
    change(cell / "summary.json", errors={"timeout": 40}, all_mean_s=29.0, all_p50_s=21.0, all_p99_s=120.0)
    run = json.loads((copy.path / "run.json").read_text())
    for planned in run["plan"]["cells"]:
        planned["load"]["loops"] = 2
    (copy.path / "run.json").write_text(json.dumps(run))
    text = html.render(run_view.Run(copy))
    assert "mvc at 4,000 users: with failures and timeouts (40 of 4,000), in seconds: mean 29.000, p50 21.000" in text
    assert text.count("with failures and timeouts (") == 1
    assert text.count("coordinated omission") == 1
    assert re.search(r"99.9 % answered within</dt><dd>39\.1", text)


def in_a_browser(text: str, width: int, folder: Path) -> dict[str, int]:
    """What a real browser in a window of this width answers to :data:`QUESTION` about a page."""
    file = folder / "report.html"
    file.write_text(text.replace("</body>", QUESTION + "</body>"))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command = [BROWSER, *flags, f"--window-size={width},900", "--dump-dom", file.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
    return json.loads(re.search(r"<title>(.*?)</title>", dom)[1])


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on the PATH")
@pytest.mark.parametrize("width", [1024, 1280])
def test_a_browser_shows_every_figure_and_needs_no_more_width_than_a_laptop_has(example, tmp_path, width):
    """A real browser decodes every figure, and neither the page nor a table scrolls sideways."""
    answer = in_a_browser(example, width, tmp_path)
    assert answer["shown"] == 3
    assert answer["needs"] <= answer["has"] <= width
    assert answer["cut"] == 0


@pytest.mark.thorough
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on the PATH")
def test_the_wider_table_of_an_open_loop_fits_a_laptop_too(tmp_path):
    """With the columns of the service time too nothing is hidden at its right edge."""
    answer = in_a_browser(html.render(run_view.Run(overloaded(tmp_path))), 1366, tmp_path)
    assert answer["needs"] <= answer["has"]
    assert answer["cut"] == 0


@pytest.mark.usefixtures("words_only")
def test_what_a_run_says_is_text_and_never_markup(copy):
    """A hostile run name, host, reason or command cannot put a script into the page."""
    attack = '"><script>alert(1)</script>'
    hostile = RunFolder(copy.path.rename(copy.path.with_name("20260101T000000Z-<img src=x onerror=alert(1)>")))
    change(hostile.path / "environment.json", host=attack, commit=attack)
    change(hostile.path / "run.json", command=["lab", attack])
    summary = hostile.path / "cells" / "mvc-u4000-r1" / "summary.json"
    change(summary, verdict="suspect", reasons=[attack], errors={attack: 1})
    text = html.render(run_view.Run(hostile))
    assert "script" not in Elements(text).tags
    assert len(Elements(text).images) == 3  # with that of failures


@pytest.mark.usefixtures("words_only")
def test_doubt_comes_first_and_nothing_is_left_out(copy):
    """Invalid and incomplete cells are in the table, with their reasons above it."""
    cells = copy.path / "cells"
    change(cells / "mvc-u4000-r1" / "summary.json", verdict="invalid", reasons=["Only 3 were sent."])
    (cells / "webflux-u4000-r1" / "summary.json").unlink()
    text = html.render(run_view.Run(copy))
    assert text.index("Only 3 were sent.") < text.index("It was not measured to its end.") < text.index("<table")
    rows = [row for row in re.findall(r'<tr class="(\w+)', text) if row != "next"]
    assert rows == ["invalid", "valid", "incomplete", "invalid", "valid"], (
        "of the generator nothing is known of the last"
    )


@pytest.mark.usefixtures("words_only")
def test_a_run_without_anything_measured_gives_a_page(copy):
    """All cells missing: a page with an incomplete verdict, not a traceback."""
    shutil.rmtree(copy.path / "cells")
    text = html.render(run_view.Run(copy))
    assert "3 incomplete" in text
    assert "No service has stated its limits." in text


@pytest.mark.usefixtures("words_only")
def test_one_variant_gives_a_page_that_names_a_stand_in(copy):
    """A run of one cell reads as one measurement, and whoever reads it learns what really answered."""
    plan = copy.read()["plan"]
    change(copy.path / "run.json", plan={**plan, "cells": plan["cells"][:1]})
    title = "MariaDB 11.4.5, standing in for MySQL"
    database = {"kind": "mysql", "product": "MariaDB 11.4.5", "stand_in": True, "title": title}
    copy.keep("databases", {"mysql": database})
    text = html.render(run_view.Run(copy))
    assert "of 1 measurement." in text
    assert title in text
    assert "a stand-in, not the real one" in text


def test_the_command_repeats_the_drawn_seed(copy):
    """A run whose seed was drawn is repeated with that seed."""
    change(copy.path / "run.json", command=["python", "-m", "lab", "run", "delay"])
    assert html.Page(run_view.Run(copy)).command == "python -m lab run delay --seed 1"


@pytest.mark.thorough
def test_a_run_of_python_is_said_to_be_one(copy):
    """No command is printed that never was; the line calls what made it."""
    change(copy.path / "run.json", command=["lab.reproduce", "delay"])
    text = html.render(run_view.Run(copy))
    assert "It was made from Python" in text
    assert "lab.reproduce" not in text
    assert "lab.run(" in text
    change(copy.path / "run.json", command=["python", "-m", "lab", "run", "delay", "--seed=1"])
    assert "It was made from Python" not in html.render(run_view.Run(copy))


@pytest.mark.thorough
def test_the_command_line_writes_the_file(typed, tmp_path, copy):
    """``lab report`` puts the file where it is told to, or beside the run."""
    file = tmp_path / "here.html"
    assert typed("report", copy.name, "--data", str(tmp_path), "-o", str(file)).returncode == 0
    assert file.read_text().startswith("<!DOCTYPE html>")
    ended = typed("report", copy.name, "--data", str(tmp_path))
    assert (copy.path / "report.html").exists()
    assert "report.html" in ended.stdout


def test_a_damaged_run_is_one_sentence(copy, typed, tmp_path):
    """Nothing is written, and the status says bad input."""
    (copy.path / "cells" / "mvc-u4000-r1" / "samples.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(LabError, match="damaged"):
        html.render(run_view.Run(copy))
    ended = typed("report", copy.name, "--data", str(tmp_path))
    assert ended.returncode == 2
    assert "damaged" in ended.stderr
    assert not (copy.path / "report.html").exists()


def test_a_run_of_programs_is_told_as_one():
    """With the names that its parameters have, and a figure of executions instead of requests."""
    page = html.Page(run_view.open_run("grep-large"))
    assert page.decided["content"] == "mixed"
    assert page.decided["megabytes"] == "256"
