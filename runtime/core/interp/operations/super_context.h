#pragma once
// The machine as super instruction bodies see it. Owned by it, with the parts it refers to.

#include <memory>

#include "runtime/core/interp/operations/super_arguments.h"

namespace sial {

class MachineContext final : public SuperContext {
 public:
  MachineContext(const RunContext& context, const Registers& registers, const Position& position, const OwnBlocks& own,
                 Statics& statics, const Regions& regions, const SuperArguments& arguments);
  const JobData& job() const override;
  int rank() const override;
  int size() const override;
  std::ostream& out() override;
  void set_all_ranks_print(bool on) override;
  const double* scalar_by_name(std::string_view name) const override;
  void list_blocks(std::ostream& out, bool with_numbers) const override;
  std::shared_ptr<void>& slot(std::string_view family) override;
  const double* find_cached(const BlockIndex& block, std::int64_t size) override;
  void release_cached(const double* data) override;
  double* allocate_cached(std::int64_t size) override;
  void keep_block(const BlockIndex& block, double* data) override;
  SuperArg array_by_name(std::string_view name) override;

 private:
  void list_own_blocks(std::ostream& out, ArrayId array, bool with_numbers) const;

  const RunContext& context_;
  const Registers& registers_;
  const Position& position_;
  const OwnBlocks& own_;
  Statics& statics_;
  const Regions& regions_;
  const SuperArguments& arguments_;
  std::unique_ptr<std::ostream> silent_;
};

}  // namespace sial
