// A GPU as a Device. Work of each compute stream has a cuBLAS handle and workspace of its own; contractions become the
// products that plan_device_contraction() chooses, all else generated kernels.

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/device/cuda/code.h"
#include "runtime/core/device/cuda/contraction.h"
#include "runtime/core/device/cuda/gpu.h"
#include "runtime/core/device/cuda/staging.h"
#include "runtime/core/device/cuda/timer.h"
#include "runtime/core/device/device.h"

namespace sial {

namespace {

using namespace cuda;
using kernels::FusedOp;
using kernels::FusedSource;
using kernels::FusedStep;

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t max_workspace = 2048 * mib;  // of a stream
constexpr std::int64_t max_batch_workspace =
    16 * mib / 8;  // doubles, for products started at once: some fifty of three blocks of 10 x 10 x 10 x 10
constexpr std::int64_t grain = 32;  // doubles: 256 bytes

std::int64_t rounded(std::int64_t n) { return (n + grain - 1) / grain * grain; }
Address address(const double* p) { return reinterpret_cast<Address>(p); }
double* pointer(Address p) { return reinterpret_cast<double*>(p); }

/// The GPU of a rank, and how many ranks of its machine have the same.
std::pair<int, int> gpu_of(const DeviceOptions& options) {
  const int count = libraries().gpus;
  std::vector<int> list = options.gpus;
  if (list.empty())
    for (int g = 0; g < count; ++g) list.push_back(g);
  for (const int g : list)
    if (g < 0 || g >= count)
      throw EnvironmentError(fmt::format("there is no GPU {}: the driver sees {}, counted from 0", g, count),
                             "see `nvidia-smi -L`, CUDA_VISIBLE_DEVICES and `--devices`");
  const auto of = [&](int rank) { return list[static_cast<std::size_t>(rank) % list.size()]; };
  const int mine = of(options.rank_here);
  int sharing = 0;
  for (int rank = 0; rank < std::max(1, options.ranks_here); ++rank) sharing += of(rank) == mine ? 1 : 0;
  return {mine, std::max(1, sharing)};
}

/// d = factor * source + beta * d, element by element; beta = 0 does not read d.
std::vector<FusedStep> combining(double factor, const FusedSource& source, double beta) {
  std::vector<FusedStep> steps;
  if (beta == 0.0) {
    steps.push_back({factor == 1.0 ? FusedOp::copy : FusedOp::scaled_copy, factor, source, {}, nullptr});
  } else {
    if (beta != 1.0) steps.push_back({FusedOp::scale, beta, {}, {}, nullptr});
    steps.push_back({FusedOp::accumulate, factor, source, {}, nullptr});
  }
  return steps;
}

/// Chains with the steps that they point to.
class Chains {
 public:
  void add(const MutableView& target, std::vector<FusedStep> steps) {
    steps_.push_back(std::move(steps));
    work_.push_back({target, steps_.back()});
  }
  std::span<const FusedWork> work() const { return work_; }

 private:
  std::deque<std::vector<FusedStep>> steps_;
  std::vector<FusedWork> work_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(const DeviceOptions& options, int number, int sharing) : CudaDevice(number) {
    const int compute = std::clamp(options.streams, 1, max_compute_streams);
    for (int s = 0; s < first_compute_stream + compute; ++s) streams_.push_back(gpu_.make_stream());
    for (int s = 0; s < compute; ++s) {
      work_.emplace_back();
      gpu_.check(libraries().blas.cublasCreate_v2(&work_.back().blas), "making a cuBLAS handle");
      gpu_.check(libraries().blas.cublasSetStream_v2(work_.back().blas,
                                                     streams_[static_cast<std::size_t>(first_compute_stream + s)]),
                 "giving cuBLAS a stream");
    }
    code_ = std::make_unique<DeviceCode>(gpu_, options.code_cache);
    staging_ = std::make_unique<Staging>(gpu_, timer_, streams_[copy_in_stream], streams_[copy_out_stream],
                                         options.staged_from);
    if (options.staged_from < 0) staging_->measure();
    void* p = nullptr;
    if (gpu_.driver().cuMemHostAlloc(&p, sizeof(double), 0) == Status::success) result_ = static_cast<double*>(p);
    // Where ranks share a GPU each leaves room for its context and for what cuBLAS takes.
    std::int64_t share = gpu_.total_bytes() / sharing;
    if (sharing > 1) share -= std::min(share / 8, 768 * mib);
    const std::int64_t usable = std::min(gpu_.free_bytes(), share) / 16 * 15;
    workspace_limit_ =
        std::max(options.memory > 0 ? std::max(options.memory / 4, 16 * mib) : std::min(usable / 16, max_workspace),
                 mib) /
        8;
    memory_ = options.memory > 0 ? options.memory : std::max(usable - compute * workspace_limit_ * 8, mib);
  }
  ~CudaDevice() override {
    gpu_.enter();
    for (Stream s : streams_) gpu_.driver().cuStreamSynchronize(s);
    for (const auto& [p, n] : pieces_) gpu_.free(address(p));
    for (const Work& w : work_) {
      gpu_.free(w.workspace);
      if (w.blas) libraries().blas.cublasDestroy_v2(w.blas);
    }
    if (result_) gpu_.driver().cuMemFreeHost(result_);
    code_.reset();
    staging_.reset();
    for (Stream s : streams_) gpu_.drop_stream(s);
  }
  std::string_view name() const override { return "cuda"; }
  int compute_streams() const override { return static_cast<int>(work_.size()); }

