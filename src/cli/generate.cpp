// sextant generate: what a trained run writes after a prompt, or the tags it gives to the prompt's words.
#include <iostream>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/checks.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/train_run.hpp"
#include "sextant/train/generation.hpp"

namespace sextant::cli {

namespace {

Generated answer_of(LoadedRun& run, const std::string& prompt, const GenerationSettings& settings) {
  try {
    const Task& task = *run.assembly.task;
    return sextant::generate(*run.assembly.model, task, *run.parameters, task.encode(prompt), run.assembly.lengths.longest, settings);
  } catch (const Error& error) {
    throw of_trained_model(error);
  }
}

}  // namespace

int generate(const GenerateArguments& arguments) {
  require(arguments.context >= 0, "--context takes a number from 0, not {}", arguments.context);
  require(arguments.seed >= 0, "--seed takes a number from 0, not {}", arguments.seed);
  LoadedRun run = load_run(arguments.run);
  for (const std::string& warning : run.warnings) say(warning);
  const Task& task = *run.assembly.task;
  const GenerationSettings settings{.most = arguments.tokens,
                                    .context = arguments.context,
                                    .temperature = arguments.temperature,
                                    .top_k = arguments.top_k,
                                    .seed = static_cast<std::uint64_t>(arguments.seed)};
  const Generated answer = answer_of(run, arguments.prompt, settings);
  const std::string text = task.decode(answer.tokens);
  if (answer.cut) say("the sequence outgrew the model's context; each token saw the last part of it, numbered anew (--context changes its length)");
  if (answer.uncacheable) say("position.extension.follow_length is not decode-exact: nothing was cached, every token was a pass over all before it");
  if (arguments.json)
    std::cout << json_text(Json{{"prompt", arguments.prompt},
                                {"tags", answer.tags},
                                {"answer", text},
                                {"tokens", answer.tokens},
                                {"temperature", settings.temperature},
                                {"top_k", settings.top_k},
                                {"seed", settings.seed},
                                {"step", run.step}})
              << '\n';
  else
    std::cout << (task.is_text() ? arguments.prompt + text : text) << '\n';
  return well;
}

}  // namespace sextant::cli
