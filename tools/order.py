#!/usr/bin/python3
"""Order: tools/order.py runs/NAME [--out order.png]

Pairs with the same words in another order, from results.h5 (right in both halves, and answered alike); and how much of the answers stays when
the source is disturbed, from results.csv. Bars are means over seeds, dots the seeds."""
import argparse
import pathlib

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("folder", type=pathlib.Path)
arguments.add_argument("--out", type=pathlib.Path)
given = arguments.parse_args()

with h5py.File(given.folder / "results.h5") as file:
    table = pd.DataFrame({name: data.asstr()[:] if data.dtype == object else data[:] for name, data in file["table"].items()})
figures = pd.read_csv(given.folder / "results.csv", keep_default_na=False)
figures = figures.assign(value=pd.to_numeric(figures.value))


def labels(rows):
    """What each row is of, in words; with the key of its settings where words do not tell two settings apart."""
    words = rows[["task", "variant", "kind", "scheme"]].agg(" ".join, axis=1) + rows.layers.map(lambda n: f", {n} layer{'s' if int(n) > 1 else ''}")
    alike = rows.assign(words=words).groupby("words").settings.transform("nunique") > 1
    return words.where(~alike, words + " [" + rows.settings + "]")


panels = {}
pairs = table[table.pairs > 0]
if not pairs.empty:
    label = labels(pairs)
    panels["pairs in another order"] = {name: pairs[name].groupby(label, sort=False).apply(list) for name in ("order_accuracy", "identical_share")}
alike = figures[figures.metric.str.startswith("alike_") & (figures.region == "in")]
if not alike.empty:
    label = labels(alike)
    panels["answers that stay when the source is disturbed (in)"] = {
        name[6:]: alike[alike.metric == name].value.groupby(label[alike.metric == name], sort=False).apply(list) for name in sorted(alike.metric.unique())
    }
if not panels:
    raise SystemExit(f"{given.folder}: nothing on order was measured")
rows = max(len(next(iter(panel.values()))) for panel in panels.values())
picture, axes = plt.subplots(1, len(panels), figsize=(7 * len(panels), 1 + 0.45 * rows), squeeze=False)
for axis, (title, panel) in zip(axes[0], panels.items()):
    height = 0.8 / len(panel)
    for at, (name, points) in enumerate(panel.items()):
        places = [row + at * height for row in range(len(points))]
        axis.barh(places, [sum(p) / len(p) for p in points], height=height, label=name, alpha=0.6)
        for place, values in zip(places, points):
            axis.plot(values, [place] * len(values), "k.", markersize=3)
    axis.set_yticks([row + 0.4 - height / 2 for row in range(len(points))], points.index, fontsize=7)
    axis.set(title=title, xlim=(0, 1.02))
    axis.legend(fontsize=7)
out = given.out or given.folder / "order.png"
picture.tight_layout()
picture.savefig(out, dpi=120)
print(out)