  std::int64_t memory() const override { return memory_; }
  std::int64_t piece() const override { return std::max(memory_ / 16, std::min(64 * mib, memory_ / 8)) / 8; }
  double* reserve(std::int64_t n) override {
    const std::int64_t bytes = std::max<std::int64_t>(rounded(n), grain) * 8;
    if (reserved_ + bytes > memory_) return nullptr;
    gpu_.enter();
    const Address p = gpu_.allocate(static_cast<std::size_t>(bytes), "reserving memory");
    if (!p) return nullptr;
    reserved_ += bytes;
    pieces_.emplace(pointer(p), bytes);
    return pointer(p);
  }
  void give_back(double* p, std::int64_t n) noexcept override {
    const auto found = pieces_.find(p);
    SIAL_CHECK(found != pieces_.end() && found->second == std::max<std::int64_t>(rounded(n), grain) * 8,
               "{} elements given back that the device did not hand out", n);
    gpu_.enter();
    gpu_.free(address(p));
    reserved_ -= found->second;
    pieces_.erase(found);
  }

  bool pins() const override { return true; }
  bool pin(const void* p, std::size_t bytes) override {
    gpu_.enter();
    return staging_->pin(p, bytes);
  }
  void unpin(const void* p) noexcept override {
    gpu_.enter();
    staging_->unpin(p);
  }
  PinnedCount pinned() const override { return staging_->pinned(); }

  void copy_in(double* device, const double* host, std::int64_t n) override {
    in_.add(n);
    gpu_.enter();
    staging_->copy_in(address(device), host, n * 8);
  }
  void copy_out(double* host, const double* device, std::int64_t n) override {
    out_.add(n);
    gpu_.enter();
    staging_->copy_out(host, address(device), n * 8);
  }

  void run(int stream, const BlockOp& op) override {
    gpu_.enter();
    const kernels::LoopSpace space = kernels::resolve(op);
    const WorkTimer::Piece timed(timer_, streams_[stream], DeviceWork::kernel);
    if (op.has_b) return contract(stream, op, space);
    run_fused(stream, op.d, combining(op.alpha, copied(op, space), op.beta));
  }
  void run(int stream, const MutableView& target, std::span<const FusedStep> steps) override {
    gpu_.enter();
    const WorkTimer::Piece timed(timer_, streams_[stream], DeviceWork::kernel);
    run_fused(stream, target, steps);
  }
  std::size_t run_batch(int stream, std::span<const FusedWork> groups) override {
    gpu_.enter();
    const WorkTimer::Piece timed(timer_, streams_[stream], DeviceWork::kernel);
    run_fused(stream, groups);
    return groups.size();
  }
  std::size_t run_batch(int stream, std::span<const BlockOp> ops) override {
    const BlockOp& first = ops.front();
    const kernels::LoopSpace space = kernels::resolve(first);
    gpu_.enter();
    if (first.has_b) return contract(stream, ops, space);
    const WorkTimer::Piece timed(timer_, streams_[stream], DeviceWork::kernel);
    Chains copies;
    for (const BlockOp& op : ops) copies.add(op.d, combining(op.alpha, copied(op, space), op.beta));
    run_fused(stream, copies.work());
    return ops.size();
  }
  void dot(int stream, const ConstView& a, const ConstView& b, double* result) override {
    gpu_.enter();
    double* total = nullptr;
    std::vector<kernels::DeviceLaunch> launches =
        kernels::plan_device_dot(a, b, [&](std::int64_t doubles) { return total = workspace(stream, doubles); });
    // Without pinned memory the copy itself waits.
    double sum = 0.0;
    double* const to = result_ ? result_ : &sum;
    {
      const WorkTimer::Piece timed(timer_, streams_[stream], DeviceWork::kernel);
      code_->launch(streams_[stream], launches);
      gpu_.check(gpu_.driver().cuMemcpyDtoHAsync_v2(to, address(total), 8, streams_[stream]),
                 "the copy of an inner product");
    }
    gpu_.finish(streams_[stream], "waiting for an inner product");
    *result = *to;
  }

