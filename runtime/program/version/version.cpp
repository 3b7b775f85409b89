#include "runtime/program/version/version.h"

#include <fmt/format.h>

#include "runtime/core/base/formats.h"
#include "runtime/core/bytecode/module.h"
#include "runtime/program/version/commit.h"

namespace sial {

std::string version_text(std::string_view program) {
  std::string text = fmt::format("{} {}\n", program, SIALX_VERSION);
  const auto line = [&](std::string_view what, const auto& value) { text += fmt::format("{}: {}\n", what, value); };
  line("commit", source_commit());
  line("module format (.siox)", module_format_version);
  line("run.json format", run_json_format);
  line("results.h5 format", results_format);
  line("checkpoint format", checkpoint_format);
  line("plugin interface", SIALX_PLUGIN_INTERFACE);
  line("built with MPI", SIALX_BUILT_WITH_MPI);
  line("built with BLAS", SIALX_BUILT_WITH_BLAS);
  line("built with LLVM", SIALX_BUILT_WITH_LLVM);
  line("built with HDF5", SIALX_BUILT_WITH_HDF5);
  line("built with libint", SIALX_BUILT_WITH_LIBINT);
  line("built with TREXIO", SIALX_BUILT_WITH_TREXIO);
  line("built with CUDA headers", "none: the driver's functions are found while programs run");
  return text;
}

}  // namespace sial
