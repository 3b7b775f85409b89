#include "runtime/prediction/time_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "runtime/bytecode/layout.h"
#include "runtime/interp/blocks/bind.h"
#include "runtime/memory/host_pool.h"
#include "runtime/prediction/effects.h"
#include "runtime/prediction/operand_sources.h"
#include "runtime/prediction/work_count.h"

namespace sial {
namespace {

constexpr std::int64_t max_steps = 4'000'000;  // of a program
// Seconds, as measured: an instruction on registers, one on blocks beside its kernel, a get of a block on this node,
// the begin of an iteration of a pardo, a barrier of a rank.
constexpr double register_time = 15e-9, block_time = 80e-9, get_time = 250e-9, draw_time = 200e-9, barrier_time = 10e-6;
constexpr double touched_in_cache = 80e9;  // bytes per second of element-wise work in the caches of one core
// Of super instructions: a call, and each element of a block of two-electron integrals, computed or found again.
constexpr double call_time = 1e-6, integral_time = 30e-9, kept_integral_time = 8e-9;
constexpr double part_of_cache = 0.7;  // that blocks can be expected to hold

std::int64_t rounded(double extent) { return std::max<std::int64_t>(1, std::llround(extent)); }

}  // namespace

struct TimeModel::Parts {
  explicit Parts(const TimeSetting& s)
      : setting(s), pool(make_host_pool()), kernels(make_kernels("auto", *pool, without_code())) {}
  static KernelOptions without_code() {
    KernelOptions options;
    options.jit = false;
    return options;
  }
  TimeSetting setting;
  std::unique_ptr<BufferResource> pool;
  std::unique_ptr<Kernels> kernels;
};

namespace {

/// The times of one program.
class Timer {
 public:
  Timer(const Module& m, const JobData& job, const TimeSetting& setting, const Kernels& kernels)
      : m_(m),
        bound_(bind_program(m, job)),
        setting_(setting),
        kernels_(kernels),
        work_(count_work(m, bound_, job, max_steps)),
        sources_(m, bound_, work_) {}

  ProgramTime run() {
    ProgramTime result;
    result.program = m_.program;
    result.steps = work_.steps;
    for (std::size_t n = 0; n < work_.nests.size(); ++n) {
      const LoopNest& nest = work_.nests[n];
      const std::size_t pardo = outermost_pardo(n);
      const double share = nest.in_pardo ? 1.0 / shared_by(pardo) : 1.0;
      double sum = 0;
      nest.executions.for_each([&](std::int32_t pc, double executions) {
        sum += executions * share * seconds_of(static_cast<std::int32_t>(n), m_.code[pc]);
      });
      result.seconds += sum;
      if (nest.in_pardo) in_pardo_[pardo] += sum;
    }
    // At the end of a pardo ranks wait for the last one: half an iteration, on average.
    for (const auto& [n, seconds] : in_pardo_)
      if (iterations_of(n) > 1 && setting_.ranks > 1) result.seconds += 0.5 * seconds * shared_by(n) / iterations_of(n);
    return result;
  }

 private:
  std::size_t outermost_pardo(std::size_t n) const {
    while (work_.nests[n].parent >= 0 && work_.nests[static_cast<std::size_t>(work_.nests[n].parent)].in_pardo)
      n = static_cast<std::size_t>(work_.nests[n].parent);
    return n;
  }

  /// Each time.
  double iterations_of(std::size_t pardo) const {
    return work_.nests[pardo].opened > 0 ? work_.nests[pardo].iterations / work_.nests[pardo].opened : 0.0;
  }

  /// Ranks that have something to do in a pardo.
  double shared_by(std::size_t pardo) const {
    return std::max(1.0, std::min<double>(setting_.ranks, iterations_of(pardo)));
  }

  double seconds_of(std::int32_t nest, const Instruction& in) const {
    if (synchronizes(in.op)) return barrier_time * (setting_.ranks > 1 ? setting_.ranks : 0.01);
    if (in.op == Opcode::body_begin && m_.loops[in.a].kind == LoopKind::pardo) return register_time + draw_time;
    switch (op_cost(in.op)) {
      case OpCost::quick: return register_time;
      case OpCost::fixed: return block_time;
      case OpCost::elements: return elementwise(nest, in);
      case OpCost::product: return contraction(nest, in.a, in.b, in.c, operand_intent(in, 0) == Intent::update);
      case OpCost::dot:
        return block_time + 2 * mean_elements(bound_, in.b) / 16 / setting_.speed.cycles * 4 + transfer(nest, in.b, 1) +
               transfer(nest, in.c, 1);
      case OpCost::message: return get_time + network(in.a);
      case OpCost::send: return elementwise(nest, in) + (get_time + network(in.a));
      case OpCost::body: return super_instruction(nest, in);
    }
    return 0.0;
  }

