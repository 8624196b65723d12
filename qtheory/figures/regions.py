"""Maps of the four regimes of the attack game: pale fills, boundaries, and names where they fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

NAMES = ("outside", "I", "II", "III", "IV")
MEANINGS = ("", "no attack", "undefended\nattack", "defended\nattack", "mixed")
TINTS = ("#FFFFFF", "#F2F2F2", "#FBE9C9", "#DCEBF7", "#DDF1EA")
HATCH = "#9A9A9A"

CELLS = 360
"""Cells of a filled map along each axis."""

ROOM = 0.075, 0.03
"""The distance to the nearest boundary, as a share of the height, for a long and a short name."""


def grid(axes: Any, right: float, top: float) -> tuple[np.ndarray, np.ndarray]:
    """The middles of the cells of a map from the origin, which fixes the limits of the axes."""
    import numpy as np

    axes.set_xlim(0, right)
    axes.set_ylim(0, top)
    middles = (np.arange(CELLS) + 0.5) / CELLS
    return right * middles, top * middles


def fill(
    axes: Any, xs: np.ndarray, ys: np.ndarray, regimes: np.ndarray, others: Any = None
) -> None:
    """Fill each cell by the number of its regime, hatched where `others` differ; name regions."""
    import numpy as np
    from matplotlib.colors import ListedColormap

    axes.pcolormesh(
        xs,
        ys,
        regimes,
        cmap=ListedColormap(TINTS),
        vmin=-0.5,
        vmax=len(TINTS) - 0.5,
        rasterized=True,
        zorder=0,
    )
    if others is not None:
        hatched = axes.contourf(
            xs, ys, (regimes != others).astype(float), [0.5, 2], colors="none", hatches=["////"]
        )
        hatched.set(edgecolor=HATCH, linewidth=0)
    for number in range(1, len(NAMES)):
        _name(axes, xs, ys, np.asarray(regimes) == number, number)


def _name(axes: Any, xs: np.ndarray, ys: np.ndarray, inside: np.ndarray, number: int) -> None:
    """The name of a regime where its region is widest; short, or none, where it is narrow."""
    import numpy as np
    from scipy.ndimage import distance_transform_edt

    # names are wider than high
    room = distance_transform_edt(np.pad(inside, 1), sampling=(1, 0.55))[1:-1, 1:-1] / CELLS
    long, short = ROOM
    widest = room.max()
    if widest < short:
        return
    wide = np.argwhere(room > 0.95 * widest)
    row, column = wide[abs(wide - wide.mean(axis=0)).sum(axis=1).argmin()]
    text = NAMES[number] if widest < long else f"{NAMES[number]}\n{MEANINGS[number]}"
    place = xs[column], ys[row]
    back = {"facecolor": TINTS[number], "edgecolor": "none", "pad": 1.5}
    axes.text(*place, text, ha="center", va="center", fontsize=8, bbox=back)


def boundaries(
    axes: Any, added: Sequence[float], slopes: Sequence[float], *looks: Mapping[str, Any]
) -> None:
    """The boundaries in the plane of ca and cb: of I, of II and III, of III and IV.

    They are ca = added(1), cb = slope(1), and the curve (added(r), slope(r)), 0 <= r <= 1, where
    added(r) is what misrouting the fraction r adds to the cost.
    """
    first, second, third = looks
    axes.axvline(added[-1], **first)
    axes.plot([0, added[-1]], [slopes[-1]] * 2, **second)
    axes.plot(added, slopes, **third)


def contours(
    axes: Any,
    xs: np.ndarray,
    ys: np.ndarray,
    parts: Sequence[tuple[np.ndarray, np.ndarray, str, str]],
) -> None:
    """Where functions on a grid vanish, each within a region: (values, region, colour, style)."""
    import numpy as np

    for values, region, colour, style in parts:
        shown = np.ma.masked_array(values, ~(region & np.isfinite(values)))
        if shown.count() and shown.min() < 0 < shown.max():
            axes.contour(xs, ys, shown, [0], colors=[colour], linestyles=[style], linewidths=1.5)


def bands(axes: Any, xs: Sequence[float], names: Sequence[str]) -> None:
    """Pale bands along the horizontal axis, with the name of each regime at the top."""
    start = xs[0]
    runs = [(name, len(list(run))) for name, run in groupby(names)]
    done = 0
    for name, length in runs:
        done += length
        stop = (xs[done - 1] + xs[done]) / 2 if done < len(xs) else xs[-1]
        tint = TINTS[NAMES.index(name)] if name in NAMES else TINTS[0]
        axes.axvspan(start, stop, color=tint, linewidth=0, zorder=0)
        if stop - start > 0.03 * (xs[-1] - xs[0]):
            place = (start + stop) / 2, 0.97
            at = axes.get_xaxis_transform()
            axes.text(*place, name, transform=at, ha="center", va="top", fontsize=8)
        start = stop
    axes.set_xlim(xs[0], xs[-1])
