#pragma once
// The seam between a rank and the device that its block operations run on: memory with addresses of its own, streams of
// work, and the order between them. Work in one stream is carried out in order; streams go on independently of each
// other and of the host, but for what wait() and finish() say. Whoever uses a device keeps its memory and the host's
// alive and unchanged for as long as work in a stream needs them. Owned by one rank and used by its thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/device/measure/busy_times.h"
#include "runtime/core/kernels/elementwise/fused.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/stats/counter_field.h"

namespace sial {

struct TransferCount {
  std::int64_t transfers = 0, bytes = 0;
  void add(std::int64_t doubles) {
    ++transfers;
    bytes += doubles * 8;
  }
};

/// Host memory that the device copies from and to without detours, at present; and how often it was refused.
struct PinnedCount {
  std::int64_t regions = 0, bytes = 0, refused = 0;
};

/// The operands of an operation do not fit into the device's memory: the host has to do it.
struct DeviceFull {
  std::int64_t bytes = 0;
};

/// One step of element-wise work without labels: dimensions correspond by position, views have equal extents.
/// fill: d = factor; add_scalar: d += factor; scale: d *= factor; copy: d = a; sum: d = a + factor * b.
enum class ElementOp { fill, add_scalar, scale, copy, sum };
struct ElementWork {
  ElementOp op = ElementOp::fill;
  double factor = 0.0;
  MutableView d;
  ConstView a, b;
};

kernels::FusedStep step_of(const ElementWork& work);

using kernels::FusedWork;

/// Counts of small work that waited to be started together with its like.
struct BatchCount {
#define COUNTED_batch(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNTER_FIELD(unit, COUNTED_##by)
#include "runtime/core/stats/counters.def"
  std::int64_t on_host = 0;  // pieces that the host did, because there was no room for their workspace
  BatchCount since(const BatchCount& start) const;
};

struct DeviceOptions {
  std::int64_t memory = 0;  // bytes that one rank may use; 0: what there is
  int streams = 2;          // of computation, at most max_compute_streams
  bool direct = true;       // whether copies may go straight from and to the host's blocks
  std::uint64_t seed = 1;   // simulated: of the order in which streams go on
  // cuda: which GPUs the ranks of a machine take in turn, empty: all; and who this rank is among them.
  std::vector<int> gpus;
  int rank_here = 0, ranks_here = 1;
  std::int64_t batch = 0;  // elements up to which work is small and waits to be started with its like, see
                           // make_batching_device(); 0: none does
  std::string code_cache;  // folder of generated code; empty: none is kept
  std::int64_t staged_from =
      -1;  // bytes from which copies in from memory that is not pinned are staged; less than 0: measured
};

inline constexpr int max_compute_streams = 4;
/// One for copies to the device, one for copies to the host, the others for computation.
inline constexpr int copy_in_stream = 0, copy_out_stream = 1, first_compute_stream = 2;
inline constexpr int max_device_streams = first_compute_stream + max_compute_streams;

class Device {
 public:
  using Event = std::int32_t;

  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  virtual int compute_streams() const = 0;

  // --- memory: few large pieces, see DevicePool
  /// Bytes that this rank may reserve altogether.
  virtual std::int64_t memory() const = 0;
  /// Size of the pieces to reserve, in doubles.
  virtual std::int64_t piece() const = 0;
  /// `n` doubles, 256-byte aligned, without a value. Null when there is no memory left.
  virtual double* reserve(std::int64_t n) = 0;
  virtual void give_back(double* p, std::int64_t n) noexcept = 0;

  // --- host memory that stays for long and is copied from and to: known to the device, copies are faster and leave the
  // host alone
  /// False when it is refused: copies then take a detour. Regions do not overlap, but for those that are known already.
  virtual bool pins() const { return false; }  // whether it is worth asking
  virtual bool pin(const void* /*p*/, std::size_t /*bytes*/) { return false; }
  /// Before the memory is freed; waits for copies. Of regions that were refused: nothing.
  virtual void unpin(const void* /*p*/) noexcept {}
  virtual PinnedCount pinned() const { return {}; }

  // --- work
  virtual void copy_in(double* device, const double* host, std::int64_t n) = 0;   // in copy_in_stream
  virtual void copy_out(double* host, const double* device, std::int64_t n) = 0;  // in copy_out_stream
  /// Addresses in views are the device's. The target does not overlap a source. Throws DeviceFull, with nothing done,
  /// when there is no room for workspace, as the others below do.
  virtual void run(int stream, const BlockOp& op) = 0;
  /// Element-wise work, each element through all steps. Steps and the energies that they point to are copied. A source
  /// that shares memory with the target is the target, element by element. No step divides by a difference of zero.
  virtual void run(int stream, const MutableView& target, std::span<const kernels::FusedStep> steps) = 0;
  void run(int stream, const ElementWork& work);
  // Several pieces, all of one shape: views that differ in their addresses alone, the same factors, labels and steps.
  // No target shares memory with another piece's operands: they may be done in any order, or at once. The number of
  // those from the first on that were started: the others found no room for workspace, and nothing of them is done.
  virtual std::size_t run_batch(int stream, std::span<const BlockOp> ops);
  virtual std::size_t run_batch(int stream, std::span<const FusedWork> groups);
  /// *result, in the host's memory, becomes the sum over all positions of a * b, labels matched by name.
  virtual void dot(int stream, const ConstView& a, const ConstView& b, double* result) = 0;

