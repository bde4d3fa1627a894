// The time of a training step: forward, loss, backward, clipping and AdamW over fixed random tokens; and beside it the time of the
// matrix products that the step issues and of nothing else, in the same memory: the floor that no bookkeeping can get below.
//
// The model is the one that the PyTorch peer builds (tests/peer): a pre-norm decoder with tanh GELU and a head of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sextant/kernels/gemm.hpp"
#include "sextant/train/batch.hpp"
#include "sextant/train/decoding.hpp"
#include "sextant/train/optimizer.hpp"

namespace sextant {

/// The sizes of a measured model.
struct BenchShape {
  std::string name;
  Index vocab, length, batch, layers, heads, width;
};

/// toy, nano (nanoGPT's CPU recipe), micro, baby (nanoGPT's character model).
const std::vector<BenchShape>& bench_shapes();

class StepBenchmark {
 public:
  /// A scheme with its default settings, in a decoder or, without a causal mask, in an encoder. With `forward_only` a step is what
  /// evaluation does: no gradients, no update.
  StepBenchmark(const BenchShape& shape, const SchemeEntry& scheme, Kind kind = Kind::decoder, bool forward_only = false);

  /// Seconds of one training step.
  double step();
  /// Seconds of its products alone, as the last step issued them.
  double products();

  /// One training step with every op measured for itself.
  void profile(Profile& into);

  /// Multiplications of numbers in one step's products.
  double multiplications() const;

  Index parameters() const { return parameters_.count(); }

 private:
  void train(Profile* profile = nullptr);

  Transformer model_;
  TrainSettings settings_;
  ParameterStore parameters_{1};
  Machine machine_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<Product> products_;
  bool forward_only_;
  std::int64_t done_ = 0;
};

/// The time of one token that is written behind `context` others, with a cache, in a batch of one row; and that of its products alone.
class DecodeBenchmark {
 public:
  DecodeBenchmark(const BenchShape& shape, const SchemeEntry& scheme, Index context);

  /// Seconds of one token. It is forgotten again, so that the next one stands at the same place.
  double token();
  /// Seconds of its products alone, in the same memory.
  double products();

 private:
  void write();

  Transformer model_;
  ParameterStore parameters_{1};
  Index context_;
  CachedDecoder decoder_;
  std::vector<Product> products_;
};

/// What writing token by token costs a model, one row behind a sequence of so many tokens.
struct WritingCost {
  Index cache_bytes_per_token = 0;
  double tokens_per_second = 0;
};
/// Nothing for models that no cache serves, whose numbers a task has to give, or that remember segments.
WritingCost writing_cost(const Transformer& model, ParameterStore& parameters, Index length);

}  // namespace sextant
