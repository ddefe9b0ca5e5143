"""One figure, one interval: the same from every entry point, to the last digit."""


def test_the_level_of_a_report_is_chosen_on_the_command_line(run, data):
    words = ["-s", "p", "-l", "y", "-m", "identity", "-m", "temperature"]
    levels = {}
    for level in ("0.9", "0.99"):
        result = run("report", data / "scores.csv", *words, "--level", level, "--json")
        assert result.code == 0, result.err
        report = result.json["report"]
        assert report["level"] == float(level)
        before = report["figures"][0]["before"]
        levels[level] = before["high"] - before["low"]
    assert levels["0.99"] > 1.3 * levels["0.9"]
