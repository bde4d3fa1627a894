#!/usr/bin/python3
"""nanoGPT's CPU recipe in plain PyTorch on one text file: the figure that `sextant train` on the task `text` is compared with.

A causal character model: context 64, batch 12, 4 layers, 4 heads, width 128, ffn 512, pre-norm layer norm, exact GELU, learned
positions, tied head, dropout 0. The first 90 % of the characters train, the last 10 % validate. First values, weight decay and
schedule are Sextant's. Prints one JSON line; a sample of 200 characters goes to stderr.

Needs Debian's python3-torch, and runs on the OpenMP flavour of OpenBLAS where that is installed (common.py).
"""
import argparse
import json
import math
import sys
import time

import common

common.prefer_openmp()

import torch
import torch.nn as nn
import torch.nn.functional as F

T, B, L, H, D = 64, 12, 4, 4, 128                     # context, batch, layers, heads, width
RATE, LOWEST, WARMUP, DECAY = 1e-3, 1e-4, 100, 0.1


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.qkv, self.out = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.norm2, self.up, self.down = nn.LayerNorm(D), nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
        for linear in (self.qkv, self.out, self.up, self.down):
            nn.init.normal_(linear.weight, 0, linear.in_features ** -0.5)
            nn.init.zeros_(linear.bias)
        with torch.no_grad():                         # what enters the residual stream grows with the depth
            self.out.weight /= math.sqrt(2 * L)
            self.down.weight /= math.sqrt(2 * L)

    def forward(self, x, hidden):                     # x [B, T, D]; hidden [T, T], -inf above the diagonal
        n, t, _ = x.shape
        q, k, v = (u.view(n, t, H, D // H).transpose(1, 2) for u in self.qkv(self.norm1(x)).split(D, 2))
        w = F.softmax((q @ k.transpose(-2, -1)) * (D // H) ** -0.5 + hidden[:t, :t], -1)
        x = x + self.out((w @ v).transpose(1, 2).reshape(n, t, D))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, V):
        super().__init__()
        self.token, self.position = nn.Embedding(V, D), nn.Embedding(T, D)
        nn.init.normal_(self.token.weight, 0, D ** -0.5)
        nn.init.normal_(self.position.weight, 0, 1)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(L)), nn.LayerNorm(D)
        self.register_buffer("hidden", torch.full((T, T), float("-inf")).triu(1))

    def forward(self, x):                             # x [B, T] -> logits [B, T, V]
        h = self.token(x) * math.sqrt(D) + self.position.weight[: x.shape[1]]
        for block in self.blocks:
            h = block(h, self.hidden)
        return self.norm(h) @ self.token.weight.T

    def loss(self, x, y):
        logits = self(x)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), y.reshape(-1))


def rate(step, steps):                                # step counts from 0
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    return LOWEST + 0.5 * (RATE - LOWEST) * (1 + math.cos(math.pi * (step - WARMUP) / max(1, steps - WARMUP)))


def optimizer(net):
    decayed = [p for name, p in net.named_parameters() if p.dim() == 2 and not name.startswith("position")]
    others = [p for name, p in net.named_parameters() if p.dim() != 2 or name.startswith("position")]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
                             RATE, betas=(0.9, 0.99), eps=1e-8, foreach=True)


def train(net, tokens, steps, draw):
    opt, losses, ahead = optimizer(net), [], torch.arange(T + 1)
    start = time.perf_counter()
    for step in range(steps):
        for group in opt.param_groups:
            group["lr"] = rate(step, steps)
        first = torch.randint(len(tokens) - T, (B, 1), generator=draw)
        rows = tokens[first + ahead]                  # [B, T + 1]: inputs, and the targets one further
        loss = net.loss(rows[:, :-1], rows[:, 1:])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return sum(losses[-100:]) / len(losses[-100:]), time.perf_counter() - start


@torch.no_grad()
def validate(net, tokens):
    """Mean loss in nats over all consecutive windows of T inputs whose targets exist."""
    count, total = (len(tokens) - 1) // T, 0.0
    x, y = tokens[: count * T].view(count, T), tokens[1 : count * T + 1].view(count, T)
    for a, b in zip(x.split(64), y.split(64)):
        total += net.loss(a, b).item() * a.numel()
    return total / (count * T)


@torch.no_grad()
def sample(net, alphabet, length, draw):
    """Characters drawn at temperature 1, after a line end (or the first character of the alphabet)."""
    ids = [max(0, alphabet.find("\n"))]
    for _ in range(length):
        p = F.softmax(net(torch.tensor([ids[-T:]]))[0, -1], -1)
        ids.append(int(torch.multinomial(p, 1, generator=draw)))
    return "".join(alphabet[i] for i in ids[1:])


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--text", required=True, metavar="FILE")
    p.add_argument("--steps", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=2)
    common.blas_option(p)
    a = p.parse_args()
    if a.steps < 1 or a.threads < 1:
        p.error("--steps and --threads must be at least 1")
    with open(a.text, encoding="utf-8", newline="") as f:
        text = f.read()
    alphabet = "".join(sorted(set(text)))
    number = {c: i for i, c in enumerate(alphabet)}
    tokens = torch.tensor([number[c] for c in text])
    cut = len(tokens) * 9 // 10
    if min(cut, len(tokens) - cut) < T + 1:
        p.error(f"{a.text} has {len(tokens)} characters, too few: the train and the validation part need {T + 1} each")
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    draw = torch.Generator().manual_seed(a.seed)
    net = Decoder(len(alphabet))
    last, seconds = train(net, tokens[:cut], a.steps, draw)
    loss = validate(net, tokens[cut:])
    print(json.dumps({"peer": "torch " + torch.__version__, "val_loss": round(loss, 5), "bits_per_character": round(loss / math.log(2), 5),
                      "train_loss": round(last, 5), "seconds": round(seconds, 2), "parameters": sum(q.numel() for q in net.parameters()),
                      "steps": a.steps, "seed": a.seed, "threads": a.threads, "vocab": len(alphabet), "train_tokens": cut,
                      "val_tokens": len(tokens) - cut, "blas": common.blas()}), flush=True)
    print(sample(net, alphabet, 200, draw), file=sys.stderr)
