"""A line plot as SVG text for a page: classes for the style sheet, no scripts, no inline styles."""

import math
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 400, 260  # of the drawing, in its own units; the page scales it
LEGEND_LINE = 17  # from one line of the legend to the next
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 42  # around the area with the lines


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high` with labelled ticks."""

    title: str
    low: float
    high: float
    ticks: dict[float, str]
    is_log: bool = False

    def share(self, value: float) -> float:
        """0 at `low`, 1 at `high`."""
        low, high, at = (math.log(v) if self.is_log else v for v in (self.low, self.high, value))
        return (at - low) / (high - low)


@dataclass(frozen=True)
class Series:
    """One line: its name in the legend and its points (x, y)."""

    name: str
    points: list[tuple[float, float]]


def line_plot(x: Axis, y: Axis, series: list[Series], description: str, legend: float) -> str:
    """An `<svg>` on one line. Lines differ by dashes, so that colour is not needed to tell them apart.

    `legend` is the height, as a value of `y`, where the list of lines begins, on the right.
    """

    def left(value: float) -> str:
        return f"{LEFT + x.share(value) * (WIDTH - LEFT - RIGHT):.1f}"

    def top(value: float) -> str:
        return f"{HEIGHT - BOTTOM - y.share(value) * (HEIGHT - TOP - BOTTOM):.1f}"

    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value, label in y.ticks.items():
        parts.append(
            f'<line class="plot-grid" x1="{LEFT}" x2="{right}" y1="{top(value)}" y2="{top(value)}"/>'
        )
        parts.append(_text(f"{LEFT - 6}", f"{float(top(value)) + 4:.1f}", label, "end"))
    for value, label in x.ticks.items():
        parts.append(
            f'<line class="plot-grid" x1="{left(value)}" x2="{left(value)}" y1="{floor}" y2="{floor + 5}"/>'
        )
        parts.append(_text(left(value), f"{floor + 18}", label, "middle"))
    parts.append(_text(f"{(LEFT + right) / 2:.0f}", f"{HEIGHT - 6}", x.title, "middle"))
    parts.append(_text(f"{LEFT + 6}", f"{TOP + 10}", y.title, "start"))
    drawn, listed = [], []
    for number, line in enumerate(series, start=1):
        points = " ".join(f"{left(px)},{top(py)}" for px, py in line.points)
        drawn.append(f'<polyline class="plot-line plot-line--{number}" points="{points}"/>')
        height = float(top(legend)) + LEGEND_LINE * (number - 1)
        sample = f"{right - 116},{height:.1f} {right - 82},{height:.1f}"
        listed.append(f'<polyline class="plot-line plot-line--{number}" points="{sample}"/>')
        listed.append(_text(f"{right - 76}", f"{height + 4:.1f}", line.name, "start"))
    size = f'width="122" height="{LEGEND_LINE * len(series) + 6}"'
    place = f'x="{right - 122}" y="{float(top(legend)) - 12:.1f}"'
    parts += [*drawn, f'<rect class="plot-legend" {place} {size}/>', *listed]
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(description)}">'
        f"{''.join(parts)}</svg>"
    )


def _text(x: str, y: str, text: str, anchor: str) -> str:
    return f'<text class="plot-text" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
