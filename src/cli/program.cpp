// The program: parses the command line, calls a verb, turns errors into one line and an exit code.
#include <csignal>
#include <iostream>

#include <CLI/CLI.hpp>

#include "sextant/cli/common.hpp"
#include "sextant/cli/program.hpp"

namespace sextant::cli {

namespace {

void add_configuration(CLI::App* verb, ConfigurationArguments& arguments) {
  verb->add_option("--config", arguments.files, "a file of settings; repeatable, later ones win");
  verb->add_option("--model", arguments.models, "a file with [model] alone, under everything else, for instance models/nano.toml");
  verb->add_option("--set", arguments.assignments, "one setting, above everything: --set position.scheme=rope; repeatable");
  verb->add_option("--gemm", arguments.gemm, "the library of matrix products, openblas or onednn: short for --set train.gemm=NAME");
  verb->add_option("--precision", arguments.precision, "of matrix products: float, or bf16 (with --gemm onednn); short for --set train.precision=WORD");
}

void add_threads(CLI::App* verb, int& threads) { verb->add_option("--threads", threads, "threads; 0: all cores granted")->check(CLI::Range(0, 1024)); }

/// The arguments of all verbs, and the parser that fills them.
struct Program {
  CLI::App app{"Sextant trains small transformers under every position scheme, and compares them honestly.", "sextant"};
  TrainArguments train;
  EvalArguments eval;
  GenerateArguments generate;
  ExplainArguments explain;
  DiffArguments diff;
  ExtendArguments extend;
  AblateArguments ablate;
  DemoArguments demo;
  ReportArguments report;
  TaskArguments task;
  ListArguments list;
  VerifyArguments verify;
  DoctorArguments doctor;
  BenchArguments bench;
  ConfigArguments config;

