#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/kernels/implementations.h"

namespace sial {

std::unique_ptr<Kernels> make_kernels(const std::string& name, BufferResource& workspace) {
  if (name == "reference") return kernels::make_reference_kernels();
  if (name == "blas") return kernels::make_blas_kernels(workspace);
  throw SialError(fmt::format("there are no kernels called `{}`", name), "known kernels: blas, reference");
}

}  // namespace sial
