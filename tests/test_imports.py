"""What importing the lab brings into a process, and what it does not."""

from __future__ import annotations

import subprocess
import sys

from patience import PATIENCE_S

HEAVY = ("gevent", "locust", "matplotlib", "pandas", "pyarrow", "requests", "scipy")


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after a statement."""
    script = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return set(done.stdout.split())


def test_importing_the_lab_is_light():
    """`import lab` alone loads nothing heavy, and nothing that monkey-patches."""
    assert modules_after("import lab").isdisjoint(HEAVY)


def test_the_lab_itself_never_imports_locust():
    """Only processes of their own load Locust and gevent: both change the process that imports them."""
    found = modules_after(
        "import lab.cli, lab.running.conductor, lab.reporting.run_view, lab.generator.fleet, lab.cli.doctor"
    )
    assert "lab" in found
    assert found.isdisjoint({"gevent", "locust"})


def test_the_python_face_is_what_the_readme_says():
    """`lab.run`, `lab.open_run` and `lab.runs` are there."""
    import lab

    assert {"run", "open_run", "runs"} <= set(lab.__all__)
    assert all(callable(getattr(lab, name)) for name in lab.__all__)


def test_a_worker_does_without_what_its_image_does_not_have():
    """Of the lab's packages its image has those that a worker needs, and what these bring with them."""
    without = "import sys\nfor name in ('docker', 'filelock', 'pandas'):\n    sys.modules[name] = None\n"
    assert "lab" in modules_after(f"{without}import lab.generator.locust")
