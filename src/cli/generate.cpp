// sextant generate: what a trained run writes after a prompt, or the tags it gives to the prompt's words.
#include <iostream>

#include <nlohmann/json.hpp>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/train_run.hpp"
#include "sextant/train/generation.hpp"

namespace sextant::cli {

int generate(const GenerateArguments& arguments) {
  LoadedRun run = load_run(arguments.run);
  for (const std::string& warning : run.warnings) say(warning);
  const Task& task = *run.assembly.task;
  const GenerationSettings settings{
      .most = arguments.tokens, .context = arguments.context, .temperature = arguments.temperature, .top_k = arguments.top_k, .seed = arguments.seed};
  const Generated answer = sextant::generate(*run.assembly.model, task, *run.parameters, task.encode(arguments.prompt), run.assembly.lengths.longest, settings);
  const std::string text = task.decode(answer.tokens);
  if (answer.cut) say("the sequence outgrew the model's context; each token saw the last part of it, numbered anew (--context changes its length)");
  if (arguments.json)
    std::cout << nlohmann::ordered_json{{"prompt", arguments.prompt},          {"tags", answer.tags},     {"answer", text},        {"tokens", answer.tokens},
                                        {"temperature", settings.temperature}, {"top_k", settings.top_k}, {"seed", settings.seed}, {"step", run.step}}
                     .dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
              << '\n';
  else
    std::cout << (task.is_text() ? arguments.prompt + text : text) << '\n';
  return well;
}

}  // namespace sextant::cli
