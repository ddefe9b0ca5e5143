"""Calibration as a stage of a Spark ML pipeline: fitted, saved, loaded, on streams."""

import numpy as np
import pandas as pd
import pytest

from trueodds import BetaCalibrator
from trueodds.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def rows(spark):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2)).round(2)
    label = (x[:, 0] + rng.normal(size=400) > 0).astype(float)
    return spark.createDataFrame(pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "label": label}))


@pytest.fixture(scope="module")
def fitted(rows):
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    from trueodds.spark import SparkCalibrator

    pipeline = Pipeline(
        stages=[
            VectorAssembler(inputCols=["a", "b"], outputCol="features"),
            LogisticRegression(maxIter=5),
            SparkCalibrator(method="beta", options={"parameters": "am"}),
        ]
    )
    return pipeline.fit(rows)


def plan_of(frame) -> str:
    return frame._jdf.queryExecution().toString()


def test_a_pipeline_gives_what_the_local_calibrator_gives(rows, fitted):
    out = fitted.transform(rows)
    assert "Python" not in plan_of(out)
    assert "trueodds_score_" not in out.columns
    local = out.toPandas()
    scores = np.array([vector[1] for vector in local["probability"]])
    expected = BetaCalibrator("am").fit(scores, local["label"]).map_
    np.testing.assert_allclose(local["calibrated"], expected(scores), atol=1e-9)


def test_fitting_brings_counts_to_the_driver_and_no_rows(spark, monkeypatch):
    from trueodds.spark import SparkCalibrator

    frame = spark.sql(
        "select id % 20 / 20 as probability, id % 7 < id % 20 / 3 as label from range(2000)"
    )
    brought = []
    for name in ("collect", "toArrow", "toPandas", "toLocalIterator", "take", "head"):
        plain = getattr(type(frame), name)

        def noted(self, *args, plain=plain, **kwargs):
            brought.append((self._jdf.queryExecution().optimizedPlan().toString(), self.count()))
            return plain(self, *args, **kwargs)

        monkeypatch.setattr(type(frame), name, noted)
    SparkCalibrator().fit(frame)
    assert brought
    assert all("Aggregate" in plan and n_rows <= 20 for plan, n_rows in brought)


def test_it_is_saved_and_loaded_with_its_pipeline(rows, fitted, tmp_path):
    from pyspark.ml import PipelineModel

    from trueodds.spark import SparkCalibrator

    fitted.write().overwrite().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert again.stages[-1].calibration_map() == fitted.stages[-1].calibration_map()
    a, b = (m.transform(rows).select("calibrated").toPandas() for m in (fitted, again))
    np.testing.assert_array_equal(a, b)
    stage = SparkCalibrator(method="isotonic", scoreCol="p")
    stage.save(str(tmp_path / "stage"))
    assert SparkCalibrator.load(str(tmp_path / "stage")).extractParamMap().keys()
    loaded = SparkCalibrator.load(str(tmp_path / "stage"))
    assert type(loaded.calibrator()).__name__ == "IsotonicCalibrator"


