// The record of one run: what was trained, with which settings, and what came out. Written as result.json into the run's
// folder, read by the comparison. No result is ever without the settings that made it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sextant/experiment/configuration.hpp"
#include "sextant/train/evaluator.hpp"

namespace sextant {

/// A point of a training's curve: one evaluation at one length.
struct CurvePoint {
  std::int64_t step = 0;
  Index length = 0;
  bool inside = true;
  double loss = 0, exact_match = 0, token_accuracy = 0;
};

struct RunRecord {
  std::string outcome;                      ///< "done" or "diverged"
  std::string problem;                      ///< of a diverged run: step and tensor
  std::string identity;                     ///< of the whole configuration, seed included
  std::string settings_key;                 ///< 8 hex digits, the same for runs that differ in the seed alone
  std::string task, variant, kind, scheme;  ///< `variant` is empty for tasks without; `scheme` with the knobs that are not default
  std::int64_t layers = 0, seed = 0, steps = 0;
  bool front_token = false;
  std::string settings;                          ///< the resolved configuration as TOML
  std::string position;                          ///< the position record as JSON (position_record.hpp)
  Index parameters = 0, parameters_added = 0;    ///< all, and those of the position schemes
  double milliseconds_per_step = 0;              ///< median
  double seconds = 0;                            ///< of training, all sessions together
  double peak_megabytes = 0;                     ///< of memory, of the process that trained
  Index cache_bytes_per_token = 0;               ///< of a decoder that writes token by token; 0 where nothing is written so
  double tokens_per_second_written = 0;          ///< likewise, one row behind a sequence of the trained length
  std::int64_t deployment_length = 0;            ///< the length that the model is meant for: task.deployment_length, else the longest evaluated one
  std::vector<std::int64_t> distance_bins = {};  ///< where bins of distances begin; empty: powers of two
  std::string gemm;                              ///< the library of matrix products: "openblas" or "onednn"; the bits depend on it,
  std::string blas_kernel;                       ///< on the kernel that it chose for the processor,
  std::string precision, products;               ///< on the build's numbers ("float32"), and on those that matrix products multiply ("bf16")
  std::int64_t trained_shortest = 0, trained_longest = 0;
  std::int64_t trained_tokens = 0;  ///< of the stream of an example of the longest trained length
  std::string context;              ///< every setting but those of positions and the seed, a line "key = value" each: what a fair comparison keeps the same
  Evaluation evaluation;
  std::vector<LengthResult> before = {};  ///< of a derived run: its parent at the same lengths
  std::vector<CurvePoint> curve = {};     ///< the evaluations during the training, and the last one
};

/// What the configuration says, without results, and without the kernel, which is known once the library is in use.
RunRecord describe(const RunSettings& run);

/// "t5(buckets=16)": the scheme with its knobs that differ from the default; "encoder=none decoder=rope" where the stacks differ.
std::string scheme_label(const RunSettings& run);

std::string to_json(const RunRecord& record);

/// Throws an Error of the kind damaged, naming the file, when it is no record.
RunRecord read_record(const std::filesystem::path& file);

}  // namespace sextant
