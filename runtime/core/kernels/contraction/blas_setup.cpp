// Start-up of the BLAS library. OpenBLAS builds older than the processor take it for one of 2004, or for one without
// AVX-512, and run two to five times too slowly; the cure is to name the kernel set and let the library choose again.
// All its entry points are looked up at run time, so that any other BLAS can be linked instead.

#include <cblas.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "runtime/core/base/process_limits.h"
#include "runtime/core/kernels/interface/implementations.h"

namespace sial {
namespace {

template <class F>
F* symbol(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
         });
}

/// Bits of the vectors that a kernel set of OpenBLAS uses, with FMA; 0 for all those that waste more than half of a
/// processor of today.
int vector_bits_of(std::string_view core) {
  for (const char* name : {"SkylakeX", "Cooperlake", "SapphireRapids"})
    if (same_name(core, name)) return 512;
  for (const char* name : {"Haswell", "Zen", "Excavator"})
    if (same_name(core, name)) return 256;
  return 0;
}

/// Several ranks share a node: a BLAS that starts threads of its own would oversubscribe it. The user's setting goes
/// first.
void one_thread_each() {
  for (const char* variable : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"})
    if (std::getenv(variable)) return;
  if (auto* set = symbol<void(int)>("openblas_set_num_threads")) set(1);
  if (auto* set = symbol<void(int)>("MKL_Set_Num_Threads")) set(1);
  if (auto* set = symbol<void(long)>("bli_thread_set_num_threads")) set(1);
}

}  // namespace

int kernels::blas_vector_bits() {
  if (auto* core_name = symbol<char*()>("openblas_get_corename")) return vector_bits_of(core_name());
  return processor_facts().vector_bits;
}

std::string prepare_blas() {
  auto* core_name = symbol<char*()>("openblas_get_corename");
  if (!core_name) {
    one_thread_each();
    return symbol<void(int)>("MKL_Set_Num_Threads") ? "BLAS: MKL" : "BLAS: system library (not OpenBLAS)";
  }
  const std::string wanted = kernels::preferred_openblas_core();
  std::string core = core_name();
  std::string note;
  // A processor newer than the library may be taken for an old one, or for one with narrower vectors.
  if (vector_bits_of(wanted) > vector_bits_of(core) && !std::getenv("OPENBLAS_CORETYPE")) {
    auto* quit = symbol<void()>("gotoblas_dynamic_quit");
    auto* init = symbol<void()>("gotoblas_dynamic_init");
    if (quit && init) {
      setenv("OPENBLAS_CORETYPE", wanted.c_str(), 1);
      const std::string detected = core;
      quit();
      init();
      core = core_name();
      note = fmt::format(" (it had taken this processor for {})", detected);
    }
  }
  one_thread_each();
  std::string text = fmt::format("BLAS: OpenBLAS with {} kernels{}", core, note);
  if (vector_bits_of(wanted) > vector_bits_of(core))
    text +=
        (std::getenv("OPENBLAS_CORETYPE")
             ? "; warning: OPENBLAS_CORETYPE asks for these, which are slow on this processor: unset it, or set it to "
             : "; warning: these are slow on this processor, set OPENBLAS_CORETYPE=") +
        wanted;
  return text;
}

void reserve_blas_memory() {
  if (!symbol<char*()>("openblas_get_corename")) return;
  // OpenBLAS has one buffer of this size for each thread that calls it at once, and mmap() in a loop without end where
  // it gets none (releases before 0.3.22, on nearly all processors).
  constexpr std::int64_t buffer = 128 << 20, beside = 4 << 20;
  static const bool reserved = [] {
    require_room_for(buffer + beside, "the work memory of OpenBLAS");
    const double a = 1, x = 1;
    double y = 0;
    cblas_dsymv(CblasColMajor, CblasLower, 1, 1.0, &a, 1, &x, 1, 0.0, &y, 1);  // takes the buffer however small it is
    return y == 1;
  }();
  static_cast<void>(reserved);
}

}  // namespace sial