  /// A view with the mean extents of the reference's segments, rounded.
  MutableView view(std::int32_t ref) const {
    const ResolvedReference& plan = bound_.refs[ref];
    const BoundArray& array = bound_.arrays[plan.array.at()];
    MutableView v;
    v.data = reinterpret_cast<double*>(std::uintptr_t{128});
    v.rank = plan.rank;
    std::int64_t stride = 1;
    for (int d = 0; d < plan.rank; ++d) {
      const ResolvedReference::Entry& entry = plan.entry[d];
      v.extent[d] = entry.simple || entry.index == no_index ? 1 : rounded(mean_extent(bound_, entry.index));
      v.label[d] = plan.label[d];
      v.stride[d] = plan.kind == ArrayKind::static_ ? array.stride[d] : stride;
      stride *= v.extent[d];
    }
    return v;
  }

  double contraction(std::int32_t nest, std::int32_t d, std::int32_t a, std::int32_t b, bool adds) const {
    BlockOp op;
    op.d = view(d);
    op.a = as_const(view(a));
    op.b = as_const(view(b));
    op.has_b = true;
    op.beta = adds ? 1.0 : 0.0;
    double positions = 1, whole = 1;  // of the loops: with rounded extents, and with true means
    std::map<std::int32_t, std::pair<double, double>> extents;
    for (const std::int32_t ref : {d, a, b})
      for (int k = 0; k < bound_.refs[ref].rank; ++k) {
        const ResolvedReference::Entry& entry = bound_.refs[ref].entry[k];
        if (!entry.simple && entry.index != no_index)
          extents[bound_.refs[ref].label[k]] = {static_cast<double>(rounded(mean_extent(bound_, entry.index))),
                                                mean_extent(bound_, entry.index)};
      }
    for (const auto& [label, e] : extents) positions *= e.first, whole *= e.second;
    const double compute = kernels_.cycles(op) / setting_.speed.cycles * (positions > 0 ? whole / positions : 0.0);
    // Operands stream in while tiles compute, a result is read and written between them.
    constexpr double not_hidden = 0.6;
    return block_time + compute +
           not_hidden * (transfer(nest, a, 1) + transfer(nest, b, 1) + transfer(nest, d, adds ? 2 : 1));
  }

  double elementwise(std::int32_t nest, const Instruction& in) const {
    double seconds = block_time;
    for_each_block(in, [&](std::int32_t ref, Intent) {
      seconds += sizeof(double) * mean_elements(bound_, ref) / touched_in_cache + transfer(nest, ref, 1);
    });
    return seconds;
  }

  /// Seconds that a block takes on its way from where it lies, `times` over.
  double transfer(std::int32_t nest, std::int32_t ref, double times) const {
    const double bytes = times * sizeof(double) * mean_elements(bound_, ref);
    const MachineSpeed& speed = setting_.speed;
    double seconds = 0;
    for (const auto& [distance, part] : sources_.distances(nest, ref)) {
      const double rate = distance < 32768                            ? 0.0
                          : distance < part_of_cache * speed.l2_bytes ? speed.l2_rate
                          : distance < part_of_cache * speed.l3_bytes ? speed.l3_rate
                                                                      : speed.memory_rate;
      if (rate > 0) seconds += part * bytes / rate;
    }
    return seconds;
  }

  double network(std::int32_t ref) const {
    if (setting_.nodes <= 1) return 0.0;
    const double remote = 1.0 - 1.0 / setting_.nodes;
    return remote *
           (setting_.speed.network_latency + sizeof(double) * mean_elements(bound_, ref) / setting_.speed.network_rate);
  }

  double super_instruction(std::int32_t nest, const Instruction& in) const {
    double seconds = call_time;
    const bool integrals = computes_integrals(m_.specials[in.a].name);
    for (std::int32_t i = 0; i < in.c; ++i) {
      const ArgRow& arg = m_.args[in.b + i];
      if (arg.kind == ArgKind::block) {
        seconds += transfer(nest, arg.id, 1);
        if (integrals && i == 0)
          seconds += mean_elements(bound_, arg.id) * (setting_.keeps_integrals ? kept_integral_time : integral_time);
        else seconds += sizeof(double) * mean_elements(bound_, arg.id) / touched_in_cache;
      } else if (arg.kind == ArgKind::array && m_.arrays[arg.id].kind == ArrayKind::static_ &&
                 m_.arrays[arg.id].dims.size() == 2 && m_.specials[in.a].name.starts_with("eigen")) {
        const double n = static_cast<double>(bound_.arrays[arg.id].dim[0].total());
        seconds += 5 * n * n * n / 2e9;  // half of it each, for the matrix and its vectors
      }
    }
    return seconds;
  }

  const Module& m_;
  const BoundProgram bound_;
  const TimeSetting& setting_;
  const Kernels& kernels_;
  const WorkCount work_;
  const OperandSources sources_;
  std::map<std::size_t, double> in_pardo_;  // by outermost nest: seconds of one rank
};

}  // namespace

TimeModel::TimeModel(const TimeSetting& setting) : parts_(std::make_unique<Parts>(setting)) {}
TimeModel::~TimeModel() = default;

ProgramTime TimeModel::time_of(const Module& module, const JobData& job) {
  return Timer(module, job, parts_->setting, *parts_->kernels).run();
}

}  // namespace sial
