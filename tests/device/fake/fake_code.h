#pragma once
// Kernels of the fake driver: host fallbacks of generated PTX, found by the name in its first line, or the PTX itself,
// carried out by the interpreter of tests/device/ptx.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "runtime/core/kernels/gpu/device_code.h"

namespace fake_cuda {

/// Whether SIALX_FAKE_KERNELS=ptx asks for the interpreter.
bool interprets();
/// Device memory comes and goes: the interpreter knows of it.
void record_allocated(void* p, std::size_t bytes);
void record_freed(void* p);

struct Interpreted;

struct Code {
  std::string name;
  sial::kernels::DeviceHostFallback fallback = nullptr;
  std::size_t parameter_bytes = 0;
  std::shared_ptr<Interpreted> interpreted;
};

/// `problem` is empty when the text holds a kernel that has a host fallback.
Code find_code(const char* text, std::string& problem);
/// The launch as a piece of work. The parameters are copied.
std::function<void()> prepare(const Code& code, const std::array<unsigned, 3>& grid,
                              const std::array<unsigned, 3>& block, unsigned shared_bytes, void** parameters);

}  // namespace fake_cuda