  Event record(int stream) override {
    gpu_.enter();
    Event number = 0;
    if (unused_events_.empty()) {
      number = static_cast<Event>(events_.size());
      events_.push_back(nullptr);
    } else {
      number = unused_events_.back();
      unused_events_.pop_back();
    }
    events_[number] = gpu_.take_event();
    gpu_.check(gpu_.driver().cuEventRecord(events_[number], streams_[stream]), "recording an event");
    return number;
  }
  void wait(int stream, Event event) override {
    gpu_.enter();
    gpu_.check(gpu_.driver().cuStreamWaitEvent(streams_[stream], events_[event], 0), "waiting for an event");
  }
  void enter() override { gpu_.enter(); }
  bool done(Event event) override {
    gpu_.enter();
    const Status status = gpu_.driver().cuEventQuery(events_[event]);
    if (status == Status::not_ready) return false;
    if (gpu_.check(status, "asking for an event")) staging_->deliver();
    return true;
  }
  void finish(Event event) override {
    gpu_.enter();
    if (gpu_.finish(events_[event], "waiting for work")) staging_->deliver();
  }
  void release(Event event) override {
    gpu_.give_event(events_[event]);
    events_[event] = nullptr;
    unused_events_.push_back(event);
  }

  std::int64_t starts() const override { return code_->starts() + products_; }

  void take_times(bool on) override {
    gpu_.enter();
    if (on && !timer_.taken()) waited_before_ = gpu_.waited();
    timer_.take(on, streams_[first_compute_stream]);
  }
  std::optional<DeviceTimes> times() override {
    if (!timer_.taken()) return {};
    gpu_.enter();
    DeviceTimes times = timer_.times();
    times.waited = gpu_.waited() - waited_before_;
    return times;
  }

  TransferCount moved_in() const override { return in_; }
  TransferCount moved_out() const override { return out_; }

 private:
  /// The work of a compute stream.
  struct Work {
    BlasHandle blas = nullptr;
    Address workspace = 0;
    std::int64_t size = 0;  // doubles
  };

  explicit CudaDevice(int number) : gpu_(number) {}

  void run_fused(int stream, const MutableView& target, std::span<const FusedStep> steps) {
    const FusedWork work{target, steps};
    run_fused(stream, std::span(&work, 1));
  }
  void run_fused(int stream, std::span<const FusedWork> groups) {
    std::vector<kernels::DeviceLaunch> launches = kernels::plan_device_fused(groups);
    code_->launch(streams_[stream], launches);
  }
  /// The source of a (permuted) copy.
  static FusedSource copied(const BlockOp& op, const kernels::LoopSpace& space) {
    FusedSource source{op.a.data, {}};
    for (std::size_t d = 0; d < space.rows.size(); ++d)
      source.stride[d] = space.rows[d].extent == 1 ? 0 : space.rows[d].a;
    return source;
  }

