#include "runtime/core/model/model_costs.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/memory/host_pool.h"
#include "runtime/core/model/operation_costs.h"
#include "runtime/core/model/work_count.h"

namespace sial {
namespace {

/// Costs by instruction: where it stands in several nests of loops, their mean.
class ProgramCosts final : public StatementCosts {
 public:
  ProgramCosts(const Module& m, const JobData& job, const TimeSetting& setting, const Kernels& kernels)
      : kernels_(kernels), cycles_(setting.speed.cycles), costs_(m.code.size()) {
    const BoundProgram bound = bind_program(m, job);
    const WorkCount work = count_work(m, bound, job, time_steps, setting.iterations);
    const OperandSources sources(m, bound, work);
    const OperationCosts operations(m, bound, sources, setting.speed, setting.keeps_integrals);
    std::vector<double> executions(m.code.size());
    for (std::size_t n = 0; n < work.nests.size(); ++n)
      work.nests[n].executions.for_each([&](std::int32_t pc, double times) {
        add(costs_[at(pc)], operations.of(static_cast<std::int32_t>(n), m.code[at(pc)]), times);
        executions[at(pc)] += times;
      });
    for (std::size_t pc = 0; pc < costs_.size(); ++pc) {
      if (executions[pc] > 0) scale(costs_[pc], 1 / executions[pc]);
      else costs_[pc] = operations.of(0, m.code[pc]);
    }
  }

  double product(std::int32_t pc, const BlockOp& op) override {
    const double sizes[] = {size(op.d), size(op.a), size(op.b)};
    return statement(pc, sizes) + kernel(pc, op);
  }
  double statement(std::int32_t pc, std::span<const double> elements) const override {
    const OperationCost& cost = costs_[at(pc)];
    double seconds = cost.fixed;
    for (std::size_t k = 0; k < std::min(elements.size(), cost.element.size()); ++k)
      seconds += elements[k] * cost.element[k];
    return seconds;
  }
  double light() const override { return OperationCosts::light(); }

 private:
  static std::size_t at(std::int32_t pc) { return static_cast<std::size_t>(pc); }
  template <class View>
  static double size(const View& view) {
    double n = 1;
    for (int d = 0; d < view.rank; ++d) n *= static_cast<double>(view.extent[d]);
    return n;
  }
  static void add(OperationCost& sum, const OperationCost& cost, double times) {
    sum.fixed += times * cost.fixed;
    sum.element.resize(std::max(sum.element.size(), cost.element.size()));
    for (std::size_t k = 0; k < cost.element.size(); ++k) sum.element[k] += times * cost.element[k];
  }
  static void scale(OperationCost& cost, double factor) {
    cost.fixed *= factor;
    for (double& element : cost.element) element *= factor;
  }
  /// The same for operands of the same extents and strides, of which an instruction has few.
  double kernel(std::int32_t pc, const BlockOp& op) {
    std::uint64_t key = at(pc);
    for (const auto& extents : {op.d.extent, op.a.extent, op.b.extent})
      for (const std::int64_t e : extents) key = mix_hash(key, static_cast<std::uint64_t>(e));
    const auto [found, is_new] = kernel_seconds_.try_emplace(key, 0.0);
    if (is_new) found->second = kernels_.cycles(op) / cycles_;
    return found->second;
  }

  const Kernels& kernels_;
  const double cycles_;
  std::vector<OperationCost> costs_;
  std::unordered_map<std::uint64_t, double> kernel_seconds_;
};

}  // namespace

ModelCosts::ModelCosts(const TimeSetting& setting)
    : setting_(setting), pool_(make_host_pool()), kernels_(make_kernels("auto", *pool_, kernels_of_predictions())) {}
ModelCosts::~ModelCosts() = default;

std::shared_ptr<StatementCosts> ModelCosts::costs(const Module& module, std::int32_t sequence, const JobData& job) {
  std::shared_ptr<StatementCosts>& program = programs_[sequence];
  if (!program) program = std::make_shared<ProgramCosts>(module, job, setting_, *kernels_);
  return program;
}

}  // namespace sial
