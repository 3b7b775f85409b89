#include "runtime/core/model/time_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/memory/host_pool.h"
#include "runtime/core/model/operand_sources.h"
#include "runtime/core/model/operation_costs.h"
#include "runtime/core/model/work_count.h"

namespace sial {
namespace {

constexpr double barrier_time = 10e-6, serve_time = 1e-6;  // seconds: of a rank, of a request

std::int64_t rounded(double extent) { return std::max<std::int64_t>(1, std::llround(extent)); }

}  // namespace

struct TimeModel::Parts {
  explicit Parts(const TimeSetting& s)
      : setting(s), pool(make_host_pool()), kernels(make_kernels("auto", *pool, kernels_of_predictions())) {}
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
        work_(count_work(m, bound_, job, time_steps, setting.iterations)),
        sources_(m, bound_, work_),
        operations_(m, bound_, sources_, setting.speed, setting.keeps_integrals) {}

  ProgramTime run() {
    ProgramTime result;
    result.program = m_.program;
    result.steps = work_.steps;
    for (std::size_t n = 0; n < work_.nests.size(); ++n) {
      const LoopNest& nest = work_.nests[n];
      const std::size_t pardo = outermost_pardo(n);
      const double share = nest.in_pardo ? 1.0 / shared_by(pardo) : 1.0;
      Seconds sum;
      nest.executions.for_each([&](std::int32_t pc, double executions) {
        const Seconds each = seconds_of(static_cast<std::int32_t>(n), m_.code[pc]);
        sum.rank += executions * share * each.rank;
        sum.network += executions * share * each.network;
      });
      if (!nest.in_pardo) {
        result.seconds += sum.rank + sum.network;
        continue;
      }
      in_pardo_[pardo].rank += sum.rank;
      in_pardo_[pardo].network += sum.network;
    }
    for (const auto& [n, seconds] : in_pardo_) result.seconds += of_pardo(n, seconds);
    return result;
  }

 private:
  /// The seconds of a rank: its own work, and what comes and goes meanwhile.
  struct Seconds {
    double rank = 0, network = 0;
  };

  /// Blocks are sent for ahead: what takes longer, work or their way, is what it takes. Only the first ones are waited
  /// for. At the end ranks wait for the last one: half an iteration, on average.
  double of_pardo(std::size_t n, const Seconds& seconds) const {
    double all = std::max(seconds.rank, seconds.network);
    if (seconds.network > 0) all += work_.nests[n].opened * 2 * setting_.speed.network_latency;
    if (iterations_of(n) > 1 && setting_.ranks > 1) all += 0.5 * all * shared_by(n) / iterations_of(n);
    return all;
  }

  /// Ranks of one node meet one after the other, nodes in a tree of messages.
  double barrier() const {
    if (setting_.ranks <= 1) return 0.01 * barrier_time;
    if (setting_.nodes <= 1) return setting_.ranks * barrier_time;
    return barrier_time + std::ceil(std::log2(setting_.ranks)) * setting_.speed.network_latency;
  }

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

  Seconds seconds_of(std::int32_t nest, const Instruction& in) const {
    if (synchronizes(in.op)) return {barrier(), 0};
    if (in.op == Opcode::body_begin && m_.loops[in.a].kind == LoopKind::pardo)
      return {OperationCosts::light() + OperationCosts::draw(), 0};
    const OperationCost cost = operations_.of(nest, in);
    double seconds = cost.fixed, sent = 0;
    std::size_t k = 0;
    const auto add = [&](double elements) { seconds += elements * cost.element[k++]; };
    switch (op_cost(in.op)) {
      case OpCost::quick:
      case OpCost::fixed: break;
      case OpCost::message: sent = network(in.a); break;
      case OpCost::product:
        for (const std::int32_t ref : {in.a, in.b, in.c}) add(mean_elements(bound_, ref));
        seconds += kernel(in.a, in.b, in.c, operand_intent(in, 0) == Intent::update);
        break;
      case OpCost::dot:
        for (const std::int32_t ref : {in.b, in.c}) add(mean_elements(bound_, ref));
        break;
      case OpCost::send: sent = network(in.a); [[fallthrough]];
      case OpCost::elements:
        for_each_block(in, [&](std::int32_t ref, Intent) { add(mean_elements(bound_, ref)); });
        break;
      case OpCost::body:
        for (std::int32_t i = 0; i < in.c; ++i) {
          const ArgRow& arg = m_.args[in.b + i];
          add(arg.kind == ArgKind::block ? mean_elements(bound_, arg.id) : 0.0);
        }
        break;
    }
    return {seconds, sent};
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

  /// The seconds of a product's kernel, operands in its caches.
  double kernel(std::int32_t d, std::int32_t a, std::int32_t b, bool adds) const {
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
    return operations_.kernel(kernels_, op) * (positions > 0 ? whole / positions : 0.0);
  }

  /// On its way to another node or from there.
  double network(std::int32_t ref) const {
    if (setting_.nodes <= 1) return 0.0;
    const double remote = 1.0 - 1.0 / setting_.nodes;
    return remote * (serve_time + sizeof(double) * mean_elements(bound_, ref) / setting_.speed.network_rate);
  }

  const Module& m_;
  const BoundProgram bound_;
  const TimeSetting& setting_;
  const Kernels& kernels_;
  const WorkCount work_;
  const OperandSources sources_;
  const OperationCosts operations_;
  std::map<std::size_t, Seconds> in_pardo_;  // by outermost nest, of one rank
};

}  // namespace

KernelOptions kernels_of_predictions() {
  KernelOptions options;
  options.jit = false;
  return options;
}

TimeModel::TimeModel(const TimeSetting& setting) : parts_(std::make_unique<Parts>(setting)) {}
TimeModel::~TimeModel() = default;

ProgramTime TimeModel::time_of(const Module& module, const JobData& job) {
  return Timer(module, job, parts_->setting, *parts_->kernels).run();
}

}  // namespace sial
