#!/usr/bin/python3
"""The English word-order task with an encoder in plain PyTorch: a cross-check and a timing peer.

Input "dog bit man": each word is tagged agent, verb or patient at its own place. Twenty per cent of the unordered noun pairs are
held out, both orders of each; a test pair is "dog bit man" and "man bit dog". order_accuracy: share of pairs with both halves
right; identical_share: share of pairs in which each word gets the same tag in both halves. Prints one JSON line per scheme.
"""
import argparse
import itertools
import json
import math
import pathlib
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

L, D, H, FFN, B, RATE = 2, 32, 4, 128, 64, 2e-3       # layers, width, heads, ffn, batch, learning rate
SCHEMES = ["none", "sinusoidal", "learned", "t5", "alibi", "rope"]
LEXICON = pathlib.Path(__file__).resolve().parents[2] / "data" / "word-order" / "english.tsv"


def t5_buckets(T, buckets=32, longest=128):           # both directions: half of the buckets each
    r = torch.arange(T)[None] - torch.arange(T)[:, None]
    half, exact, n = buckets // 2, buckets // 4, r.abs()
    far = exact + (torch.log(n.clamp(min=1) / exact) / math.log(longest / exact) * (half - exact)).long()
    return (r > 0).long() * half + torch.where(n < exact, n, far.clamp(max=half - 1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.qkv, self.out = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.norm2, self.up, self.down = nn.LayerNorm(D), nn.Linear(D, FFN), nn.Linear(FFN, D)
        for linear in (self.qkv, self.out, self.up, self.down):
            into_residual = linear is self.out or linear is self.down
            nn.init.normal_(linear.weight, 0, (linear.in_features * (2 * L if into_residual else 1)) ** -0.5)
            nn.init.zeros_(linear.bias)

    def forward(self, x, bias, turn):                 # x [B, T, D]; bias [H, T, T] or 0
        n, t, _ = x.shape
        q, k, v = (u.view(n, t, H, D // H).transpose(1, 2) for u in self.qkv(self.norm1(x)).split(D, 2))
        w = F.softmax(turn(q) @ turn(k).transpose(-2, -1) * (D // H) ** -0.5 + bias, -1)
        x = x + self.out((w @ v).transpose(1, 2).reshape(n, t, D))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Encoder(nn.Module):
    def __init__(self, V, T, scheme):
        super().__init__()
        self.scheme, self.token, place = scheme, nn.Embedding(V, D), torch.arange(T).float()
        nn.init.normal_(self.token.weight, 0, D ** -0.5)
        if scheme == "learned":
            self.position = nn.Parameter(torch.randn(T, D))
        if scheme == "t5":
            self.position, self.bucket = nn.Parameter(0.02 * torch.randn(32, H)), t5_buckets(T)
        width = D // H if scheme == "rope" else D
        angle = torch.outer(place, 10000 ** (-torch.arange(0, width, 2) / width))
        self.wave = torch.stack((angle.sin(), angle.cos()), -1).view(T, D) if scheme == "sinusoidal" else None
        self.cos, self.sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)
        self.slopes = -(place[:, None] - place).abs() * torch.tensor([2 ** (-8 * (h + 1) / H) for h in range(H)])[:, None, None]
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(L)), nn.LayerNorm(D)

    def turn(self, q):                                # RoPE, halves layout
        a, b = q.chunk(2, -1)
        return q * self.cos + torch.cat((-b, a), -1) * self.sin

    def forward(self, x):                             # x [B, T] -> logits [B, T, V]
        h, bias = self.token(x) * math.sqrt(D), 0.0
        if self.scheme in ("learned", "sinusoidal"):
            h = h + (self.position if self.scheme == "learned" else self.wave)
        if self.scheme in ("t5", "alibi"):
            bias = self.position[self.bucket].permute(2, 0, 1) if self.scheme == "t5" else self.slopes
        turn = self.turn if self.scheme == "rope" else lambda q: q
        for block in self.blocks:
            h = block(h, bias, turn)
        return self.norm(h) @ self.token.weight.T


def run(scheme, nouns, verbs, front, steps, seed):
    """Words, then the three tags agent, verb, patient, then the front token, share one vocabulary and the tied head."""
    torch.manual_seed(seed)
    words = len(nouns) + len(verbs)
    pairs = list(itertools.combinations(range(len(nouns)), 2))
    order, held = torch.randperm(len(pairs)).tolist(), round(0.2 * len(pairs))
    sentences = lambda chosen: torch.tensor([[(a, len(nouns) + v, b), (b, len(nouns) + v, a)] for a, b in chosen for v in range(len(verbs))])
    test, train = sentences([pairs[i] for i in order[:held]]), sentences([pairs[i] for i in order[held:]]).view(-1, 3)
    put_front = lambda x: F.pad(x, (1, 0), value=words + 3) if front else x
    tags = words + torch.arange(3)
    net = Encoder(words + 4, 3 + front, scheme)
    matrices = [p for n, p in net.named_parameters() if p.dim() == 2 and n != "position"]
    others = [p for n, p in net.named_parameters() if p.dim() != 2 or n == "position"]
    opt = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}], RATE, betas=(0.9, 0.98), foreach=True)
    warmup, start = max(1, min(200, steps // 10)), time.perf_counter()
    for step in range(steps):
        scale = (step + 1) / warmup if step < warmup else 0.55 + 0.45 * math.cos(math.pi * (step - warmup) / (steps - warmup))
        for group in opt.param_groups:
            group["lr"] = RATE * scale
        logits = net(put_front(train[torch.randint(len(train), (B,))]))[:, -3:]
        opt.zero_grad(set_to_none=True)
        F.cross_entropy(logits.reshape(-1, logits.shape[-1]), tags.repeat(B)).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
    seconds = time.perf_counter() - start
    with torch.no_grad():
        answers = net(put_front(test.view(-1, 3)))[:, -3:].argmax(-1).view(-1, 2, 3)
    right = (answers == tags).all(-1)                 # [pairs, 2]
    identical = (answers[:, 0] == answers[:, 1].flip(-1)).all(-1)   # the second half holds the same words backwards
    return {"peer": "torch " + torch.__version__, "scheme": scheme, "front_token": bool(front), "order_accuracy": right.all(-1).float().mean().item(),
            "identical_share": identical.float().mean().item(), "exact_match": right.float().mean().item(), "seconds": round(seconds, 2),
            "ms_per_step": round(1e3 * seconds / steps, 3), "steps": steps, "seed": seed, "test_pairs": len(test),
            "parameters": sum(p.numel() for p in net.parameters())}


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--scheme", choices=[*SCHEMES, "all"], default="all")
    p.add_argument("--front-token", action="store_true", help="one token in front of each sentence")
    p.add_argument("--lexicon", type=pathlib.Path, default=LEXICON, metavar="FILE")
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=1)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    rows = [line.split("\t") for line in a.lexicon.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    nouns, verbs = ([word for kind, word in rows if kind == k] for k in ("noun", "verb"))
    for scheme in SCHEMES if a.scheme == "all" else [a.scheme]:
        print(json.dumps(run(scheme, nouns, verbs, int(a.front_token), a.steps, a.seed)), flush=True)
