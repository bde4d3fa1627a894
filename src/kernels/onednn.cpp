// Products by oneDNN. The library is opened only when it is chosen: a program that does without starts as fast as before, and
// runs where it is missing. Its headers are needed to build; without them every request is refused.
//
// oneDNN divides its work by OpenMP. Our own loops call it from each of their threads, so in each of them OpenMP is told to use
// that one only.
#include "backend.hpp"
#include "bf16.hpp"
#include "sextant/base/error.hpp"

#ifdef SEXTANT_ONEDNN

#include <dlfcn.h>

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#ifdef __SANITIZE_ADDRESS__
/// The leak checker of GCC 12 follows the thread-local memory of libraries that were opened at run time, and falls over that of oneDNN's
/// threads when they are gone. It does without here; what our own threads hold it finds all the same.
extern "C" const char* __asan_default_options() { return "intercept_tls_get_addr=0"; }  // NOLINT(bugprone-reserved-identifier)
#endif

namespace sextant {

namespace {

/// Exported by oneDNN 2, but in no public header of it: dnnl_sgemm with operands in bf16.
using Bf16Product = dnnl_status_t(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k, float alpha, const std::uint16_t* a, dnnl_dim_t lda,
                                  const std::uint16_t* b, dnnl_dim_t ldb, float beta, float* c, dnnl_dim_t ldc);

struct Library {
  decltype(dnnl_sgemm)* sgemm = nullptr;
  Bf16Product* bf16 = nullptr;
  decltype(dnnl_version)* version = nullptr;
  decltype(dnnl_get_effective_cpu_isa)* isa = nullptr;
  decltype(dnnl_cpu_isa2str)* isa_name = nullptr;
  void (*set_openmp_threads)(int) = nullptr;
} library;

template <class Function>
void find(void* handle, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(handle, name));
}

void open() {
  if (library.sgemm != nullptr) return;
  void* handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(ErrorKind::usage, "gemm = \"onednn\": oneDNN cannot be loaded ({}); install libdnnl2, or use gemm = \"openblas\"", dlerror());
  Library found;
  find(handle, "dnnl_sgemm", found.sgemm);
  find(handle, "dnnl_gemm_bf16bf16f32", found.bf16);
  find(handle, "dnnl_version", found.version);
  find(handle, "dnnl_get_effective_cpu_isa", found.isa);
  find(handle, "dnnl_cpu_isa2str", found.isa_name);
  find(handle, "omp_set_num_threads", found.set_openmp_threads);
  require(found.sgemm != nullptr && found.version != nullptr && found.isa != nullptr && found.isa_name != nullptr,
          "gemm = \"onednn\": the libdnnl.so.2 that was found is no oneDNN 2.6 with products; install Debian's libdnnl2, or use gemm = \"openblas\"");
  library = found;
}

void use_one_thread() {
  thread_local const bool done = [] {
    if (library.set_openmp_threads != nullptr) library.set_openmp_threads(1);
    return true;
  }();
  (void)done;
}

char letter(const Operand& x) { return x.transposed ? 'T' : 'N'; }

void check(dnnl_status_t status, Index m, Index n, Index k) {
  if (status != dnnl_success)
    fail(ErrorKind::failure, "oneDNN refused a product of [{}, {}] and [{}, {}] with status {}", m, k, k, n, static_cast<int>(status));
}

}  // namespace

void onednn::load(bool bf16) {
  open();
  if (!bf16) return;
  require(bf16::supported(), "precision = \"bf16\": this processor has no AVX512-BF16; use precision = \"float\"");
  require(library.bf16 != nullptr, "precision = \"bf16\": this oneDNN ({}) has no dnnl_gemm_bf16bf16f32; use precision = \"float\"", version());
  const std::uint16_t one = 0x3f80;
  float product = 0;
  use_one_thread();
  require(library.bf16('N', 'N', 1, 1, 1, 1, &one, 1, &one, 1, 0, &product, 1) == dnnl_success && product == 1,
          "precision = \"bf16\": this oneDNN ({}, {}) makes no bf16 products here; use precision = \"float\", or see DNNL_MAX_CPU_ISA", version(),
          instruction_set());
}

std::string onednn::version() {
  const dnnl_version_t* v = library.version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
}

std::string onednn::instruction_set() {
  const std::string name = library.isa_name(library.isa());
  constexpr std::string_view prefix = "cpu_isa_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

void onednn::product(std::uint64_t, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  if (m == 1) return row_product(n, k, alpha, a, b, beta, c);
  use_one_thread();
  check(library.sgemm(letter(a), letter(b), m, n, k, alpha, a.data, a.stride, b.data, b.stride, beta, c, c_stride), m, n, k);
}

void onednn::bf16_product(std::uint64_t call, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  use_one_thread();
  thread_local bf16::Rounded left(1), right(12);  // as many as the weights of a layer, and some
  const Index a_rows = a.transposed ? k : m, a_columns = a.transposed ? m : k;
  const Index b_rows = b.transposed ? n : k, b_columns = b.transposed ? k : n;
  const std::uint16_t* x = left.of(call, a.data, a.stride, a_rows, a_columns);
  const std::uint16_t* y = right.of(call, b.data, b.stride, b_rows, b_columns);
  check(library.bf16(letter(a), letter(b), m, n, k, alpha, x, a_columns, y, b_columns, beta, c, c_stride), m, n, k);
}

}  // namespace sextant

#else

namespace sextant {

namespace {
[[noreturn]] void refuse() {
  fail(ErrorKind::usage, "gemm = \"onednn\" is not built into this program; build it anew where libdnnl-dev is installed, or use gemm = \"openblas\"");
}
}  // namespace

void onednn::load(bool) { refuse(); }
std::string onednn::version() { refuse(); }
std::string onednn::instruction_set() { refuse(); }
void onednn::product(std::uint64_t, Index, Index, Index, Real, Operand, Operand, Real, Real*, Index) { refuse(); }
void onednn::bf16_product(std::uint64_t, Index, Index, Index, Real, Operand, Operand, Real, Real*, Index) { refuse(); }

}  // namespace sextant

#endif
