// The figures of a run, tidy: one number each, with the length it is of, whether that lies inside the trained lengths, and, where it is of
// a part, which places and distances. Tables, statistics and results.csv are all made of these, so none of them mixes what is inside with
// what is outside.
//
//   metric                       of what                                                        n
//   exact_match                  examples answered right from beginning to end                  examples
//   token_accuracy, loss         asked tokens; token_accuracy:<aspect> of a part of them         asked tokens
//   excess_loss                  loss above that of the law which made the examples             asked tokens
//   chance                       what a guess gets right that knows the task                    asked tokens
//   shared_examples              share of the examples whose source training may draw, too      examples
//   recall                       token accuracy by tenth of the source and by distance          asked tokens of the cell
//   loss_at, excess_loss_at      loss by place in the stream                                    asked tokens of the places
//   order_accuracy, identical_share, scrambled_identical                                        pairs
//   alike_<change>, divergence_<change>   after swap, permutation or reversal of the source     asked tokens
//   written_exact, repetition, well_formed                                                      answers; groups of four tokens
//   bits_per_token               loss of a text in bits                                         asked tokens
//   before:exact_match, before:token_accuracy, before:loss   of a derived run: its parent, in or out of what that was trained on
//   milliseconds_per_step, peak_megabytes, parameters, parameters_added, cache_bytes_per_token, tokens_per_second_written
#pragma once

#include <string>
#include <vector>

#include "sextant/experiment/record.hpp"

namespace sextant {

struct Figure {
  Index length = 0;
  bool inside = true;
  std::string place, distance;  ///< of a part: "0.1 to 0.2", "64 to 71"; "4 to 7"; empty: of all
  std::string metric;
  double value = 0;
  Index n = 0;           ///< how many it is of
  Index successes = -1;  ///< where it is a share of n: how many; -1: it is none
};

/// All figures of a run that is done.
std::vector<Figure> figures_of(const RunRecord& run);

/// "0.1 to 0.2": a tenth of the source, counted from 0.
std::string place_name(Index tenth);

/// Whether a figure of this name is a share of successes.
bool is_share(const std::string& metric);

/// Whether less of it is better.
bool less_is_better(const std::string& metric);

/// The parts in which a loss is told by place: quarters and halves of the trained length, and beyond it 1/8, 1/2, 1, 3, 7 ... of it more.
std::vector<Index> place_edges(Index trained, Index longest);

/// Tidy CSV: experiment, scheme, settings, task, variant, kind, layers, front_token, seed, the library and numbers of its products,
/// trained_length, deployment_length, length, region, place, distance, metric, value, n; a line each. Of a run that diverged one line with
/// the metric "diverged".
std::string results_csv(const std::string& experiment, const std::vector<RunRecord>& records);

}  // namespace sextant
