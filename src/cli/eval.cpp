// sextant eval: a trained run measured again, also at other lengths.
#include <iostream>
#include <set>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/checks.hpp"
#include "sextant/experiment/comparison.hpp"
#include "sextant/experiment/train_run.hpp"

namespace sextant::cli {

namespace {

void check_lengths(const std::vector<std::int64_t>& lengths, const LoadedRun& run) {
  const Assembly& a = run.assembly;
  require(!find_task(run.settings.task).fixed_length, "--lengths has no effect: the task \"{}\" has one length only; leave it out", run.settings.task);
  std::set<std::int64_t> met;
  for (const std::int64_t length : lengths) {
    require(length >= 1, "--lengths takes numbers from 1, not {}", length);
    require(met.insert(length).second, "--lengths names the length {} twice; keep one", length);
    require(!a.task->is_text() || a.task->test_count(length) > 0, "--lengths {}: the text's validation part is shorter than that; shorten it", length);
    const StreamLengths streams = stream_lengths(*a.task, a.model->model().kind, length);
    try {
      a.model->check_length(streams.tokens, streams.source, fmt::format("--lengths {}", length));
    } catch (const Error& error) {
      throw of_trained_model(error);
    }
  }
}

}  // namespace

int eval(const EvalArguments& arguments) {
  const auto threads = limit_threads(arguments.threads);
  LoadedRun run = load_run(arguments.run);
  for (const std::string& warning : run.warnings) say(warning);
  const Assembly& a = run.assembly;
  if (!arguments.lengths.empty()) check_lengths(arguments.lengths, run);
  const std::vector<std::int64_t> lengths = arguments.lengths.empty() ? a.lengths.evaluated : arguments.lengths;
  RunRecord record = describe(run.settings);
  record.outcome = "done";
  record.blas_kernel = product_kernel();
  record.trained_tokens = stream_lengths(*a.task, a.model->model().kind, a.lengths.longest).tokens;
  record.parameters = run.parameters->count();
  for (const Parameter& p : run.parameters->list())
    if (p.role == Role::position) record.parameters_added += p.count;
  LengthSettings evaluated = a.lengths;
  evaluated.evaluated = lengths;
  record.evaluation = Evaluator(*a.model, *a.task, *run.parameters, a.train, evaluated, std::make_shared<Arena>()).run();
  say(fmt::format("{} at step {}", arguments.run, run.step));
  const std::vector<Cell> cells = compare({record});
  std::cout << (arguments.json ? comparison_json(cells) : fitted_table(cells));
  return well;
}

}  // namespace sextant::cli