  /// So many doubles for the work that is put into the stream next. Grows by doubling, after a wait. Throws DeviceFull.
  double* workspace(int stream, std::int64_t n) {
    Work& w = work_[static_cast<std::size_t>(stream - first_compute_stream)];
    if (n <= w.size) return pointer(w.workspace);
    if (n > workspace_limit_) throw DeviceFull{n * 8};
    gpu_.finish(streams_[stream], "waiting for work");
    gpu_.free(std::exchange(w.workspace, 0));
    const std::int64_t had = std::exchange(w.size, 0);
    for (const std::int64_t size : {std::min(workspace_limit_, std::max({n, 2 * had, mib / 8})), n}) {
      w.workspace = gpu_.allocate(static_cast<std::size_t>(size) * 8, "reserving workspace");
      if (!w.workspace) continue;
      w.size = size;
      return pointer(w.workspace);
    }
    throw DeviceFull{n * 8};
  }

  const DeviceContraction& plan(const kernels::LoopSpace& space, bool reads_target, const MovedOperands& moved) {
    std::vector<std::int64_t> key{reads_target ? 1 : 0, (moved.a ? 1 : 0) + (moved.b ? 2 : 0) + (moved.d ? 4 : 0)};
    for (const auto* group : {&space.rows, &space.columns, &space.summed}) {
      key.push_back(-1);
      for (const kernels::LoopDim& dim : *group) key.insert(key.end(), {dim.extent, dim.d, dim.a, dim.b});
    }
    const auto [at, fresh] = plans_.try_emplace(std::move(key));
    if (fresh) at->second = plan_device_contraction(space, reads_target, moved);
    return at->second;
  }

  static MutableView packed_view(double* data, const Packing& packing, std::int64_t PackedDim::* stride) {
    MutableView v;
    v.data = data;
    v.rank = static_cast<std::int32_t>(packing.size());
    for (std::size_t d = 0; d < packing.size(); ++d) {
      v.extent[d] = packing[d].extent;
      v.stride[d] = packing[d].*stride;
    }
    return v;
  }
  static FusedSource packed_source(const double* data, const Packing& packing, std::int64_t PackedDim::* stride) {
    FusedSource s{data, {}};
    for (std::size_t d = 0; d < packing.size(); ++d) s.stride[d] = packing[d].extent == 1 ? 0 : packing[d].*stride;
    return s;
  }

  void contract(int stream, const BlockOp& op, const kernels::LoopSpace& space) {
    // cuBLAS does not look at what is multiplied by zero, and must not hide a NaN: the product is made aside then.
    const bool aside = op.alpha == 0.0;
    const DeviceContraction& c = plan(space, op.beta != 0.0, {false, false, aside});
    if (c.kind == DeviceContraction::Kind::nothing) return;
    if (c.kind == DeviceContraction::Kind::scale) {
      if (op.beta == 1.0) return;
      const FusedStep step{op.beta == 0.0 ? FusedOp::fill : FusedOp::scale, op.beta, {}, {}, nullptr};
      return run_fused(stream, op.d, std::span(&step, 1));
    }
    double* room = workspace(stream, rounded(c.size_a) + rounded(c.size_b) + rounded(c.size_d));
    const auto packed_operand = [&](const double* data, const Packing& packing, std::int64_t size) {
      if (packing.empty()) return data;
      double* packed = std::exchange(room, room + rounded(size));
      run_fused(stream, packed_view(packed, packing, &PackedDim::packed),
                combining(1.0, packed_source(data, packing, &PackedDim::operand), 0.0));
      return static_cast<const double*>(packed);
    };
    const double* a = packed_operand(op.a.data, c.pack_a, c.size_a);
    const double* b = packed_operand(op.b.data, c.pack_b, c.size_b);
    const bool apart = !c.unpack_d.empty();
    double* d = apart ? room : op.d.data;
    const double alpha = aside ? 1.0 : op.alpha, beta = apart ? 0.0 : op.beta;
    for (std::int64_t l = 0; l < c.loops; ++l) {
      const BlasStatus status = multiply(stream, c, alpha, a + l * c.a.loop, b + l * c.b.loop, beta, d + l * c.d.loop);
      if (status == BlasStatus::alloc_failed && (l == 0 || apart))
        throw DeviceFull{rounded(c.size_a + c.size_b + c.size_d) * 8};  // D is as it was
      gpu_.check(status, "a product of matrices");
    }
    if (apart)
      run_fused(stream, packed_view(op.d.data, c.unpack_d, &PackedDim::operand),
                combining(aside ? 0.0 : 1.0, packed_source(d, c.unpack_d, &PackedDim::packed), op.beta));
  }

