#!/usr/bin/python3
"""Curves against length: tools/lengths.py runs/NAME [--metric token_accuracy] [--out lengths.png]

One picture for each task: a thin line a seed, a thick one the mean, a dashed line at the longest trained length; what lies right of it is out."""
import argparse
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("folder", type=pathlib.Path)
arguments.add_argument("--metric", default="token_accuracy")
arguments.add_argument("--out", type=pathlib.Path)
given = arguments.parse_args()

figures = pd.read_csv(given.folder / "results.csv", keep_default_na=False)
chosen = figures[(figures.metric == given.metric) & (figures.place == "") & (figures.distance == "")]
if chosen.empty:
    raise SystemExit(f"{given.folder}: no figure {given.metric}; there are {', '.join(sorted(figures.metric.unique()))}")
chosen = chosen.assign(length=chosen.length.astype(int), value=chosen.value.astype(float))
titles = ["task", "variant", "kind", "layers", "trained_length"]
groups = list(chosen.groupby(titles, sort=False))
picture, axes = plt.subplots(1, len(groups), figsize=(5 * len(groups), 4), squeeze=False)
for axis, (title, group) in zip(axes[0], groups):
    names = [scheme for scheme, _ in group.groupby(["scheme", "settings"], sort=False).groups]
    for color, ((scheme, settings), runs) in enumerate(group.groupby(["scheme", "settings"], sort=False)):
        for _, seed in runs.groupby("seed"):
            axis.plot(seed.length, seed.value, color=f"C{color % 10}", linewidth=0.5, alpha=0.5)
        mean = runs.groupby("length").value.mean()
        axis.plot(mean.index, mean, color=f"C{color % 10}", marker="o", linestyle=["-", "--", ":"][color // 10 % 3], label=f"{scheme} [{settings}]" if names.count(scheme) > 1 else scheme)
    axis.axvline(int(title[4]), color="black", linestyle="--", linewidth=1)
    axis.set(title=" ".join(str(t) for t in title[:4] if t != ""), xlabel="length (dashed: the longest trained)", ylabel=given.metric, xscale="log")
    axis.legend(fontsize=7)
out = given.out or given.folder / "lengths.png"
picture.tight_layout()
picture.savefig(out, dpi=120)
print(out)
