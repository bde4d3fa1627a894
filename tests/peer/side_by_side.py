#!/usr/bin/python3
"""Sextant and PyTorch in turns: the training step of every shape, or a token written with a cache, and their ratios.

Each round runs the two programs one after the other, so that a slow moment of the machine falls on both; of all rounds the least time counts,
and of memory the largest. Prints a Markdown table. Needs python3-torch, and a built program (--sextant).
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def lines(command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def steps(a):
    print("| shape | PyTorch ms | MB | library | step ms | products ms | step to products | PyTorch to step | MB | memory to PyTorch's |")
    print("|---|---:|---:|---|---:|---:|---:|---:|---:|---:|")
    for shape in a.shapes:
        peer, ours = [], {gemm: [] for gemm in a.gemm}
        for _ in range(a.rounds):
            peer += lines([sys.executable, HERE / "step_peer.py", "--shape", shape, "--seconds", a.seconds, "--threads", a.threads])
            for gemm in a.gemm:
                library, _, precision = gemm.partition("-")
                ours[gemm] += lines([a.sextant, "bench", "--json", "--shape", shape, "--threads", a.threads, "--gemm", library, "--precision", precision or "float"])
        torch_ms, torch_mb = min(x["step_ms_min"] for x in peer), max(x["peak_mb"] for x in peer)
        for gemm, runs in ours.items():
            step, floor, mb = min(x["step_ms_min"] for x in runs), min(x["floor_ms_min"] for x in runs), max(x["peak_mb"] for x in runs)
            print(f"| {shape} | {torch_ms:.2f} | {torch_mb} | {gemm} ({runs[0]['blas_kernel']}) | {step:.2f} | {floor:.2f} | {step / floor:.2f} | {torch_ms / step:.2f} "
                  f"| {mb:.0f} | {mb / torch_mb:.2f} |", flush=True)


def tokens(a):
    print("| shape | context | PyTorch ms | token ms | products ms | token to products | PyTorch to token |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for shape in a.shapes:
        for context in a.contexts:
            peer, ours = [], []
            for _ in range(a.rounds):
                for threads in (1, 2):
                    peer += lines([sys.executable, HERE / "decode_peer.py", "--shape", shape, "--context", context, "--threads", threads])
                ours += lines([a.sextant, "bench", "--json", "--shape", shape, "--decode", context, "--threads", a.threads])
            torch_ms = min(x["ms_per_token_min"] for x in peer)
            token, floor = min(x["token_ms_min"] for x in ours), min(x["floor_ms_min"] for x in ours)
            print(f"| {shape} | {context} | {torch_ms:.4f} | {token:.4f} | {floor:.4f} | {token / floor:.2f} | {torch_ms / token:.2f} |", flush=True)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["steps", "tokens"])
    p.add_argument("--sextant", default=ROOT / "build" / "release" / "sextant")
    p.add_argument("--shapes", nargs="+", default=None)
    p.add_argument("--gemm", nargs="+", default=["openblas", "onednn", "onednn-bf16"], help="openblas, onednn, onednn-bf16")
    p.add_argument("--contexts", nargs="+", type=int, default=[128, 256, 512, 1024])
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    a.shapes = a.shapes or (["toy", "nano", "micro", "baby"] if a.what == "steps" else ["micro", "baby"])
    steps(a) if a.what == "steps" else tokens(a)