  /// Products of one shape at once: as the products of one of them, each of these a batch over all. Operands that do
  /// not lie at equal distances are copied to where they do, or brought back from there. As many as were started.
  std::size_t contract(int stream, std::span<const BlockOp> ops, const kernels::LoopSpace& space) {
    const BlockOp& first = ops.front();
    const bool aside = first.alpha == 0.0;
    const std::optional<std::int64_t> step_a = distance(ops, [](const BlockOp& op) { return op.a.data; }),
                                      step_b = distance(ops, [](const BlockOp& op) { return op.b.data; }),
                                      step_d = distance(
                                          ops, [](const BlockOp& op) { return static_cast<const double*>(op.d.data); });
    const DeviceContraction& c = plan(space, first.beta != 0.0, {!step_a, !step_b, aside || !step_d});
    const DeviceContraction& single = plan(space, first.beta != 0.0, {false, false, aside});
    if (c.kind != DeviceContraction::Kind::product ||
        starts(c, c.batches) >= static_cast<std::int64_t>(ops.size()) * starts(single, 1))
      return Device::run_batch(stream, ops);
    const WorkTimer::Piece timed(timer_, streams_[stream], DeviceWork::kernel);
    // An operand of all is brought once.
    const std::int64_t room_a = rounded(c.size_a), room_b = rounded(c.size_b), room_d = rounded(c.size_d);
    const bool one_a = step_a == 0 && room_a > 0, one_b = step_b == 0 && room_b > 0;
    const std::int64_t each = std::max<std::int64_t>(1, room_a + room_b + room_d);
    const std::size_t most =
        static_cast<std::size_t>(std::max<std::int64_t>(1, std::min(workspace_limit_, max_batch_workspace) / each));
    std::size_t started = 0;
    try {
      while (started < ops.size()) {
        const std::span<const BlockOp> part = ops.subspan(started, std::min(most, ops.size() - started));
        const auto n = static_cast<std::int64_t>(part.size());
        double* room = workspace(stream, each * n);
        const auto packed_operand = [&](const Packing& packing, std::int64_t size, bool one, auto&& data) {
          if (packing.empty()) return data(part.front());
          double* packed = std::exchange(room, room + (one ? 1 : n) * size);
          Chains copies;
          for (std::int64_t i = 0; i < (one ? 1 : n); ++i)
            copies.add(
                packed_view(packed + i * size, packing, &PackedDim::packed),
                combining(1.0, packed_source(data(part[static_cast<std::size_t>(i)]), packing, &PackedDim::operand),
                          0.0));
          run_fused(stream, copies.work());
          return static_cast<const double*>(packed);
        };
        const double* a = packed_operand(c.pack_a, room_a, one_a, [](const BlockOp& op) { return op.a.data; });
        const double* b = packed_operand(c.pack_b, room_b, one_b, [](const BlockOp& op) { return op.b.data; });
        const bool apart = !c.unpack_d.empty();
        double* d = apart ? room : part.front().d.data;
        const Steps steps{one_a              ? 0
                          : c.pack_a.empty() ? *step_a
                                             : room_a,
                          one_b              ? 0
                          : c.pack_b.empty() ? *step_b
                                             : room_b,
                          apart ? room_d : *step_d};
        const double alpha = aside ? 1.0 : first.alpha, beta = apart ? 0.0 : first.beta;
        for (std::int64_t l = 0; l < c.loops; ++l)
          for (std::int64_t x = 0; x < c.batches; ++x) {
            const BlasStatus status =
                multiply(stream, c, alpha, a + l * c.a.loop + x * c.a.batch, b + l * c.b.loop + x * c.b.batch, beta,
                         d + l * c.d.loop + x * c.d.batch, n, steps);
            if (status == BlasStatus::alloc_failed && (l + x == 0 || apart)) return started;  // D is as it was
            gpu_.check(status, "products of matrices");
          }
        if (apart) {
          Chains results;
          for (std::int64_t i = 0; i < n; ++i)
            results.add(packed_view(part[static_cast<std::size_t>(i)].d.data, c.unpack_d, &PackedDim::operand),
                        combining(aside ? 0.0 : 1.0, packed_source(d + i * room_d, c.unpack_d, &PackedDim::packed),
                                  first.beta));
          run_fused(stream, results.work());
        }
        started += part.size();
      }
    } catch (const DeviceFull&) {
      // The rest had no room.
    }
    return started;
  }

