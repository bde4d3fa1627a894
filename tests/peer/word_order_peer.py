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


def t5_buckets(T, causal, buckets=32, longest=128):   # [T, T]; where future is seen, half of the buckets are for it
    r = torch.arange(T)[None] - torch.arange(T)[:, None]
    half, n = (buckets, r.neg().clamp(min=0)) if causal else (buckets // 2, r.abs())
    exact = half // 2
    far = exact + (torch.log(n.clamp(min=1) / exact) / math.log(longest / exact) * (half - exact)).long()
    return (0 if causal else (r > 0).long() * half) + torch.where(n < exact, n, far.clamp(max=half - 1))


def linears(*modules, damping=1.0):
    for linear in modules:
        nn.init.normal_(linear.weight, 0, linear.in_features ** -0.5 / damping)
        nn.init.zeros_(linear.bias)


def attend(q, k, v, bias=0.0):                        # [B, H, T, d] each -> [B, T, D]
    return (F.softmax(q @ k.transpose(-2, -1) * (D // H) ** -0.5 + bias, -1) @ v).transpose(1, 2).flatten(2)


def heads(x, parts):                                  # [B, T, parts D] -> parts of [B, H, T, d]
    return x.view(*x.shape[:2], parts, H, D // H).permute(2, 0, 3, 1, 4).unbind()


class Block(nn.Module):
    def __init__(self, layers=L):
        super().__init__()
        self.norm1, self.qkv, self.out = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.norm2, self.up, self.down = nn.LayerNorm(D), nn.Linear(D, FFN), nn.Linear(FFN, D)
        linears(self.qkv, self.up)
        linears(self.out, self.down, damping=math.sqrt(2 * layers))   # what enters the residual stream

    def attention(self, x, bias, turn):               # x [B, T, D]; bias [T, T], [H, T, T] or 0
        q, k, v = heads(self.qkv(self.norm1(x)), 3)
        return x + self.out(attend(turn(q), turn(k), v, bias))

    def feed(self, x):
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    def forward(self, x, bias, turn):
        return self.feed(self.attention(x, bias, turn))


class Position(nn.Module):
    """One scheme in one stack of T places."""

    def __init__(self, T, scheme, causal=False):
        super().__init__()
        self.scheme, place = scheme, torch.arange(T).float()
        if scheme == "learned":
            self.position = nn.Parameter(torch.randn(T, D))
        if scheme == "t5":
            self.position, self.bucket = nn.Parameter(0.02 * torch.randn(32, H)), t5_buckets(T, causal)
        width = D // H if scheme == "rope" else D
        angle = torch.outer(place, 10000 ** (-torch.arange(0, width, 2) / width))
        self.wave = torch.stack((angle.sin(), angle.cos()), -1).view(T, D) if scheme == "sinusoidal" else None
        self.cos, self.sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)
        self.fixed = torch.full((T, T), -math.inf).triu(1) if causal else 0.0
        if scheme == "alibi":
            self.fixed = self.fixed - (place[:, None] - place).abs() * torch.tensor([2 ** (-8 * (h + 1) / H) for h in range(H)])[:, None, None]

    def embed(self, h):
        return h + (self.position if self.scheme == "learned" else self.wave) if self.scheme in ("learned", "sinusoidal") else h

    def bias(self):
        return self.position[self.bucket].permute(2, 0, 1) + self.fixed if self.scheme == "t5" else self.fixed

    def turn(self, q):                                # RoPE, halves layout
        if self.scheme != "rope":
            return q
        a, b = q.chunk(2, -1)
        return q * self.cos + torch.cat((-b, a), -1) * self.sin


class Encoder(nn.Module):
    def __init__(self, V, T, scheme):
        super().__init__()
        self.token = nn.Embedding(V, D)
        nn.init.normal_(self.token.weight, 0, D ** -0.5)
        self.place = Position(T, scheme)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(L)), nn.LayerNorm(D)

    def forward(self, x):                             # x [B, T] -> logits [B, T, V]
        h, bias = self.place.embed(self.token(x) * math.sqrt(D)), self.place.bias()
        for block in self.blocks:
            h = block(h, bias, self.place.turn)
        return self.norm(h) @ self.token.weight.T


def optimizer(net):                                   # no decay on norms, biases and whatever a scheme learns
    decays = lambda name, p: p.dim() == 2 and not name.endswith("position")
    named = list(net.named_parameters())
    return torch.optim.AdamW([{"params": [p for n, p in named if decays(n, p)], "weight_decay": 0.01},
                              {"params": [p for n, p in named if not decays(n, p)], "weight_decay": 0.0}], RATE, betas=(0.9, 0.98), foreach=True)


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
    opt = optimizer(net)
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
