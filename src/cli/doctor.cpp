// sextant doctor: what this machine offers, read back and judged, a line each; exit code 1 when something is wrong.
#include <cmath>
#include <iostream>
#include <thread>

#include "sextant/base/random.hpp"
#include "sextant/cli/common.hpp"
#include "sextant/experiment/digest.hpp"
#include "sextant/experiment/disk.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/machine.hpp"
#include "sextant/experiment/resources.hpp"
#include "sextant/kernels/gemm.hpp"
#include "sextant/kernels/products.hpp"
#include "sextant/kernels/vector.hpp"

namespace sextant::cli {

namespace {

/// Counts what is wrong while printing, or keeps it for JSON.
class Findings {
 public:
  explicit Findings(bool json) : json_(json) {}

  void add(bool right, const std::string& what, const std::string& hint = "") {
    const std::string advice = right ? "" : hint;
    wrong_ += !right;
    if (json_)
      list_.push_back({{"ok", right}, {"what", what}, {"hint", advice}});
    else
      std::cout << fmt::format("{}  {}{}\n", right ? "ok   " : "WRONG", what, advice.empty() ? "" : "; " + advice);
  }

  void finish() const {
    if (json_)
      std::cout << json_text(Json{{"wrong", wrong_}, {"findings", list_}}) << '\n';
    else
      std::cout << (wrong_ == 0 ? "all is well\n" : fmt::format("{} found wrong\n", wrong_));
  }

  int wrong() const { return wrong_; }

 private:
  bool json_;
  int wrong_ = 0;
  Json list_ = Json::array();
};

/// The largest difference of random products from plain loops in double; OpenBLAS has shipped kernels that compute garbage on some processors.
double worst_product() {
  Dice dice(1, "doctor");
  double worst = 0;
  for (int round = 0; round < 200; ++round) {
    const Index m = dice.between(1, 70), n = dice.between(1, 70), k = dice.between(1, 130);
    std::vector<Real> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)), c(static_cast<std::size_t>(m * n), std::nan(""));
    for (Real& x : a) x = static_cast<Real>(dice.uniform() - 0.5);
    for (Real& x : b) x = static_cast<Real>(dice.uniform() - 0.5);
    gemm(m, n, k, 1, {a.data(), k}, {b.data(), n}, 0, c.data(), n);
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < n; ++j) {
        double sum = 0;
        for (Index l = 0; l < k; ++l)
          sum += static_cast<double>(a[static_cast<std::size_t>(i * k + l)]) * static_cast<double>(b[static_cast<std::size_t>(l * n + j)]);
        const double error = std::abs(sum - static_cast<double>(c[static_cast<std::size_t>(i * n + j)]));
        worst = std::isnan(error) ? 1 : std::max(worst, error);
      }
  }
  return worst;
}

/// What can make products here, tried out. A library that nobody is obliged to have is not wrong when it is missing.
void check_products(Findings& findings) {
  findings.add(blas_threads() == 1, fmt::format("OpenBLAS: kernel {}, {} thread (more come from our own loops)", blas_kernel(), blas_threads()),
               "link the pthread flavour of OpenBLAS");
  const auto onednn = Products::Library::onednn;
  for (const Products& products : {Products{}, Products{.library = onednn}, Products{.library = onednn, .bf16 = true}}) {
    try {
      use_products(products);
    } catch (const Error& error) {
      findings.add(true, fmt::format("not to be had here: {}", error.what()));
      continue;
    }
    // A factor in bf16 is off by up to 2^-8 of itself, a product of two below 1/2 by up to 2^-9, and the signs of up to 130 vary.
    const double error = worst_product(), allowed = products.bf16 ? 0.03 : 1e-4;
    findings.add(error < allowed,
                 fmt::format("products in {} by {}, kernel {}: 200 random ones within {:.0e} of plain loops", products.numbers(), product_library(),
                             product_kernel(), error),
                 products.gemm() == "openblas" ? "try another kernel: OPENBLAS_CORETYPE=Haswell" : "use --gemm openblas");
  }
  use_products({});
}

void check_data(Findings& findings) {
  const std::filesystem::path data = shipped_folder("data");
  for (const CheckedFile& file : check_sums(data))
    findings.add(file.state == SumState::ok,
                 "data " + file.name +
                     (file.state == SumState::ok        ? ": sha256 as recorded"
                      : file.state == SumState::missing ? " is missing"
                                                        : " was changed"),
                 "restore it from the sources");
}

}  // namespace

int doctor(const DoctorArguments& arguments) {
  Findings findings(arguments.json);
  const Cpu cpu = read_cpu();
  const Cores cores = read_cores();
  const MemoryGrant memory = read_memory();
  findings.add(true, fmt::format("processor: {}{}{}{}", cpu.model, cpu.avx2 ? ", AVX2" : "", cpu.avx512f ? ", AVX-512" : "", cpu.avx512_bf16 ? ", bf16" : ""));
  findings.add(true, fmt::format("vectors: {} {} at a time ({})", vector::width(), sizeof(Real) == 4 ? "floats" : "doubles", vector::instruction_set()));
  findings.add(cores.granted >= 1, fmt::format("cores: {} granted of {}{}", cores.granted, std::thread::hardware_concurrency(),
                                               cores.quota ? fmt::format(" (quota {:.1f})", *cores.quota) : ""));
  findings.add(
      memory.available > (Index{256} << 20),
      fmt::format("memory: {:.1f} GB granted, {:.1f} GB available", static_cast<double>(memory.granted) / 1e9, static_cast<double>(memory.available) / 1e9),
      "close other programs, or grant the container more");
  check_products(findings);
  const SyncCheck sync = fsync_works(arguments.out);
  findings.add(
      sync.works,
      fmt::format("disk at {}: {}", arguments.out, sync.works ? fmt::format("written, synced and read back in {:.1f} ms", sync.milliseconds) : sync.problem),
      "choose a folder on a local disk with --out");
  const double free = static_cast<double>(free_disk_bytes(arguments.out)) / 1e9;
  findings.add(free > 0.1, fmt::format("disk space: {:.1f} GB free", free), "make room");
  check_data(findings);
  findings.finish();
  return findings.wrong() == 0 ? well : failed;
}

}  // namespace sextant::cli
