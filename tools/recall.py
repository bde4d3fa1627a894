#!/usr/bin/python3
"""Recall by place and distance: tools/recall.py runs/NAME [--length 256] [--out recall.png]

A picture for each scheme: tenths of the source from left to right, distances upward, all seeds together, n in each cell. Cells of fewer than
30 tokens are left grey."""
import argparse
import pathlib
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("folder", type=pathlib.Path)
arguments.add_argument("--length", type=int, help="without: the longest")
arguments.add_argument("--out", type=pathlib.Path)
given = arguments.parse_args()

figures = pd.read_csv(given.folder / "results.csv", keep_default_na=False)
recall = figures[figures.metric == "recall"]
if recall.empty:
    raise SystemExit(f"{given.folder}: no recall; what is asked in these tasks has no place")
recall = recall.assign(length=recall.length.astype(int), value=recall.value.astype(float), n=recall.n.astype(int))
length = given.length or recall.length.max()
recall = recall[recall.length == length]
if recall.empty:
    raise SystemExit(f"{given.folder}: nothing was evaluated at length {length}")
places = sorted(recall.place.unique())
distances = sorted(recall.distance.unique(), key=lambda name: int(name.split()[0]))
schemes = list(recall.groupby(["task", "scheme", "settings"], sort=False))
names = [(task, scheme) for (task, scheme, _), _ in schemes]
columns = min(4, len(schemes))
lines = -(-len(schemes) // columns)
picture, axes = plt.subplots(lines, columns, figsize=(5 * columns, 4 * lines), squeeze=False, layout="constrained")
for axis in axes.flat[len(schemes) :]:
    axis.set_visible(False)
for axis, ((task, scheme, settings), runs) in zip(axes.flat, schemes):
    name = f"{task}, {scheme}" + (f" [{settings}]" if names.count((task, scheme)) > 1 else "")
    share = np.full((len(distances), len(places)), np.nan)
    for (place, distance), cell in runs.groupby(["place", "distance"]):
        y, x = distances.index(distance), places.index(place)
        n = cell.n.sum()
        if n >= 30:
            share[y, x] = (cell.value * cell.n).sum() / n
        axis.text(x, y, n, ha="center", va="center", fontsize=6, color="white" if share[y, x] < 0.6 else "black")
    axis.set_facecolor("lightgrey")
    image = axis.imshow(share, origin="lower", vmin=0, vmax=1, cmap="viridis", aspect="auto")
    axis.set(title="\n".join(textwrap.wrap(name, 45)) + f"\nlength {length} ({runs.region.iloc[0]})", xlabel="place of the fact, tenths", ylabel="distance")
    axis.set_xticks(range(len(places)), [p.split()[0] for p in places], fontsize=7)
    axis.set_yticks(range(len(distances)), distances, fontsize=7)
picture.colorbar(image, ax=axes, label="share answered right")
out = given.out or given.folder / "recall.png"
picture.savefig(out, dpi=120)
print(out)