  Program() {
    app.require_subcommand(1);
    app.set_version_flag("--version", "sextant 0.1.0");
    app.footer(
        "Results go to stdout, all else to stderr. Exit codes: 0 well, 1 failed, 2 usage or configuration, 3 input data, 4 diverged,\n"
        "5 an ablation with failed runs, 6 damaged file, 7 verification failed, 75 and 130 stopped by SIGTERM and SIGINT after a checkpoint.");

    auto* verb = app.add_subcommand("demo", "a minute of training: word order under six schemes in three kinds of transformer, and the table");
    verb->add_option("--out", demo.out, "the folder of its runs")->capture_default_str();
    verb->add_option("--jobs", demo.jobs, "trainings side by side; 0: as many as cores")->check(CLI::Range(0, 1024));
    verb->add_option("--gemm", demo.gemm, "the library of matrix products: openblas or onednn");
    verb->add_option("--precision", demo.precision, "of matrix products: float, or bf16 (with --gemm onednn)");
    verb->add_flag("--json", demo.json, "the table as JSON");

    verb = app.add_subcommand("train", "train one model, or continue where it stopped");
    add_configuration(verb, train.configuration);
    verb->add_option("--out", train.out, "the run's folder; without: runs/<task>-<identity>");
    add_threads(verb, train.threads);
    verb->add_flag("--quiet", train.quiet, "no progress and no table");
    verb->add_flag("--json", train.json, "the result as JSON");
    verb->add_option("--parent", train.parent, "stop, after a checkpoint, when the process of this number ends; how ablate keeps its runs together");

    verb = app.add_subcommand("eval", "measure a trained run again");
    verb->add_option("run", eval.run, "the run's folder")->required();
    verb->add_option("--lengths", eval.lengths, "lengths to evaluate instead of the configured ones")->delimiter(',');
    add_threads(verb, eval.threads);
    verb->add_flag("--json", eval.json, "the result as JSON");

    verb = app.add_subcommand("generate", "what a trained run answers to a prompt");
    verb->add_option("run", generate.run, "the run's folder")->required();
    verb->add_option("--prompt", generate.prompt, "the prompt: text, or words of the task's vocabulary")->required();
    verb->add_option("--tokens", generate.tokens, "tokens to write at most")->capture_default_str();
    verb->add_option("--temperature", generate.temperature, "0: always the likeliest token; higher: more varied")->capture_default_str();
    verb->add_option("--top-k", generate.top_k, "sample among the k likeliest; 0: among all")->capture_default_str();
    verb->add_option("--context", generate.context, "tokens that the model looks at; 0: the trained length")->capture_default_str();
    verb->add_option("--seed", generate.seed, "of the samples")->capture_default_str();
    verb->add_flag("--json", generate.json, "the answer as JSON");

    auto* group = app.add_subcommand("ablate", "train a grid of runs, and compare them");
    group->require_subcommand(1);
    for (const auto& [action, help] :
         {std::pair{"plan", "the runs, the time and the disk they will take; writes nothing"}, std::pair{"run", "train what is not done yet, then compare"},
          std::pair{"status", "what is done, and the comparison of it"}}) {
      verb = group->add_subcommand(action, help);
      verb->add_option("experiment", ablate.experiment, "the experiment's file, with an [ablate] table")->required();
      add_configuration(verb, ablate.configuration);
      const std::string name = action;
      verb->add_option("--out", ablate.out, "the ablation's folder; without: runs/<experiment>");
      if (name != "status") verb->add_option("--jobs", ablate.jobs, "trainings side by side, one thread each; 0: as many as cores")->check(CLI::Range(0, 1024));
      if (name == "run") verb->add_flag("--retry-failed", ablate.retry_failed, "train failed runs again");
      verb->add_flag("--json", ablate.json, name == "plan" ? "the plan as JSON" : "the comparison as JSON");
      if (name != "plan") verb->add_flag("--markdown", ablate.markdown, "the comparison as a Markdown table");
      verb->callback([this, name] { ablate.action = name; });
    }

    verb = app.add_subcommand("report", "the runs of a folder compared: by length, with intervals and tests, and in full by place, distance and order");
    verb->add_option("folder", report.folder, "the folder of an ablation or of one run")->required();
    verb->add_option("--baseline", report.baseline, "the scheme that others are compared with; without: none, else the first");
    verb->add_option("--metric", report.metrics, "figures to show by length instead of those that suit the task")->delimiter(',');
    verb->add_flag("--full", report.full, "every table: recall by place and distance, order, what is written, loss by place, cost");
    auto* json = verb->add_flag("--json", report.json, "the comparison as JSON");
    auto* markdown = verb->add_flag("--markdown", report.markdown, "as Markdown")->excludes(json);
    verb->add_flag("--latex", report.latex, "as LaTeX")->excludes(json)->excludes(markdown);

    auto* tasks = app.add_subcommand("task", "look at a task");
    tasks->require_subcommand(1);
    verb = tasks->add_subcommand("show", "what a task asks, and samples with the scored tokens marked");
    verb->add_option("name", task.name, "the task's name")->required();
    verb->add_option("--set", task.assignments, "a setting of the task: --set task.symbols=5; repeatable");
    verb->add_option("--kind", task.kind, "the transformer that reads it: encoder, decoder or seq2seq")
        ->check(CLI::IsMember({"encoder", "decoder", "seq2seq"}));
    verb->add_option("--length", task.length, "of the samples; without: a short trained one")->check(CLI::Range(1, 1 << 20));
    verb->add_option("--samples", task.samples, "how many of each split")->check(CLI::Range(1, 1000))->capture_default_str();
    verb->add_option("--seed", task.seed, "of the samples")->capture_default_str();
    verb->add_flag("--json", task.json, "as JSON");

    verb = app.add_subcommand("list", "schemes, tasks, models and experiments");
    verb->add_option("what", list.what, "schemes, tasks, models or experiments; without: all")
        ->check(CLI::IsMember({"schemes", "tasks", "models", "experiments"}));
    verb->add_flag("--json", list.json, "as JSON, with all knobs");

    verb = app.add_subcommand("explain", "the page of a position scheme: formula, settings, a chart of its score against distance");
    verb->add_option("scheme", explain.scheme, "the scheme's name")->required();
    verb->add_option("--kind", explain.kind, "the stack it is shown in")->check(CLI::IsMember({"encoder", "decoder"}))->capture_default_str();
    verb->add_option("--set", explain.assignments, "a setting: --set position.base=500 or --set model.heads=8; repeatable");
    verb->add_option("--length", explain.length, "the trained length")->capture_default_str();
    verb->add_flag("--json", explain.json, "the position record and the curve as JSON");

    verb = app.add_subcommand("diff", "in which settings two runs differ");
    verb->add_option("first", diff.first, "a run's folder")->required();
    verb->add_option("second", diff.second, "another")->required();
    verb->add_flag("--all", diff.all, "all settings, not those of positions alone");
    verb->add_flag("--json", diff.json, "as JSON");

    verb = app.add_subcommand("extend", "a run derived from a trained one: other position settings, evaluated or trained on");
    verb->add_option("run", extend.run, "the trained run's folder")->required();
    verb->add_option("--set", extend.assignments, "a setting: --set position.extension.method=yarn; repeatable")->required();
    verb->add_option("--finetune-steps", extend.finetune_steps, "steps to train on; 0: none")->check(CLI::Range(0, 1000000000))->capture_default_str();
    verb->add_option("--out", extend.out, "the derived run's folder; without: RUN-extended-<identity>");
    add_threads(verb, extend.threads);
    verb->add_flag("--quiet", extend.quiet, "no progress and no table");
    verb->add_flag("--json", extend.json, "the result as JSON");

    verb = app.add_subcommand("verify", "compare logits, loss and gradients with fixtures of an independent program");
    verb->add_option("files", verify.files, "fixtures, HDF5")->required();
    verb->add_flag("--here", verify.here, "read the files in this process");
    verb->add_flag("--json", verify.json, "the figures as JSON");

    verb = app.add_subcommand("bench", "the time of a training step beside its matrix products alone, and schemes beside each other");
    verb->add_option("--shape", bench.shape, "toy, nano, micro, baby or all")
        ->check(CLI::IsMember({"toy", "nano", "micro", "baby", "all"}))
        ->capture_default_str();
    verb->add_option("--scheme", bench.schemes, "position schemes, measured in turns; or all")->delimiter(',')->capture_default_str();
    verb->add_option("--length", bench.length, "tokens of a sequence instead of the shape's")->check(CLI::Range(1, 1 << 20));
    verb->add_option("--batch", bench.batch, "sequences of a batch instead of the shape's")->check(CLI::Range(1, 1 << 20));
    verb->add_option("--rounds", bench.rounds, "steps of each scheme; without: three seconds of them, at least five")->check(CLI::Range(1, 1000000));
    add_threads(verb, bench.threads);
    verb->add_option("--gemm", bench.gemm, "the library of matrix products: openblas or onednn")->capture_default_str();
    verb->add_option("--precision", bench.precision, "of matrix products: float, or bf16 (with --gemm onednn)")->capture_default_str();
    verb->add_option("--kind", bench.kind, "decoder, or encoder: the same without a causal mask")
        ->check(CLI::IsMember({"decoder", "encoder"}))
        ->capture_default_str();
    verb->add_flag("--forward", bench.forward, "forward passes alone, as evaluation makes them");
    verb->add_option("--decode", bench.contexts,
                     "the time of a token that is written with a cache behind so many others; several are measured one after the other")
        ->delimiter(',')
        ->check(CLI::Range(1, 1 << 20));
    verb->add_flag("--profile", bench.profile, "where the time goes: milliseconds and bytes moved by op, instead of whole steps");
    verb->add_flag("--json", bench.json, "one JSON object a line");

    verb = app.add_subcommand("doctor", "read back and judge what this machine offers");
    verb->add_option("--out", doctor.out, "the folder whose disk is tried")->capture_default_str();
    verb->add_flag("--json", doctor.json, "the findings as JSON");

    group = app.add_subcommand("config", "look at a configuration without training");
    group->require_subcommand(1);
    for (const auto& [action, help] :
         {std::pair{"show", "every value with its origin, as TOML"}, std::pair{"check", "whether it can be trained, all runs of an ablation included"}}) {
      verb = group->add_subcommand(action, help);
      verb->add_option("files", config.configuration.files, "files of settings");
      add_configuration(verb, config.configuration);
      verb->add_flag("--json", config.json, "as JSON");
      verb->callback([this, name = std::string(action)] { config.action = name; });
    }
  }

