#pragma once
// The arguments of generated GPU kernels, as the planner writes them and the code generator reads them: keys and
// structs. Plain data: generated code reads it by offsets.
//
// A kernel goes over a target of up to eight joined dimensions. Plain kernels number all elements from the first
// dimension on, and each thread block takes `span` consecutive ones. Box kernels cut the first box_dims dimensions into
// boxes, one thread block each; sources that lie in another order are read into shared memory in their own order and
// taken from there in the target's. In the first dimensions of a box a thread keeps its coordinates, which are computed
// once: it goes from row to row, a row being all elements of those dimensions.
//
// Kernels of products store nothing: they add up the products of the target and of a source, a sum for each thread
// block.
//
// Kernels of a batch do so for many targets with sources of their own, whose addresses stand in a table after the
// other arguments.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/kernels/interface/fused_tile.h"
#include "runtime/core/kernels/interface/jit.h"

namespace sial::kernels {

inline constexpr int device_dims = 8;
inline constexpr std::int64_t max_elements = (std::int64_t{1} << 31) - 1;  // of a launch: what device_divisor divides
inline constexpr std::int64_t max_narrow_offset = std::int64_t{1}
                                                  << 30;  // boxes at the border reach beyond the last element

/// The origin of a step's operand. Numbers are part of keys.
enum class DeviceForm : std::int32_t {
  absent = 0,
  direct = 1,      // read where it lies
  transposed = 2,  // through shared memory
  self = 3,        // the target as the steps before have left it
  energies = 4,    // differences of energies; + number of the set of energies
};

struct DeviceStep {
  FusedOp op = FusedOp::fill;
  DeviceForm a = DeviceForm::absent, b = DeviceForm::absent;
  int set = 0;
  bool operator==(const DeviceStep&) const = default;
};

struct DeviceFusedCode {
  static constexpr int max_steps = 8, max_transposed = 2, max_sets = 3, energy_unit = 32, max_energy_units = 15;
  int dims = 1;
  int box_dims = 0;       // 0: a plain kernel
  bool wide = false;      // offsets take 64 bits
  bool pairs = false;     // two elements at a time: plain kernels only
  bool batched = false;   // addresses are in a table
  bool unrolled = false;  // a thread has several elements at a time, so that many loads are under way
  bool products = false;  // of the target and the only step's source, a copy by name, are added up
  int row_dims = 0;       // of a box, in the target's order: below box_dims
  std::array<int, max_transposed> transposed_row_dims{};  // in those of transposed sources
  int rank = 0;                                           // of the differences, 0: none
  int energy_units = 0;  // of energy_unit doubles, after the other arguments; 0: energies are in a table
  std::array<std::int8_t, device_dims>
      dim_of{};  // the kernel's dimension for each of the differences', -1: of one element
  std::vector<DeviceStep> steps;

  int sources() const;                                         // direct and transposed
  int operands() const { return 1 + sources(); }               // with addresses
  int parts() const { return !unrolled ? 1 : pairs ? 2 : 4; }  // elements (pairs) that a thread works on at once
  int transposed() const;
  int sets() const;
  bool operator==(const DeviceFusedCode&) const = default;
};

CodeKey device_fused_key(const DeviceFusedCode& code);
/// False when the key is none of a chain that can be made.
bool read_device_fused_key(const CodeKey& key, DeviceFusedCode& code);

/// n / divisor = (n * magic) >> 32 >> shift for n < 2^31 and divisor > 1; a divisor of 1 has magic 0.
struct DeviceDivisor {
  std::uint32_t divisor = 1, magic = 0, shift = 0;
};
DeviceDivisor device_divisor(std::uint32_t divisor);

/// A thread block's way through a box in the order of an operand.
struct DeviceRows {
  DeviceDivisor row;          // elements of a row: the extents of its dimensions in the box, multiplied
  std::uint32_t rows = 0;     // of the box
  std::uint32_t at_once = 0;  // as many as there are threads for, each of a whole row
};

struct DeviceDim {
  DeviceDivisor inner;  // extent of the box, or of a plain kernel's dimension
  DeviceDivisor boxes;  // how many boxes the dimension is cut into
  std::uint32_t extent = 1;
  std::array<std::uint32_t, DeviceFusedCode::max_transposed> pitch{};  // in the shared memory of transposed sources
  std::int64_t target_stride = 0;
};

struct DeviceSource {
  const double* data = nullptr;
  std::array<std::int64_t, device_dims> stride{};  // in the order of the kernel's dimensions
};

/// A transposed source: the box's dimensions in the source's own order.
struct DeviceTransposed {
  struct Dim {
    DeviceDivisor inner;
    std::uint32_t pitch = 0;
    std::int64_t stride = 0;
  };
  std::int64_t last = 0;     // offset of the source's last element: boxes at the border reach beyond it
  std::uint32_t shared = 0;  // where its box begins in shared memory, in doubles
  DeviceRows rows;
  std::array<Dim, device_dims> dim;
};

struct DeviceEnergies {
  double shift = 0.0;
  std::array<std::uint32_t, device_dims> start{};  // where a dimension's energies begin
};

/// The thread blocks of each group of a batch. The addresses of its operands, target first, lie at the
/// end of the arguments.
struct DeviceBatch {
  DeviceDivisor blocks;
  std::uint32_t unused = 0;
};

struct DeviceHead {
  double* target = nullptr;
  std::uint32_t count = 0;        // elements (pairs) of a plain kernel
  std::uint32_t span = 0;         // that a thread block of it takes
  std::uint32_t energies = 0;     // how many
  std::uint32_t after_boxes = 0;  // where in shared memory energies, or sums of products, begin, in doubles
  DeviceRows rows;                // of a box kernel
  const double* table = nullptr;
  double* sums = nullptr;  // of products: block k leaves its sum in the k-th
  std::array<double, DeviceFusedCode::max_steps> value{};
};

/// Offsets of the parts of a chain's arguments.
struct DeviceFusedLayout {
  explicit DeviceFusedLayout(const DeviceFusedCode& code);
  std::size_t dims, sources, transposed, sets, energies, batch, addresses, size;
  std::size_t groups = 1;  // of a batch, at most
};

/// Arguments of the kernel that adds up: block k leaves the sum of its `span` numbers in total[k], which may be one of
/// them when there is one block.
struct DeviceSum {
  const double* number = nullptr;
  double* total = nullptr;
  std::uint32_t count = 0, span = 0;
  static constexpr std::uint32_t threads = 256;          // of this kernel, and of those of products
  static constexpr std::uint32_t shared = 16 * 17 + 16;  // doubles: sums of threads, of sixteen threads each
};

bool is_device_sum_key(const CodeKey& key);

}  // namespace sial::kernels
