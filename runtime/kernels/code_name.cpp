// Shared by the engine and the code generator.

#include <cstdlib>

#include <fmt/format.h>

#include "runtime/kernels/jit.h"

namespace sial::kernels {

std::string code_name(const CodeKey& key) {
  const char* kind = "tile";
  switch (key.kind) {
    case CodeKind::tile: break;
    case CodeKind::transpose: kind = "transpose"; break;
    case CodeKind::pack: kind = "pack"; break;
    case CodeKind::chain: kind = "chain"; break;
  }
  std::string name = kind;
  for (const std::int32_t p : key.p) name += fmt::format("_{}{}", p < 0 ? "m" : "", std::abs(static_cast<std::int64_t>(p)));
  return name;
}

}  // namespace sial::kernels
