#!/usr/bin/python3
"""One training step of a pre-norm decoder in eager PyTorch: the figure that `sextant bench` is compared with.

A step is forward, cross-entropy, backward, clipping and AdamW, on one random batch: tanh GELU, untied head, learned positions
unless --scheme says otherwise. Prints one JSON line per shape. The shapes (vocabulary, context, batch, layers, heads, width):

  toy     32   16  64  2  4   64          micro  128  128  16  4  4  128
  nano    65   64  12  4  4  128          baby    65  256  16  6  6  384
"""
import argparse
import json
import math
import resource
import statistics
import time
from typing import NamedTuple

import common

common.prefer_openmp()

import torch
import torch.nn as nn
import torch.nn.functional as F


class Shape(NamedTuple):
    vocab: int
    length: int
    batch: int
    layers: int
    heads: int
    width: int


SHAPES = {"toy": Shape(32, 16, 64, 2, 4, 64), "nano": Shape(65, 64, 12, 4, 4, 128),
          "micro": Shape(128, 128, 16, 4, 4, 128), "baby": Shape(65, 256, 16, 6, 6, 384)}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, bias, turn):                 # x [B, T, D]; bias [T, T] or [H, T, T]
        q, k, v = (u.unflatten(-1, (self.heads, -1)).transpose(1, 2) for u in self.qkv(self.norm1(x)).chunk(3, -1))
        weights = F.softmax(turn(q) @ turn(k).transpose(-2, -1) * q.shape[-1] ** -0.5 + bias, -1)
        x = x + self.out((weights @ v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Decoder(nn.Module):
    def __init__(self, shape, scheme="learned", length=None):
        super().__init__()
        T, H, D = length or shape.length, shape.heads, shape.width
        self.token, self.scheme = nn.Embedding(shape.vocab, D), scheme
        self.position = nn.Embedding(T, D) if scheme == "learned" else None
        self.blocks = nn.ModuleList(Block(D, H) for _ in range(shape.layers))
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, shape.vocab, bias=False)
        place = torch.arange(T).float()
        self.bias = torch.full((T, T), -math.inf).triu(1)
        if scheme == "alibi":
            self.bias = self.bias - torch.tensor([2 ** (-8 * h / H) for h in range(1, H + 1)]).view(H, 1, 1) * (place[:, None] - place).abs()
        angle = torch.outer(place, 10000 ** (-torch.arange(0, D // H, 2) / (D // H))).repeat(1, 2)
        self.cos, self.sin = angle.cos(), angle.sin()

    def turn(self, q):                                # RoPE, halves layout
        a, b = q.chunk(2, -1)
        return q * self.cos + torch.cat((-b, a), -1) * self.sin

    def forward(self, x):                             # x [B, T] -> logits [B, T, V]
        h = self.token(x) if self.position is None else self.token(x) + self.position.weight
        turn = self.turn if self.scheme == "rope" else lambda q: q
        for block in self.blocks:
            h = block(h, self.bias, turn)
        return self.head(self.norm(h))


def measure(name, scheme, threads, seconds):
    shape = SHAPES[name]
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    net = Decoder(shape, scheme)
    opt = torch.optim.AdamW(net.parameters(), 1e-3, weight_decay=0.1, foreach=True)
    inputs, targets = torch.randint(shape.vocab, (2, shape.batch, shape.length))

    def step():
        start = time.perf_counter()
        loss = F.cross_entropy(net(inputs).flatten(0, 1), targets.flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return time.perf_counter() - start

    step()                                            # the first step warms up
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        times.append(step())
    median = statistics.median(times)
    return {"peer": "torch " + torch.__version__, "shape": name, "scheme": scheme, "threads": threads, "step_ms_median": round(1e3 * median, 3),
            "step_ms_min": round(1e3 * min(times), 3), "tokens_per_s": round(shape.batch * shape.length / median), "steps": len(times),
            "blas": common.blas(), "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shape", choices=[*SHAPES, "all"], default="all")
    p.add_argument("--scheme", choices=["none", "learned", "rope", "alibi"], default="learned")
    p.add_argument("--threads", type=common.positive, default=2)
    p.add_argument("--seconds", type=float, default=3.0, help="for each shape, and at least 5 steps")
    common.blas_option(p)
    a = p.parse_args()
    for name in SHAPES if a.shape == "all" else [a.shape]:
        print(json.dumps(measure(name, a.scheme, a.threads, a.seconds)), flush=True)
