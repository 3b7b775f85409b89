#pragma once
// Generated kernels of GPUs, without CUDA and without LLVM in sight: which kernels to start for a chain of element-wise
// steps or for a sum of products, and the PTX of those kernels. Plans are pure: they look at extents, strides and
// addresses, never at memory, so they can be made, and are tested, on a machine without a GPU. Every kernel has a host
// fallback, the same code made for the host's processor, that carries out a whole launch and leaves the bits that the
// GPU leaves. Chains leave the bits of FusedRunner.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/kernels/elementwise/fused.h"
#include "runtime/core/kernels/interface/jit.h"

namespace sial::kernels {

/// One start of a generated kernel: a grid of `blocks` x 1 x 1 thread blocks of `threads` x 1 x 1 threads. Launches of
/// one plan go into one stream, in order. A value: owns its bytes.
struct DeviceLaunch {
  CodeKey key;  // of the kernel: entry point code_name(key)
  std::uint32_t blocks = 1, threads = 1;
  std::uint32_t shared_bytes = 0;  // dynamic shared memory, at most max_shared_bytes
  std::vector<std::byte>
      arguments;  // the kernel's only parameter, a struct by value of exactly this size, at most max_argument_bytes
  /// Orbital energies that do not fit into the arguments: they must lie in the device's memory while the kernel runs,
  /// and their address goes to arguments + table_at, 8 bytes. Empty for most launches: nothing is to be done then.
  std::vector<double> table;
  std::size_t table_at = 0;
};

inline constexpr std::uint32_t max_shared_bytes = 48 * 1024;  // what every GPU gives without being asked
inline constexpr std::size_t max_argument_bytes = 4096;

/// Limits at which a plan changes its method; others than these for tests.
struct DeviceLimits {
  /// Launches of fewer boxes leave a GPU idle: they go through boxes element by element, so that fewer kinds of kernels
  /// are to be generated.
  std::int64_t boxes_for_rows = 66;
};

/// The kernels that take the steps on `target`, whose address and whose sources' addresses are the device's; no launch
/// when there is nothing to do. The same rules as for FusedRunner, but that the caller promises that nothing is divided
/// by a difference of zero. Strides are not negative.
std::vector<DeviceLaunch> plan_device_fused(const MutableView& target, std::span<const FusedStep> steps,
                                            const DeviceLimits& limits = {});

/// The same for several chains at once, all of one shape: views and steps that differ in their addresses alone, and no
/// energies. None's target shares memory with another's operands.
std::vector<DeviceLaunch> plan_device_fused(std::span<const FusedWork> groups, const DeviceLimits& limits = {});

/// The device's memory for so many doubles, until the launches have ended.
using DeviceScratch = std::function<double*(std::int64_t doubles)>;

/// The sum over all positions of a * b, labels matched by name, into the first double of the memory that `scratch`,
/// called once, gives. In which order things are added depends on extents and strides, never on addresses. Views
/// without elements have the sum 0, which a launch writes.
std::vector<DeviceLaunch> plan_device_dot(const ConstView& a, const ConstView& b, const DeviceScratch& scratch,
                                          const DeviceLimits& limits = {});

/// PTX of kernels for one kind of GPU, made when first asked for and kept: in memory, and on disk beside the host's
/// generated code. Any thread.
class DeviceCodeSource {
 public:
  virtual ~DeviceCodeSource() = default;
  /// The text, zero-terminated and alive as long as the source is. Its first line is the comment `// sialx ` +
  /// code_name(key); it defines the entry point code_name(key). Throws SialError when it cannot be made; the hint says
  /// what to install.
  virtual const std::string& ptx(const CodeKey& key) = 0;
  /// The target of PTX: "sm_80" or "sm_90"; newer GPUs run it too.
  virtual const std::string& target() const = 0;
  virtual CodeStats stats() const = 0;
};

/// For a GPU of this compute capability (9, 0 for sm_90). Throws SialError below 8.0. Without LLVM in the build only
/// ptx() fails. `cache_folder`: of the disk cache, empty: none.
std::unique_ptr<DeviceCodeSource> make_device_code_source(int major, int minor, const std::string& cache_folder);

/// Empty when PTX can be made in this build, else why not, in a few words. Opens the code generator.
std::string why_no_device_code();

/// Called by a host fallback at every access to memory that threads share, for tests of how accesses fall together;
/// whoever makes one extends it. `site` numbers the places in the code. Threads of a warp are 32 consecutive ones.
struct DeviceTrace {
  enum : std::uint32_t { stores = 1, in_shared = 2 };  // bits of `what`
  void (*access)(DeviceTrace* self, std::uint32_t block, std::uint32_t thread, std::uint32_t site, const void* address,
                 std::uint32_t bytes, std::uint32_t what) = nullptr;
};

/// The whole launch on the host; `shared`: shared_bytes bytes, 16-byte aligned, of any content. `trace` may be null.
/// Found with the CodeEngine: reinterpret_cast<DeviceHostFallback>(engine.wait(launch.key)); null without LLVM.
using DeviceHostFallback = void (*)(const void* arguments, std::uint32_t blocks, std::uint32_t threads, void* shared,
                                    DeviceTrace* trace);

}  // namespace sial::kernels
