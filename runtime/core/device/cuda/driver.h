#pragma once
// The CUDA driver and cuBLAS, opened while the program runs: it is built without the toolkit, and starts where there is
// no driver. Types and values are those of cuda.h and cublas_v2.h (a test compares them where the toolkit is
// installed). The libraries are looked for in the folder that SIALX_CUDA_LIBRARIES names, and nowhere else if it is
// set; otherwise where the system looks, and cuBLAS also in /usr/local/cuda/lib64. They are opened once per process and
// never closed.

#include <cstddef>
#include <string>

namespace sial::cuda {

struct ContextObject;
struct StreamObject;
struct EventObject;
struct ModuleObject;
struct FunctionObject;
struct BlasObject;
using Context = ContextObject*;
using Stream = StreamObject*;
using Event = EventObject*;
using Module = ModuleObject*;
using Function = FunctionObject*;
using BlasHandle = BlasObject*;
using Gpu = int;
using Address = unsigned long long;

enum class Status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_image = 200,
  already_registered = 712,
  not_ready = 600,
  launch_failed = 719,
  unknown = 999
};
enum class Attribute : int { multiprocessors = 16, compute_major = 75, compute_minor = 76 };
enum class LoadOption : int { error_log = 5, error_log_bytes = 6 };
enum class BlasStatus : int {
  success = 0,
  not_initialized = 1,
  alloc_failed = 3,
  invalid_value = 7,
  execution_failed = 13
};
enum class BlasOperation : int { plain = 0, transposed = 1 };

inline constexpr unsigned stream_non_blocking = 1, event_disable_timing = 2, host_register_portable = 1;

struct Driver {
#define DRIVER_FUNCTION(name, ...) \
  using name##_type = __VA_ARGS__; \
  name##_type* name = nullptr;
#include "runtime/core/device/cuda/driver.def"
#undef DRIVER_FUNCTION
};

struct Blas {
#define BLAS_FUNCTION(name, ...)   \
  using name##_type = __VA_ARGS__; \
  name##_type* name = nullptr;
#include "runtime/core/device/cuda/blas.def"
#undef BLAS_FUNCTION
};

/// The libraries found. `trouble` is empty when both libraries are open, the driver is at work and there is a GPU.
struct Libraries {
  Driver driver;
  Blas blas;
  std::string trouble, remedy;
  std::string found;  // for people: files and versions
  int gpus = 0;
};

/// Opened at the first call.
const Libraries& libraries();

}  // namespace sial::cuda
