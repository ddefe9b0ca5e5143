"""Options of ``trueodds monitor`` and ``trueodds stream`` for their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trueodds.cli.options import data_option, group_option, result_option, rows_option
from trueodds.cli.rows.columns import ColumnNames, map_features
from trueodds.cli.rows.options import LabelOptions, ReadingOptions

if TYPE_CHECKING:
    from trueodds.watch.lines import LineColumns

__all__ = ["DeliveryOptions", "WatchedRowOptions"]


@dataclass(frozen=True, kw_only=True)
class DeliveryOptions(LabelOptions, ReadingOptions):
    """Deliveries of rows, in the order of time."""

    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="CSV, Parquet, Arrow, JSON lines or xlsx files, folders or globs. Each row "
            "counts once.",
        ),
    ]
    time: Annotated[
        str | None,
        data_option(
            "--time",
            "-t",
            metavar="COLUMN",
            help="Time column: rows are counted in this order, and late ones are reported.",
        ),
    ] = None
    time_format: Annotated[
        str | None,
        data_option(
            "--time-format",
            metavar="FORMAT",
            help="Format of the times, such as %d.%m.%Y, or unix, unix-ms, unix-us, unix-ns for "
            "numbers since 1970. Default: ISO (2026-10-01), or numbers in order.",
        ),
    ] = None
    until: Annotated[
        str | None,
        rows_option(
            "--until",
            metavar="TIME",
            help="Do not count rows after this time yet, because their labels may still be "
            "missing.",
        ),
    ] = None
    period: Annotated[
        Literal["hour", "day", "week", "month", "quarter", "year"] | None,
        result_option(
            "--period", help="Period of one output line. Default: a day; without --time, a file."
        ),
    ] = None

    row_id: Annotated[
        str | None,
        data_option(
            "--id",
            metavar="COLUMN",
            help="Column of ids: a row whose id was counted is not counted again. With stream, "
            "rows without a label are forecast at once and learned when the label comes under "
            "their id.",
        ),
    ] = None

    def columns(self, fitted: Any, group: str | None) -> ColumnNames:
        """Return the columns that are requested, and those that the map needs."""
        named = (self.label, self.time, group, self.row_id)
        features, categories = map_features(fitted)
        return ColumnNames(
            tuple(self.score),
            counts=self.counts,
            features=features,
            categories=categories,
            named=tuple(name for name in named if name is not None),
            scale=fitted.scale,
            sums_to_one=fitted.rows_sum_to_one,
            unit=self.unit,
        )

    def line_columns(self) -> LineColumns:
        """The keys of lines of standard input."""
        from trueodds.watch.lines import LineColumns

        return LineColumns(
            score=tuple(self.score),
            label=self.label,
            counts=self.counts,
            row_id=self.row_id,
            positive=self.positive,
            percent=self.unit == "percent",
            skip=self.on_bad_rows == "skip",
        )


@dataclass(frozen=True, kw_only=True)
class WatchedRowOptions(DeliveryOptions):
    """Deliveries that a monitor watches."""

    group: Annotated[
        str | None,
        group_option(help="Column of groups to monitor separately."),
    ] = None