  // --- order
  /// Done when all that is in the stream by now is. Given back with release() once it is done.
  virtual Event record(int stream) = 0;
  /// The same for what is started there by now: small work that waits goes on waiting.
  virtual Event record_started(int stream) { return record(stream); }
  virtual void wait(int stream, Event event) = 0;
  virtual bool done(Event event) = 0;
  virtual void finish(Event event) = 0;  // the host waits
  virtual void release(Event event) = 0;

  // --- small work
  /// Elements up to which work is small and may wait in its stream to be started with its like; 0: none does.
  virtual std::int64_t small() const { return 0; }
  virtual bool waits(int /*stream*/) const { return false; }  // whether any does there at present
  virtual void start_waiting() {}                             // all that does, in any stream
  virtual BatchCount batched() const { return {}; }
  /// Since it was made: kernels and products that were started.
  virtual std::int64_t starts() const = 0;

  // --- what the time goes to
  /// Takes the time of each piece of work that is put into a stream from now on, or no longer. It costs two events a
  /// piece.
  virtual void take_times(bool /*on*/) {}
  /// All that was timed since the device was made, after a wait for it. Nothing where no time was ever to be taken.
  virtual std::optional<DeviceTimes> times() { return {}; }

  // --- messages to other nodes, straight from its memory or as it comes to the host
  /// Whether the host can read the device's memory by its addresses.
  virtual bool host_reads() const { return false; }
  /// The calling thread may be handed addresses of the device's memory, by libraries that need to know it.
  virtual void enter() {}
  /// The elements of a block of `n` that come to the host at a time while those before them are sent: enough to be
  /// fast, few beside a large block.
  virtual std::int64_t message_piece(std::int64_t /*n*/) const { return std::int64_t{1} << 16; }

  // --- simulated devices only: what is stale or was never given a value becomes NaN
  virtual bool poisons() const { return false; }
  virtual void poison(int /*stream*/, double* /*device*/, std::int64_t /*n*/) {}
  /// Values of the host's memory, in copy_in_stream: copies from there may be under way.
  virtual void poison_host(const MutableView& /*host*/) {}

  virtual TransferCount moved_in() const = 0;  // to the device, since it was made
  virtual TransferCount moved_out() const = 0;
};

/// `kernels`, which outlive the device, stand in for its own.
std::unique_ptr<Device> make_simulated_device(Kernels& kernels, const DeviceOptions& options = {});

/// Has small work, of up to `small` elements, wait in its stream to be started with its like: until an event is
/// recorded there, an inner product is asked for, or enough waits. Nobody sees a difference but in the number of
/// starts: work in one stream is in order only where it shares memory.
std::unique_ptr<Device> make_batching_device(std::unique_ptr<Device> device, std::int64_t small);

/// A GPU through CUDA. Throws EnvironmentError where there is no driver, no GPU or no code generator.
std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options = {});
/// Why there is no use in trying that here.
struct NoCuda {
  std::string trouble, remedy;
};
std::optional<NoCuda> why_no_cuda();
/// The device found, in one line for --version --verbose.
std::string describe_cuda();

/// Null for "host", which needs no copies. Batching where the options say so. "auto" is "cuda" where that can be tried,
/// else "host". Throws SialError naming the known ones.
std::unique_ptr<Device> make_device(const std::string& name, Kernels& kernels, const DeviceOptions& options = {});
/// The devices that can be tried here: all but "auto", and "cuda" where it has no chance.
const std::vector<std::string>& device_names();
/// All names that make_device() knows.
const std::vector<std::string>& known_device_names();
/// Under `auto`, programs whose largest block has fewer elements run on the host: a core contracts two blocks of 8 x 8
/// x 8 x 8 (0.5 MFLOP) in about the 10 microseconds that it takes to start an operation on a GPU.
inline constexpr std::int64_t auto_device_from = 4096;
/// Elements of a piece of work, all operands together, up to which it waits for its like: with three blocks of 10 x 10
/// x 10 x 10, or of 16 x 16 x 16 x 16, a GPU is busy for about as long as a start takes it, 4 to 10 microseconds, or
/// less. Measured on an H200: tests/bench/gpu/H200.md.
inline constexpr std::int64_t auto_device_batch = 196'608;

}  // namespace sial
