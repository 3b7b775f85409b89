#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/tiles.h"

namespace sial {

std::unique_ptr<Kernels> make_kernels(const std::string& name, BufferResource& workspace,
                                      const KernelOptions& options) {
  if (name == "auto") return kernels::make_planned_kernels(workspace, options);
  if (name == "reference") return kernels::make_reference_kernels();
  if (name == "blas") return kernels::make_blas_kernels(workspace);
  throw SialError(fmt::format("there are no kernels called `{}`", name), "known kernels: auto, blas, reference");
}

void check_kernel_options(const KernelOptions& options) { kernels::cpu_facts(options.jit_cpu); }

std::string describe_processor() { return kernels::processor_text(); }

std::string describe_kernels(const KernelOptions& options) {
  const auto engine = kernels::make_code_engine({options.jit, true, options.jit_cpu, options.jit_cache});
  const kernels::TileKernels built_in = kernels::builtin_tiles(engine->facts());
  const kernels::TileShape shape = kernels::generated_tile_shape(engine->facts());
  const bool generated = engine->wait(kernels::tile_key(1, 1, false)) != nullptr;
  std::string text =
      fmt::format("contractions: register tiles of {} x {}, {}{}", built_in.shape.rows(), built_in.shape.max_columns,
                  built_in.fast ? "built in" : "portable",
                  built_in.fast ? built_in.shape.width == 8 ? " for AVX-512" : " for AVX2 with fused arithmetic"
                                : ", so that a BLAS is preferred");
  text += generated
              ? fmt::format("\ngenerated code: {} x {}, {}-bit vectors{}; kept in {}", shape.rows(), shape.max_columns,
                            engine->facts().vector_bits, engine->facts().fma ? " with fused arithmetic" : "",
                            options.jit_cache.empty() ? "memory only" : options.jit_cache)
              : "\ngenerated code: none, " + engine->stats().state;
  return text;
}

}  // namespace sial
