"""Where a map comes from, and what tells it from others."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

from trueodds.maps._about import check_about, fingerprint_of

__all__ = ["Described"]


class Described:
    """What carries an ``about`` and has a fingerprint.

    ``about`` is no field of the dataclass: it takes no part in equality, and a copy with other
    parameters, which it would no longer be true of, does not inherit it.
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""

    @property
    def about(self) -> dict[str, Any] | None:
        """Where the map comes from, as far as it is known; see ``docs/map-format.md``.

        A copy: a map does not change. Nothing in it is trusted, and it takes no part in forecasts,
        exports or the comparison of two maps. A map with other parameters, as
        :func:`dataclasses.replace` makes it, has none.
        """
        return copy.deepcopy(self.__dict__.get("_about"))

    def with_about(self, about: Mapping[str, Any] | None) -> Self:
        """The same map with another ``about``; see ``docs/map-format.md`` for what may stand in it.

        Parameters
        ----------
        about : mapping or None
            Plain JSON values; what :func:`trueodds.model_selection.describe_fit` returns, or your
            own. None takes away what was there.

        Examples
        --------
        >>> from trueodds.maps import LogOddsMap
        >>> plain = LogOddsMap(a=0.5, b=0.5, c=0.0)
        >>> signed = plain.with_about({"method": "temperature", "notes": "for the spring campaign"})
        >>> signed.about["method"], signed == plain, signed.fingerprint == plain.fingerprint
        ('temperature', True, True)
        """
        block = None if about is None else check_about(about) or None
        other = copy.copy(self)
        object.__setattr__(other, "_about", block)
        return other

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of what the map does: the same for two maps of the same numbers and classes.

        ``about`` and the version of the format do not count, so it stays the same when a map is
        saved by a later version, or described anew.

        Examples
        --------
        >>> from trueodds.maps import IdentityMap
        >>> IdentityMap().fingerprint[:15]
        'sha256:9dd8047c'
        """
        return fingerprint_of(self.to_dict())
