#!/usr/bin/python3
"""The whole word-order ablation (experiments/word-order) in eager PyTorch: the figure that `sextant ablate run` is compared with.

80 cells (English and three Korean variants x encoder, decoder, seq2seq x six schemes; encoders with a front token; decoders of one
layer), each with every seed, trained and evaluated as experiment.toml says: 1000 steps of 64 sentences, 512 test examples, every
held-out pair. Each process takes the next run from a shared list and computes on one thread. The held-out pairs are Sextant's
own; first values and batches come from PyTorch's generator. The list goes through the cells in long strides, so that its first N
runs (--limit) are a sample of all of it. Prints one JSON line.
"""
import argparse
import itertools
import json
import math
import multiprocessing
import os
import statistics
import time
from typing import NamedTuple

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"

import torch
import torch.nn as nn
import torch.nn.functional as F

import common
from word_order_peer import B, D, LEXICON, RATE, SCHEMES, Block, Position, attend, heads, linears, optimizer

VARIANTS, KINDS = ["english", "korean_words", "korean_particles", "korean_bare"], ["encoder", "decoder", "seq2seq"]
WARMUP, EVALUATED, TEST_SHARE, STRIDE = 60, 512, 0.2, 31
PAD, BEGIN, SEPARATOR, END, FRONT, AGENT, VERB, PATIENT, SUBJECT, OBJECT, FIRST_WORD = range(11)
NOTHING = -100                                        # no answer is asked here


class Cell(NamedTuple):
    kind: str
    variant: str
    scheme: str
    layers: int = 2
    front_token: bool = False


CELLS = [Cell(k, v, s) for v in VARIANTS for k in KINDS for s in SCHEMES] + [Cell("encoder", "english", s, front_token=True) for s in ("none", "alibi")] \
    + [Cell("decoder", "english", s, layers=1) for s in SCHEMES]


def held_out(a, b):
    """Whether Sextant's split holds out a pair of nouns: the first word of the random stream that bears their names (Philox 4x32)."""
    wide, narrow = 2 ** 64 - 1, 2 ** 32 - 1

    def mix(x):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & wide
        x = (x ^ x >> 27) * 0x94D049BB133111EB & wide
        return x ^ x >> 31

    name = 0xCBF29CE484222325
    for byte in f"split/word_order/{min(a, b)} {max(a, b)}".encode():
        name = (name ^ byte) * 0x100000001B3 & wide
    key = mix((name + mix(0x9E3779B97F4A7C15)) & wide)
    c, k0, k1 = (0, 0, 0, 0), key & narrow, key >> 32
    for _ in range(10):
        m, n = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c, k0, k1 = (n >> 32 ^ c[1] ^ k0, n & narrow, m >> 32 ^ c[3] ^ k1, m & narrow), k0 + 0x9E3779B9 & narrow, k1 + 0xBB67AE85 & narrow
    return (c[1] << 32 | c[0]) >> 11 < TEST_SHARE * 2 ** 53


class Sentences:
    """One variant's events [noun, verb, noun] as token rows, in every order they are said in."""

    def __init__(self, variant, front):
        rows = [line.split("\t") for line in LEXICON.with_name("english.tsv" if variant == "english" else "korean.tsv").read_text("utf-8").splitlines()
                if line and not line.startswith("#")]
        nouns, verbs = ([word for kind, word in rows if kind == k] for k in ("noun", "verb"))
        self.variant, self.front, self.nouns = variant, front, len(nouns)
        self.first_word = FIRST_WORD if variant == "korean_particles" else SUBJECT   # there are no particles of their own elsewhere
        self.first_verb = self.first_word + len(nouns) * (3 if variant == "korean_words" else 1)
        self.vocabulary = self.first_verb + len(verbs)
        self.orders = [True, False] if variant in ("korean_words", "korean_particles") else [True]   # is the agent in front?
        parts = {True: [], False: []}
        for (a, first), (b, second) in itertools.combinations(enumerate(nouns), 2):
            parts[held_out(first, second)] += [(a, v, b) for v in range(len(verbs))]
        self.train, self.test = parts[False], parts[True]

    def say(self, event, first_acts, agent_first):
        """The source, its tags, and what a decoder is to write."""
        a, v, b = event
        agent, patient = (a, b) if first_acts else (b, a)
        word = lambda noun, form=0: self.first_word + noun + form * self.nouns
        verb = ([self.first_verb + v], [VERB])
        marked = self.variant == "korean_words"
        one, other = ([word(agent, marked)], [AGENT]), ([word(patient, 2 * marked)], [PATIENT])
        if self.variant == "korean_particles":
            one, other = (one[0] + [SUBJECT], [AGENT, NOTHING]), (other[0] + [OBJECT], [PATIENT, NOTHING])
        if not agent_first:
            one, other = other, one
        said = [one, verb, other] if self.variant == "english" else [one, other, verb]
        source, tags = (sum((part[i] for part in said), [f] * self.front) for i, f in enumerate((FRONT, NOTHING)))
        return source, tags, [word(agent), verb[0][0], word(patient), END]


