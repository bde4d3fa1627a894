// sextant eval: a trained run measured again, also at other lengths.
#include <iostream>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/comparison.hpp"
#include "sextant/experiment/train_run.hpp"

namespace sextant::cli {

int eval(const EvalArguments& arguments) {
  const auto threads = limit_threads(arguments.threads);
  LoadedRun run = load_run(arguments.run);
  for (const std::string& warning : run.warnings) say(warning);
  const Assembly& a = run.assembly;
  const std::vector<std::int64_t> lengths = arguments.lengths.empty() ? a.lengths.evaluated : arguments.lengths;
  for (const std::int64_t length : lengths) {
    require(length >= 1, "--lengths takes numbers from 1, not {}", length);
    const StreamLengths streams = stream_lengths(*a.task, a.model->model().kind, length);
    a.model->check_length(streams.tokens, streams.source, fmt::format("--lengths {}", length));
  }
  RunRecord record = describe(run.settings);
  record.outcome = "done";
  record.parameters = run.parameters->count();
  for (const Parameter& p : run.parameters->list())
    if (p.role == Role::position) record.parameters_added += p.count;
  record.evaluation = Evaluator(*a.model, *a.task, *run.parameters, a.train, lengths, a.lengths.shortest, a.lengths.longest, std::make_shared<Arena>()).run();
  say(fmt::format("{} at step {}", arguments.run, run.step));
  const std::vector<Cell> cells = compare({record});
  std::cout << (arguments.json ? comparison_json(cells) : comparison_table(cells));
  return well;
}

}  // namespace sextant::cli
