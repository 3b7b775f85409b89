#pragma once
// The cost model of the simulator: what TimeModel reckons with, for the blocks that each rank works on.

#include <map>
#include <memory>

#include "runtime/core/interp/context/cost_model.h"
#include "runtime/core/model/time_model.h"

namespace sial {

/// For one job, whose programs have numbers; serves all ranks of a process, one at a time.
class ModelCosts final : public CostModel {
 public:
  explicit ModelCosts(const TimeSetting& setting);
  ~ModelCosts() override;
  std::shared_ptr<StatementCosts> costs(const Module& module, std::int32_t sequence, const JobData& job) override;
  std::int32_t iterations() const override { return setting_.iterations; }

 private:
  const TimeSetting setting_;
  std::unique_ptr<BufferResource> pool_;
  std::unique_ptr<Kernels> kernels_;
  std::map<std::int32_t, std::shared_ptr<StatementCosts>> programs_;
};

}  // namespace sial
