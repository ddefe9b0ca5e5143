"""What every renderer must know how to write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar, assert_never, cast

from trueodds.export import expressions as e

__all__ = ["Renderer"]

Written = TypeVar("Written")


class Renderer(ABC, Generic[Written]):
    """One method for each kind of node; a kind that nobody writes is an error of types."""

    def write_number(self, expression: e.Expression) -> Written:
        """What stands for a number."""
        node = cast("e.Numeric", expression)
        match node:
            case e.Constant():
                return self._constant(node)
            case e.Score():
                return self._score(node)
            case e.Arithmetic():
                return self._arithmetic(node)
            case e.Function():
                return self._function(node)
            case e.Choose():
                return self._choose(node)
            case e.StepLookup():
                return self._steplookup(node)
            case e.LinearLookup():
                return self._linearlookup(node)
            case e.Dot():
                return self._dot(node)
            case e.Softmax():
                return self._softmax(node)
        assert_never(node)

    def write_condition(self, condition: e.Condition) -> Written:
        """What stands for a condition."""
        node = cast("e.Truth", condition)
        match node:
            case e.Comparison():
                return self._comparison(node)
            case e.All():
                return self._all(node)
            case e.Any():
                return self._any(node)
            case e.Usable():
                return self._usable(node)
            case e.FeatureAtMost():
                return self._featureatmost(node)
            case e.FeatureAbove():
                return self._featureabove(node)
            case e.FeatureIs():
                return self._featureis(node)
            case e.FeatureMissing():
                return self._featuremissing(node)
        assert_never(node)

    @abstractmethod
    def _constant(self, node: e.Constant) -> Written: ...
    @abstractmethod
    def _score(self, node: e.Score) -> Written: ...
    @abstractmethod
    def _arithmetic(self, node: e.Arithmetic) -> Written: ...
    @abstractmethod
    def _function(self, node: e.Function) -> Written: ...
    @abstractmethod
    def _choose(self, node: e.Choose) -> Written: ...
    @abstractmethod
    def _steplookup(self, node: e.StepLookup) -> Written: ...
    @abstractmethod
    def _linearlookup(self, node: e.LinearLookup) -> Written: ...
    @abstractmethod
    def _dot(self, node: e.Dot) -> Written: ...
    @abstractmethod
    def _softmax(self, node: e.Softmax) -> Written: ...
    @abstractmethod
    def _comparison(self, node: e.Comparison) -> Written: ...
    @abstractmethod
    def _all(self, node: e.All) -> Written: ...
    @abstractmethod
    def _any(self, node: e.Any) -> Written: ...
    @abstractmethod
    def _usable(self, node: e.Usable) -> Written: ...
    @abstractmethod
    def _featureatmost(self, node: e.FeatureAtMost) -> Written: ...
    @abstractmethod
    def _featureabove(self, node: e.FeatureAbove) -> Written: ...
    @abstractmethod
    def _featureis(self, node: e.FeatureIs) -> Written: ...
    @abstractmethod
    def _featuremissing(self, node: e.FeatureMissing) -> Written: ...
