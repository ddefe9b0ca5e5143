"""Forecasts, map and state of a stream in step; states of jobs are checked."""

from pathlib import Path

import numpy as np
import pytest

from trueodds import CalibrationMonitor, OnlineCalibrator, load
from trueodds.exceptions import StateFormatError
from trueodds.maps import IdentityMap
from trueodds.watch import StreamWatch, Watch
from trueodds.watch.forecasts import Forecasts


def test_the_map_is_written_after_every_n_rows_of_all_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.random(85)
    y = (rng.random(85) < p).astype(int)
    online = OnlineCalibrator(start=IdentityMap()).update(p[:59], y[:59])  # of earlier runs
    job = StreamWatch(online, Watch("sha256:0", CalibrationMonitor(), None))
    written = []
    with Forecasts(job, "s.json", None, map_out="now.json", map_every=20) as forecasts:
        for k in range(59, 85):
            online.update(float(p[k]), int(y[k]))
            forecasts.learned()
            if Path("now.json").exists():
                assert load("now.json") == online.map_
                written.append(online.n_rows)
                Path("now.json").unlink()
    assert written == [60, 80]


@pytest.mark.parametrize("key", ["seen", "missing"])
@pytest.mark.parametrize(
    "periods", [["2026-10-02 00:00:00", "2026-10-01 00:00:00"], ["2026-10-01", "soon"], ["2026"]]
)
def test_periods_of_a_state_are_times_in_order(key, periods):
    content = Watch("sha256:0", CalibrationMonitor(), "day").to_dict()
    ordered = ["2026-10-01 00:00:00", "2026-10-02 00:00:00"]
    assert getattr(Watch.from_dict({**content, key: ordered}), key) == ordered
    with pytest.raises(StateFormatError, match=rf"state.{key} must be times in order"):
        Watch.from_dict({**content, key: periods})
