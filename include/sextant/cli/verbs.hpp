// The verbs of the command line, each with its arguments as plain data. program.cpp parses (the only file that includes CLI11),
// one file a verb does the work and returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "sextant/base/real.hpp"

namespace sextant::cli {

/// Where a configuration comes from: files, later over earlier, then single assignments.
struct ConfigurationArguments {
  std::vector<std::string> models;       ///< --model FILE, under everything else
  std::vector<std::string> files;        ///< --config FILE
  std::vector<std::string> assignments;  ///< --set key=value
  std::string gemm;                      ///< --gemm NAME, short for --set train.gemm=NAME; empty: not given
  std::string precision;                 ///< --precision WORD, likewise for train.precision
};

struct TrainArguments {
  ConfigurationArguments configuration;
  std::string out;
  int threads = 0;  ///< 0: all that are granted
  bool quiet = false, json = false;
  int parent = 0;  ///< stop, after a checkpoint, when this process ends; 0: whatever others do
};
int train(const TrainArguments& arguments);

struct BenchArguments {
  std::string shape = "all";
  std::vector<std::string> schemes = {"learned"};
  std::int64_t length = 0, batch = 0;  ///< 0: the shape's own
  std::int64_t rounds = 0;             ///< 0: as many as take three seconds a scheme, at least five
  int threads = 0;
  std::string gemm = "openblas", precision = "float";
  std::string kind = "decoder";
  bool forward = false;                ///< no gradients and no update
  std::vector<std::int64_t> contexts;  ///< tokens before the one that is written; empty: training steps are measured
  bool profile = false;                ///< time and bytes by op instead
  bool json = false;
};
int bench(const BenchArguments& arguments);

struct EvalArguments {
  std::string run;
  std::vector<std::int64_t> lengths;  ///< empty: the configured ones
  int threads = 0;
  bool json = false;
};
int eval(const EvalArguments& arguments);

struct GenerateArguments {
  std::string run, prompt;
  Index tokens = 200, context = 0, top_k = 0;
  double temperature = 0;
  std::int64_t seed = 1;
  bool json = false;
};
int generate(const GenerateArguments& arguments);

struct ExplainArguments {
  std::string scheme, kind = "decoder";
  std::vector<std::string> assignments;
  Index length = 64;
  bool json = false;
};
int explain(const ExplainArguments& arguments);

struct DiffArguments {
  std::string first, second;
  bool all = false, json = false;
};
int diff(const DiffArguments& arguments);

struct ExtendArguments {
  std::string run, out;
  std::vector<std::string> assignments;
  Index finetune_steps = 0;
  int threads = 0;
  bool quiet = false, json = false;
};
int extend(const ExtendArguments& arguments);

struct AblateArguments {
  std::string action;  ///< plan, run or status
  std::string experiment;
  ConfigurationArguments configuration;
  std::string out;  ///< empty: runs/<experiment's name>
  Index jobs = 0;   ///< 0: as many as cores are granted
  bool retry_failed = false, json = false, markdown = false;
};
int ablate(const AblateArguments& arguments);

struct DemoArguments {
  std::string out = "runs/demo";
  std::string gemm, precision;  ///< the library of products, and what it multiplies; empty: the default
  Index jobs = 0;
  bool json = false;
};
int demo(const DemoArguments& arguments);

struct ReportArguments {
  std::string folder, baseline;
  std::vector<std::string> metrics;
  bool full = false, json = false, markdown = false, latex = false;
};
int report(const ReportArguments& arguments);

struct TaskArguments {
  std::string name;
  std::vector<std::string> assignments;
  std::string kind = "decoder";
  std::int64_t length = 0;  ///< 0: the shortest trained one that shows something
  std::int64_t samples = 3, seed = 1;
  bool json = false;
};
int task_show(const TaskArguments& arguments);

struct ListArguments {
  std::string what;  ///< schemes, tasks, models, experiments; empty: all
  bool json = false;
};
int list(const ListArguments& arguments);

struct VerifyArguments {
  std::vector<std::string> files;
  bool here = false;  ///< read the file in this process, not in a child of its own
  bool json = false;
};
int verify(const VerifyArguments& arguments);

struct DoctorArguments {
  std::string out = ".";
  bool json = false;
};
int doctor(const DoctorArguments& arguments);

struct ConfigArguments {
  std::string action;  ///< show or check
  ConfigurationArguments configuration;
  bool json = false;
};
int config(const ConfigArguments& arguments);

}  // namespace sextant::cli