class Rows(NamedTuple):
    source: torch.Tensor                              # [N, S]: of an encoder, empty for a decoder
    tokens: torch.Tensor                              # [N, T]: of a decoder, empty for an encoder
    targets: torch.Tensor                             # [N, places]

    def at(self, index):
        return Rows(*(t[index] for t in self))


def present(kind, said):
    source, tokens, targets = [], [], []
    for words, tags, answer in said:
        source.append([] if kind == "decoder" else words)
        opening = [BEGIN] if kind == "seq2seq" else [BEGIN, *words, SEPARATOR]
        tokens.append([] if kind == "encoder" else opening + answer[:-1])
        targets.append(tags if kind == "encoder" else [NOTHING] * (len(opening) - 1) + answer)
    return Rows(torch.tensor(source), torch.tensor(tokens), torch.tensor(targets))


class CrossBlock(Block):
    """A decoder's block that also looks at the encoder's output, without position."""

    def __init__(self, layers):
        super().__init__(layers)
        self.norm3, self.query, self.memory, self.mixed = nn.LayerNorm(D), nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)
        linears(self.query, self.memory)
        linears(self.mixed, damping=math.sqrt(2 * layers))

    def forward(self, x, bias, turn, memory):
        x = self.attention(x, bias, turn)
        (q,), (k, v) = heads(self.query(self.norm3(x)), 1), heads(self.memory(memory), 2)
        return self.feed(x + self.mixed(attend(q, k, v)))


class Stack(nn.Module):
    def __init__(self, cell, T, causal):
        super().__init__()
        self.place = Position(T, cell.scheme, causal)
        block = CrossBlock if causal and cell.kind == "seq2seq" else Block
        self.blocks, self.norm = nn.ModuleList(block(cell.layers) for _ in range(cell.layers)), nn.LayerNorm(D)

    def forward(self, x, *memory):                    # [B, T, D]
        x, bias = self.place.embed(x), self.place.bias()
        for block in self.blocks:
            x = block(x, bias, self.place.turn, *memory)
        return self.norm(x)


class Transformer(nn.Module):
    def __init__(self, cell, vocabulary, rows):
        super().__init__()
        self.token = nn.Embedding(vocabulary, D)
        nn.init.normal_(self.token.weight, 0, D ** -0.5)
        self.encoder = Stack(cell, rows.source.shape[1], False) if cell.kind != "decoder" else None
        self.decoder = Stack(cell, rows.tokens.shape[1], True) if cell.kind != "encoder" else None

    def forward(self, source, tokens):                # -> logits [B, places, V]
        embed = lambda x: self.token(x) * math.sqrt(D)
        h = self.encoder(embed(source)) if self.encoder else None
        if self.decoder:
            h = self.decoder(embed(tokens), h) if self.encoder else self.decoder(embed(tokens))
        return h @ self.token.weight.T


def train(net, opt, rows, steps):
    for step in range(steps):
        progress = (step - WARMUP) / max(1, steps - 1 - WARMUP)
        scale = (step + 1) / WARMUP if step < WARMUP else 0.55 + 0.45 * math.cos(math.pi * progress)
        for group in opt.param_groups:
            group["lr"] = RATE * scale
        batch = rows.at(torch.randint(len(rows.targets), (B,)))
        opt.zero_grad(set_to_none=True)
        F.cross_entropy(net(batch.source, batch.tokens).flatten(0, 1), batch.targets.flatten(), ignore_index=NOTHING).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()


