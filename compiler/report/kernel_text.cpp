// Kernels in words of the program. How they go about it, tile by tile, is for `sialrun --explain-kernels`.

#include <fmt/format.h>

#include "compiler/report/model.h"
#include "compiler/report/writer.h"

namespace sial::report {

std::string kernel_text(const KernelLine& k) {
  const double calls = static_cast<double>(k.calls);
  const std::string each =
      calls > 0 ? (k.flops > 0 ? flops_number(k.flops / calls) : bytes_number(k.bytes / calls)) : "";
  const auto words = [&](const char* one) { return fmt::format("{} of {} each", plural(calls, one), each); };
  if (k.flops > 0) {
    if (k.method.find("inner") != std::string::npos) return words("inner product") + ", bound by memory";
    if (k.method.find("outer") != std::string::npos) return words("outer product") + ", bound by memory";
    if (k.method.find("vector") != std::string::npos) return words("matrix-vector product") + ", bound by memory";
    return words("matrix product") + (k.method == "blas" ? ", in the BLAS" : "");
  }
  if (k.why.find("permut") != std::string::npos) return words("block") + ", put into another order of indices";
  if (k.method == "chain") return words("block") + ", several steps in one pass";
  return words("block") + " copied or added";
}

}  // namespace sial::report
