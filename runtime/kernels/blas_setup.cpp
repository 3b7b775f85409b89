// Start-up of the BLAS library. OpenBLAS builds older than the processor take it for one of 2004 and run several times too
// slowly; the cure is to name the kernel set and let the library choose again. All its entry points are looked up at run
// time, so that any other BLAS can be linked instead.

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "runtime/kernels/implementations.h"

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

/// Kernel sets of OpenBLAS that use AVX2 and FMA at least; every other one wastes half of a processor that has them.
bool is_modern(std::string_view core) {
  constexpr std::array modern{"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids", "Excavator"};
  for (const char* name : modern)
    if (same_name(core, name)) return true;
  return false;
}

/// Several ranks share a node: a BLAS that starts threads of its own would oversubscribe it. The user's wish goes first.
void one_thread_each() {
  for (const char* variable : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"})
    if (std::getenv(variable)) return;
  if (auto* set = symbol<void(int)>("openblas_set_num_threads")) set(1);
  if (auto* set = symbol<void(int)>("MKL_Set_Num_Threads")) set(1);
  if (auto* set = symbol<void(long)>("bli_thread_set_num_threads")) set(1);
}

}  // namespace

std::string prepare_blas() {
  auto* core_name = symbol<char*()>("openblas_get_corename");
  if (!core_name) {
    one_thread_each();
    return symbol<void(int)>("MKL_Set_Num_Threads") ? "BLAS: MKL" : "BLAS: system library (not OpenBLAS)";
  }
  const std::string wanted = kernels::preferred_openblas_core();
  std::string core = core_name();
  std::string note;
  if (!wanted.empty() && !is_modern(core) && !std::getenv("OPENBLAS_CORETYPE")) {
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
  if (!wanted.empty() && !is_modern(core))
    text += fmt::format("; warning: these are slow on this processor, set OPENBLAS_CORETYPE={}", wanted);
  return text;
}

}  // namespace sial