def answers(net, rows, written):
    """[N, asked]: the tags, or an answer written token by token, each fed back."""
    asked = (rows.targets[0] != NOTHING).nonzero().flatten()
    if not written:
        return net(rows.source, rows.tokens).argmax(-1)[:, asked]
    tokens, told = rows.tokens.clone(), []
    tokens[:, asked[1:]] = PAD
    for place in asked.tolist():
        told.append(net(rows.source, tokens)[:, place].argmax(-1))
        if place + 1 < tokens.shape[1]:
            tokens[:, place + 1] = told[-1]
    return torch.stack(told, 1)


@torch.no_grad()
def evaluate(net, cell, sentences):
    said = lambda first_acts, agent_first: present(cell.kind, [sentences.say(e, first_acts, agent_first) for e in sentences.test])
    every = [(e, first_acts, agent_first) for e in sentences.test for agent_first in sentences.orders for first_acts in (True, False)]
    count = min(EVALUATED, len(every))
    examples = present(cell.kind, [sentences.say(*every[i * len(every) // count]) for i in range(count)])
    guessed = net(examples.source, examples.tokens).argmax(-1)
    exact = ((guessed == examples.targets) | (examples.targets == NOTHING)).all(-1)

    written, halves = cell.kind != "encoder", [said(True, True), said(False, True)]
    told, right = [answers(net, rows, written) for rows in halves], []
    for rows, answer in zip(halves, told):
        right.append((answer == rows.targets[:, rows.targets[0] != NOTHING]).all(-1))
    # An encoder's tags are compared word by word, and the nouns of the second half stand the other way round.
    nouns = ([2, 1, 0] if cell.variant == "english" else [1, 0, 2]) if cell.kind == "encoder" else slice(None)
    result = {"exact_match": exact.float().mean().item(), "order_accuracy": (right[0] & right[1]).float().mean().item(),
              "identical_share": (told[0] == told[1][:, nouns]).all(-1).float().mean().item()}
    if len(sentences.orders) > 1:
        scrambled = answers(net, said(True, False), written)
        result["scrambled_identical"] = (scrambled[:, nouns] == told[0]).all(-1).float().mean().item()
    return result


def run(job):
    cell, seed, steps = job
    wall, cpu = time.perf_counter(), time.process_time()
    torch.manual_seed(seed)
    sentences = Sentences(cell.variant, cell.front_token)
    rows = present(cell.kind, [sentences.say(e, first_acts, order) for e in sentences.train for order in sentences.orders for first_acts in (True, False)])
    net = Transformer(cell, sentences.vocabulary, rows)
    train(net, optimizer(net), rows, steps)
    outcome = evaluate(net, cell, sentences)
    return cell, outcome, time.perf_counter() - wall, time.process_time() - cpu


def use_one_thread():
    torch.set_num_threads(1)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seeds", type=common.positive, default=3)
    p.add_argument("--steps", type=common.positive, default=1000, help="fewer than the experiment's, for a quick look at the outcomes")
    p.add_argument("--limit", type=common.positive, metavar="N", help="only the first N runs")
    p.add_argument("--processes", type=common.positive, default=2)
    a = p.parse_args()
    grid = [(CELLS[i * STRIDE % len(CELLS)], seed, a.steps) for seed in range(1, a.seeds + 1) for i in range(len(CELLS))]
    jobs, done, start = grid[:a.limit], {}, time.perf_counter()
    with multiprocessing.Pool(a.processes, use_one_thread) as pool:
        for result in pool.imap_unordered(run, jobs):
            done.setdefault(result[0], []).append(result[1:])
    seconds = time.perf_counter() - start
    cells = [{**cell._asdict(), "seeds": len(done[cell]), **{k: round(statistics.fmean(r[0][k] for r in done[cell]), 4) for k in done[cell][0][0]},
              "ms_per_step": round(1e3 * statistics.fmean(r[1] for r in done[cell]) / a.steps, 2)} for cell in CELLS if cell in done]
    print(json.dumps({"peer": "torch " + torch.__version__, "runs": len(jobs), "grid": len(grid), "processes": a.processes, "steps": a.steps, "seconds": round(seconds, 1),
                      "runs_per_hour": round(3600 * len(jobs) / seconds, 1), "cpu_seconds": round(sum(r[2] for runs in done.values() for r in runs), 1),
                      "cells": cells}))