def test_streams_are_transformed(spark, fitted, tmp_path):
    from trueodds.spark import SparkCalibratedModel

    learned = fitted.stages[-1].calibration_map()
    stage = SparkCalibratedModel.from_map(learned, scoreCol="p")
    pd.DataFrame({"p": [0.1, 0.5, 0.9]}).to_json(tmp_path / "in.json", orient="records", lines=True)
    stream = spark.readStream.schema("p double").json(str(tmp_path))
    query = (
        stage.transform(stream).writeStream.format("memory").queryName("calibrated_stream")
        .trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination()
    found = spark.table("calibrated_stream").toPandas()
    np.testing.assert_allclose(found["calibrated"], learned(found["p"].to_numpy()), atol=1e-12)


def test_what_makes_no_sense_is_refused(rows):
    from trueodds.maps import SoftmaxMap
    from trueodds.spark import SparkCalibratedModel, SparkCalibrator

    with pytest.raises(InputError, match="unknown method 'betta'; did you mean 'beta'"):
        SparkCalibrator(method="betta", scoreCol="a").fit(rows)
    with pytest.raises(InputError, match="no column 'probability'"):
        SparkCalibrator().fit(rows)
    with pytest.raises(InputError, match="a map of one score"):
        SparkCalibratedModel.from_map(SoftmaxMap(weights=[1.0, 1.0, 1.0], bias=[0.0, 0.0, 0.0]))


def test_the_default_method_is_that_of_the_library(rows):
    from trueodds import AutoCalibrator
    from trueodds.spark import SparkCalibrator

    frame = rows.selectExpr("1 / (1 + exp(-a)) AS probability", "label")
    local = frame.toPandas()
    expected = AutoCalibrator().fit(local["probability"], local["label"]).map_
    grid = np.linspace(0, 1, 101)
    for stage in (
        SparkCalibrator(),
        SparkCalibrator(method="auto"),
        SparkCalibrator(method="bayesian_smooth"),
    ):
        found = stage.fit(frame).calibration_map()
        np.testing.assert_allclose(found(grid), expected(grid), rtol=0, atol=1e-9)


def test_many_scores_are_rounded_with_a_warning_that_gives_the_change(rows):
    from trueodds.exceptions import BinnedScoresWarning
    from trueodds.spark import SparkCalibrator

    frame = rows.selectExpr("1 / (1 + exp(-a)) AS probability", "label")
    with pytest.warns(BinnedScoresWarning, match=r"moves their log-odds by at most 0\.") as caught:
        SparkCalibrator(method="beta", maxRows=60).fit(frame)
    assert "more than 60 distinct scores, so those of 400 rows" in str(caught[0].message)


def test_columns_and_options_can_be_set_as_in_spark(spark):
    from trueodds.maps import LogOddsMap
    from trueodds.spark import SparkCalibratedModel, SparkCalibrator

    frame = spark.createDataFrame([(0.2,), (0.5,)], ["p"])
    learned = LogOddsMap(a=0.5, b=0.5, c=0.0)
    for stage in (
        SparkCalibratedModel.from_map(learned, scoreCol="p", outputCol="q"),
        SparkCalibratedModel.from_map(learned).setScoreCol("p").setOutputCol("q"),
    ):
        found = stage.transform(frame).toPandas()
        np.testing.assert_allclose(found["q"], [1 / 3, 1 / 2], rtol=1e-12)
    estimator = SparkCalibrator(method="beta", scoreCol="p").setParams(
        options={"parameters": "am"}, maxRows=500
    )
    estimator.setLabelCol("y").setOutputCol("q")
    found = [estimator.getOrDefault(name) for name in ("method", "scoreCol", "labelCol", "maxRows")]
    assert found == ["beta", "p", "y", 500]
    assert estimator.calibrator().parameters == "am"


def test_dots_and_quotes_in_names_are_part_of_them(rows):
    from trueodds import ScoreTable
    from trueodds.engines import apply_map
    from trueodds.spark import SparkCalibrator

    for score, label, into in (("p.q", "y.z", "c.d"), ("p`q", "y`", "c`")):
        named = rows.selectExpr("1 / (1 + exp(-a)) AS p", "label AS y").toDF(score, label)
        with pytest.raises(InputError, match=r"rename it: frame\.withColumnRenamed"):
            ScoreTable.from_frame(named, score=score, label=label)
        with pytest.raises(InputError, match=r"rename it: frame\.withColumnRenamed"):
            BetaCalibrator().fit_frame(named, score=score, label=label)
        stage = SparkCalibrator(scoreCol=score, labelCol=label, outputCol=into).fit(named)
        found = stage.transform(named).toPandas()
        expected = stage.calibration_map()(found[score].to_numpy())
        np.testing.assert_allclose(found[into], expected, atol=1e-12)
        applied = apply_map(stage.calibration_map(), named, score=score, output_column=into)
        assert applied.columns == [score, label, into]


def test_vectors_of_another_length_than_two_are_refused(spark):
    from pyspark.ml.linalg import Vectors

    from trueodds.maps import LogOddsMap
    from trueodds.spark import SparkCalibratedModel, SparkCalibrator

    stage = SparkCalibratedModel.from_map(LogOddsMap(a=0.5, b=0.5, c=0.0))
    pairs = [(Vectors.dense([0.8, 0.2]), 0), (None, 0), (Vectors.sparse(2, [1], [1.0]), 1)]
    found = stage.transform(spark.createDataFrame(pairs, ["probability", "label"])).toPandas()
    np.testing.assert_allclose(found["calibrated"], [1 / 3, np.nan, 1.0], rtol=1e-12)
    for entries in ([0.1, 0.3, 0.6], [0.4]):
        wrong = spark.createDataFrame(
            [(Vectors.dense(entries), 0), pairs[0]], ["probability", "label"]
        )
        message = rf"'probability' must hold vectors of two.*got {len(entries)}\."
        with pytest.raises(Exception, match=message):
            stage.transform(wrong).toPandas()
        with pytest.raises(Exception, match=message):
            SparkCalibrator().fit(wrong)


def test_messages_name_the_columns_of_the_stage(spark):
    from trueodds.spark import SparkCalibrator

    frame = spark.sql("select id % 10 / 10 as p, id % 3 as outcome from range(60)")
    stage = SparkCalibrator(scoreCol="p", labelCol="outcome")
    with pytest.raises(InputError, match=r"'outcome' must hold two classes.*two values") as caught:
        stage.fit(frame)
    assert "trueodds_" not in str(caught.value)
    assert "pos_label" not in str(caught.value)
    outside = spark.sql("select id / 10 as p, id % 2 as outcome from range(60)")
    with pytest.raises(InputError, match=r"'p' is outside \[0, 1\] in 49"):
        stage.fit(outside)


def test_labels_in_words_are_named_by_an_option(spark):
    from trueodds.spark import SparkCalibrator

    frame = spark.sql(
        "select id % 20 / 20 as probability, if(id % 7 < id % 20 / 3, 'ja', 'nein') as label "
        "from range(2000)"
    )
    with pytest.raises(InputError, match="the positive label is ambiguous: 'ja' by its meaning"):
        SparkCalibrator().fit(frame)
    stage = SparkCalibrator(options={"classes": ["nein", "ja"]}).fit(frame)
    learned = stage.calibration_map()
    assert learned.classes == ("nein", "ja")
    assert learned(0.9) > learned(0.1)
