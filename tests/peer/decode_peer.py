#!/usr/bin/python3
"""Greedy decoding, one sequence at a time, with a hand-written key/value cache in eager PyTorch: the figure that cached decoding
in Sextant is compared with.

The decoder of step_peer.py with random weights and learned positions (the table as long as the context needs). The prompt is read
in one pass, up to 8 tokens short of the context; 8 uncounted tokens warm up; then --tokens tokens are timed one by one, the first
of which sees `context` cached tokens. Before that, the cached path's logits are compared with those of the whole forward pass.
Prints one JSON line per shape and context, that of the faster number of threads; --threads fixes the number.

What makes eager PyTorch fast here: a cache set aside beforehand, keys as [H, d, T] so that they need no transposing, one matrix for
query, key and value with the 1/sqrt(d) folded in, and matrix-vector products (addmv: on Debian's build a fifth of the time of
F.linear with one row).
"""
import argparse
import json
import statistics
import time

import common
from step_peer import SHAPES, Decoder

import torch
import torch.nn.functional as F

WARMUP = 8


class Cached:
    """A decoder's weights, and room for the keys and values of `length` tokens."""

    def __init__(self, net, shape, length):
        H, D = shape.heads, shape.width
        self.heads, self.width = H, D
        self.token, self.position, self.head, self.norm = net.token.weight, net.position.weight, net.head.weight, (net.norm.weight, net.norm.bias)
        self.layers = []
        for b in net.blocks:
            weight, bias = b.qkv.weight.clone(), b.qkv.bias.clone()
            weight[:D] *= (D // H) ** -0.5
            bias[:D] *= (D // H) ** -0.5
            self.layers.append((b.norm1.weight, b.norm1.bias, weight, bias, b.out.weight, b.out.bias, b.norm2.weight, b.norm2.bias,
                                b.up.weight, b.up.bias, b.down.weight, b.down.bias, torch.zeros(H, D // H, length), torch.zeros(H, length, D // H)))

    def read(self, net, prompt):
        """Fills the cache with the prompt's keys and values; returns the logits behind its last token."""
        t = len(prompt)
        h = self.token[prompt] + self.position[:t]
        for block, layer in zip(net.blocks, self.layers):
            q, k, v = block.qkv(block.norm1(h)).view(t, 3, self.heads, -1).unbind(1)
            layer[-2][:, :, :t], layer[-1][:, :t] = k.permute(1, 2, 0), v.transpose(0, 1)
            h = block(h[None], net.bias[:t, :t], lambda u: u)[0]
        return self.head @ net.norm(h[-1])

    def step(self, token, place):
        """The logits behind one more token, which stands at `place`."""
        H, D, end = self.heads, (self.width,), place + 1
        x = self.token[token] + self.position[place]  # [D]
        for g1, b1, qkv, qkv_bias, out, out_bias, g2, b2, up, up_bias, down, down_bias, keys, values in self.layers:
            q, k, v = torch.addmv(qkv_bias, qkv, F.layer_norm(x, D, g1, b1)).view(3, H, -1).unbind()
            keys.select(2, place).copy_(k)
            values.select(1, place).copy_(v)
            weights = torch.bmm(q.unsqueeze(1), keys.narrow(2, 0, end)).softmax(-1)                       # [H, 1, end]
            x = x + torch.addmv(out_bias, out, torch.bmm(weights, values.narrow(1, 0, end)).view(D))
            x = x + torch.addmv(down_bias, down, F.gelu(torch.addmv(up_bias, up, F.layer_norm(x, D, g2, b2)), approximate="tanh"))
        return torch.mv(self.head, F.layer_norm(x, D, *self.norm))


@torch.inference_mode()
def measure(name, context, tokens, threads):
    shape, length = SHAPES[name], context + tokens
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    net = Decoder(shape, length=length)
    decoder, prompt = Cached(net, shape, length), torch.randint(shape.vocab, (context - WARMUP,))
    logits, text, times = decoder.read(net, prompt), prompt.tolist(), []
    for place in range(len(prompt), length):
        start = time.perf_counter()
        text.append(int(logits.argmax()))
        logits = decoder.step(text[-1], place)
        times.append(time.perf_counter() - start)
    difference = (net(torch.tensor([text]))[0, -1] - logits).abs().max().item()
    assert difference < 1e-3, f"the cached logits differ by {difference}"
    counted = times[WARMUP:]
    return {"peer": "torch " + torch.__version__, "shape": name, "context": context, "tokens": len(counted), "threads": threads,
            "ms_per_token_median": round(1e3 * statistics.median(counted), 4), "ms_per_token_min": round(1e3 * min(counted), 4),
            "tokens_per_s": round(1 / statistics.median(counted), 1), "blas": common.blas()}


def context(text):
    if (n := common.positive(text)) <= WARMUP:
        raise argparse.ArgumentTypeError(f"the context must be longer than the {WARMUP} tokens that warm up")
    return n


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shape", choices=[*SHAPES, "all"], default="all", help="all: micro and baby")
    p.add_argument("--context", type=context, nargs="+", default=[128, 256, 512], metavar="N", help="tokens in the cache before the first that counts")
    p.add_argument("--tokens", type=common.positive, default=128, help="that are timed")
    p.add_argument("--threads", type=common.positive, help="instead of the better of 1 and 2")
    common.blas_option(p)
    a = p.parse_args()
    for name in ["micro", "baby"] if a.shape == "all" else [a.shape]:
        for n in a.context:
            results = [measure(name, n, a.tokens, t) for t in ([a.threads] if a.threads else [1, 2])]
            print(json.dumps(min(results, key=lambda r: r["ms_per_token_median"])), flush=True)