  int run() {
    if (app.got_subcommand("demo")) return cli::demo(demo);
    if (app.got_subcommand("train")) return cli::train(train);
    if (app.got_subcommand("eval")) return cli::eval(eval);
    if (app.got_subcommand("generate")) return cli::generate(generate);
    if (app.got_subcommand("explain")) return cli::explain(explain);
    if (app.got_subcommand("diff")) return cli::diff(diff);
    if (app.got_subcommand("extend")) return cli::extend(extend);
    if (app.got_subcommand("ablate")) return cli::ablate(ablate);
    if (app.got_subcommand("report")) return cli::report(report);
    if (app.got_subcommand("task")) return cli::task_show(task);
    if (app.got_subcommand("list")) return cli::list(list);
    if (app.got_subcommand("verify")) return cli::verify(verify);
    if (app.got_subcommand("bench")) return cli::bench(bench);
    if (app.got_subcommand("doctor")) return cli::doctor(doctor);
    return cli::config(config);
  }

  /// What to try where memory runs out, in words that the verb takes.
  const char* smaller() const {
    if (!app.got_subcommand("bench")) return "train.batch, model or length";
    return bench.contexts.empty() ? "--batch, --length or --shape" : "--decode or --shape";
  }
};

/// How the user calls the verb that was being parsed, "sextant ablate run"; the program alone where no verb was met.
std::string command_with_verb(const CLI::App& app) {
  std::string text = command();
  for (auto verbs = app.get_subcommands(); !verbs.empty(); verbs = verbs.front()->get_subcommands()) text += " " + verbs.front()->get_name();
  return text;
}

int guarded(Program& program) {
  try {
    return program.run();
  } catch (const Error& error) {
    say(std::string("error: ") + error.what());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    say(fmt::format("error: out of memory; try a smaller {}", program.smaller()));
    return failed;
  } catch (const std::exception& error) {
    say(std::string("error: ") + error.what());
    return failed;
  }
}

}  // namespace

int run(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  if (count > 0) set_command(arguments[0]);
  Program program;
  try {
    program.app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.app.exit(error);
    say(fmt::format("error: {}; see {} --help", error.what(), command_with_verb(program.app)));
    return wrong_usage;
  }
  return guarded(program);
}

}  // namespace sextant::cli
