"""The demonstration, from the model to the report."""

import pytest

import trueodds


@pytest.mark.slow
def test_the_demo_shows_every_command_and_ends_with_a_report(run, tmp_path):
    folder = tmp_path / "new" / "demo"
    result = run("demo", folder)
    assert result.code == 0, result.err
    for command in ("evaluate", "compare", "fit", "show", "apply", "export", "report"):
        assert f"\n$ trueodds {command} " in result.out
    assert f"Open the report: {folder / 'report.html'}" in result.out
    assert len(result.out.splitlines()) <= 48  # one screen
    for story in (
        "4.1 times too many",
        "reduces log-loss by",
        "No miscalibration",
        "Recommendation:",
    ):
        assert story in " ".join(result.out.split())
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    assert trueodds.load(folder / "map.json").classes == (0, 1)
    assert trueodds.load(folder / "map.json").metadata["method"] == "auto"
    again = run("demo", folder)
    assert again.code == 2
    assert "scores.csv exists; pass --force to replace it" in again.err
    assert (folder / "calibrated.csv").read_text().startswith("score,is_eight,ink,probability\n")