  /// From one to the next, where it is the same for all: none less than 0.
  template <class F>
  static std::optional<std::int64_t> distance(std::span<const BlockOp> ops, F&& data) {
    const std::int64_t step = data(ops[1]) - data(ops[0]);
    for (std::size_t i = 1; i < ops.size(); ++i)
      if (data(ops[i]) - data(ops[i - 1]) != step) return {};
    return step >= 0 ? std::optional(step) : std::nullopt;
  }
  /// Kernels and products of a contraction, or of several at once; `products`: for each of its loops.
  static std::int64_t starts(const DeviceContraction& c, std::int64_t products) {
    return c.loops * products + (c.pack_a.empty() ? 0 : 1) + (c.pack_b.empty() ? 0 : 1) + (c.unpack_d.empty() ? 0 : 1);
  }

  BlasStatus multiply(int stream, const DeviceContraction& c, double alpha, const double* a, const double* b,
                      double beta, double* d) {
    return multiply(stream, c, alpha, a, b, beta, d, c.batches, {c.a.batch, c.b.batch, c.d.batch});
  }
  struct Steps {
    std::int64_t a, b, d;
  };
  BlasStatus multiply(int stream, const DeviceContraction& c, double alpha, const double* a, const double* b,
                      double beta, double* d, std::int64_t batches, const Steps& steps) {
    const BlasHandle blas = work_[static_cast<std::size_t>(stream - first_compute_stream)].blas;
    const double *first = c.swapped ? b : a, *second = c.swapped ? a : b;
    const GemmOperand &x = c.swapped ? c.b : c.a, &y = c.swapped ? c.a : c.b;
    const std::int64_t step_x = c.swapped ? steps.b : steps.a, step_y = c.swapped ? steps.a : steps.b;
    const auto flag = [](const GemmOperand& o) {
      return o.transposed ? BlasOperation::transposed : BlasOperation::plain;
    };
    const auto number = [](std::int64_t n) { return static_cast<int>(n); };
    ++products_;
    if (batches == 1)
      return libraries().blas.cublasDgemm_v2(blas, flag(x), flag(y), number(c.m), number(c.n), number(c.k), &alpha,
                                             first, number(x.ld), second, number(y.ld), &beta, d, number(c.d.ld));
    return libraries().blas.cublasDgemmStridedBatched(blas, flag(x), flag(y), number(c.m), number(c.n), number(c.k),
                                                      &alpha, first, number(x.ld), step_x, second, number(y.ld), step_y,
                                                      &beta, d, number(c.d.ld), steps.d, number(batches));
  }

  GpuDevice gpu_;
  WorkTimer timer_{gpu_};
  double waited_before_ = 0;  // before times were taken
  std::vector<Stream> streams_;
  std::vector<Work> work_;
  std::unique_ptr<DeviceCode> code_;
  std::unique_ptr<Staging> staging_;
  double* result_ = nullptr;  // pinned
  std::int64_t memory_ = 0, reserved_ = 0, workspace_limit_ = 0, products_ = 0;
  std::map<double*, std::int64_t> pieces_;  // bytes
  std::map<std::vector<std::int64_t>, DeviceContraction> plans_;
  std::vector<cuda::Event> events_;
  std::vector<Event> unused_events_;
  TransferCount in_, out_;
};

}  // namespace

std::optional<NoCuda> why_no_cuda() {
  const Libraries& l = libraries();
  if (!l.trouble.empty()) return NoCuda{l.trouble, l.remedy};
  if (std::string why = kernels::why_no_device_code(); !why.empty())
    return NoCuda{"kernels of the GPU cannot be generated: " + why,
                  "build with LLVM 19 (llvm-19-dev, -DSIALX_JIT=ON), or run with `--device host`"};
  return {};
}

std::string describe_cuda() {
  if (const auto no = why_no_cuda()) return fmt::format("cuda: not used, {}", no->trouble);
  return "cuda: " + libraries().found;
}

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options) {
  if (const auto no = why_no_cuda()) throw EnvironmentError(no->trouble, no->remedy);
  const auto [number, sharing] = gpu_of(options);
  return std::make_unique<CudaDevice>(options, number, sharing);
}

}  // namespace sial
