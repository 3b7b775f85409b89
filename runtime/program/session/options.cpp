#include "runtime/program/session/options.h"

namespace sial {

PlanSetting plan_setting(const Job& job, const SessionOptions& options) {
  PlanSetting setting;
  setting.memory_per_rank = job.memory_per_rank;
  setting.copy = options.store.copy;
  setting.deterministic = options.store.deterministic;
  setting.static_schedule = options.machine.schedule == Schedule::static_;
  setting.keep_saved = job.results_path != "none";
  setting.keep_integrals = job.keep_integrals;
  setting.spill = job.spill;
  setting.memory_of_server = options.store.memory_of_server;
  setting.orders_pardos = options.machine.pardo_order == PardoOrdering::automatic;
  setting.spill_capacity = options.machine.spill_capacity;
  setting.kernels = options.kernels;
  setting.kernel_options = options.kernel_options;
  return setting;
}

}  // namespace sial
