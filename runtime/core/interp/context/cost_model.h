#pragma once
// The cost of block statements and super instructions that are not executed (`--simulate ...,kernels=model`): a model
// says how many seconds, and the rank's clock goes on by them. One model serves all ranks of a process.

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/job/job_data.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/transport/transport.h"

namespace sial {

/// Seconds of the statements of one program in one job, operands brought from where they lie included.
class StatementCosts {
 public:
  virtual ~StatementCosts() = default;
  /// The seconds of a product of blocks.
  virtual double product(std::int32_t pc, const BlockOp& op) = 0;
  /// The seconds of any other statement; `elements`: of its blocks or arguments, in their order.
  virtual double statement(std::int32_t pc, std::span<const double> elements) const = 0;
  /// The seconds of an instruction on registers.
  virtual double light() const = 0;
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// The costs of the program of that number in the job; made for the first rank that asks.
  virtual std::shared_ptr<StatementCosts> costs(const Module& module, std::int32_t sequence, const JobData& job) = 0;
  /// The iterations of a loop that data end.
  virtual std::int32_t iterations() const = 0;
};

/// A rank's account with the model. What is owed is charged with the next statement that takes time.
class ModelClock {
 public:
  ModelClock(std::shared_ptr<StatementCosts> costs, std::int32_t iterations, Transport& transport)
      : costs_(std::move(costs)), iterations_(iterations), transport_(transport) {}

  StatementCosts& costs() const { return *costs_; }
  std::int32_t iterations() const { return iterations_; }
  void owe_light(std::int64_t instructions) { owed_ += static_cast<double>(instructions) * costs_->light(); }
  void charge(double seconds) {
    const double all = owed_ + seconds;
    owed_ = 0;
    transport_.charge_compute(all);
  }
  template <class... Elements>
  void charge_statement(std::int32_t pc, Elements... elements) {
    const double n[] = {static_cast<double>(elements)..., 0.0};
    charge(costs_->statement(pc, std::span(n, sizeof...(elements))));
  }

 private:
  const std::shared_ptr<StatementCosts> costs_;
  const std::int32_t iterations_;
  Transport& transport_;
  double owed_ = 0;
};

}  // namespace sial
