// What the kernels of block operations cost, by the line of the program.

#include "runtime/interp/machine.h"

namespace sial {

std::string* Machine::note_kernel(const char* way, double flops, double bytes, double seconds) {
  KernelUse& use = kernel_uses_[{at_, way}];
  ++use.calls;
  use.flops += flops;
  use.bytes += bytes;
  use.seconds += seconds;
  const double size = flops > 0 ? flops : bytes;
  if (size <= use.largest) return nullptr;
  use.largest = size;
  return &use.why;
}

/// One row per instruction and way; the reduction makes lines of them.
std::vector<KernelCost> Machine::kernel_costs() const {
  std::vector<KernelCost> result;
  for (const auto& [key, use] : kernel_uses_) {
    const SourcePlace& p = m_->places[static_cast<std::size_t>(key.first)];
    result.push_back({m_->program, m_->files.at(static_cast<std::size_t>(p.file)), key.second, use.why, p.line,
                      use.calls, use.flops, use.bytes, use.seconds, use.largest});
  }
  return result;
}

}  // namespace sial
