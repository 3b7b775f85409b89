#pragma once
// Memory of the libraries that come with the code generator. LLVM is in use for moments of a run, but what it has
// touched of its code, 40 MB, stays in the process until the system needs the memory. release() gives it back: only
// parts that are mapped from files and that nothing can have changed, so the system reads them again at their next use.
// Parts that the loader or the library writes to are left alone. Any thread.

#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace sial::kernels {

class GeneratorMemory {
 public:
  static GeneratorMemory& of_process();
  /// The result of `open`; libraries that are loaded meanwhile are the generator's, and are never unloaded.
  void* open(const std::function<void*()>& open);
  void release();

 private:
  GeneratorMemory() = default;

  std::mutex mutex_;
  std::vector<std::span<std::byte>> parts_;
};

}  // namespace sial::kernels
