#pragma once
// The arguments of a super instruction as its body sees them: dense column-major buffers with their segments and
// offsets. Parts of larger arrays (parts of statics, regions, sub-boxes) travel through a scratch copy that is written
// back for w and u. Owned by the machine.

#include <array>
#include <cstdint>
#include <span>

#include "runtime/core/interp/blocks/operands.h"
#include "runtime/core/super/registry.h"

namespace sial {

class SuperArguments {
 public:
  /// The list of one instruction. `describe` and `prepare` fill it one by one.
  struct List {
    struct Copy {
      double* scratch = nullptr;
      std::int64_t size = 0;
      MutableView target;
      bool copy_back = false;
    };
    std::array<SuperArg, max_rank> args;
    std::array<Copy, max_rank> copies;
    std::array<double, max_rank> literals{};
    std::span<SuperArg> first(std::int32_t n) { return {args.data(), static_cast<std::size_t>(n)}; }
  };

  SuperArguments(const RunContext& context, Registers& registers, const BlockMemory& memory, Operands& operands,
                 Statics& statics, const Regions& regions);

  const ArgRow& row(const Instruction& in, std::int32_t k) const { return context_.module.args[in.b + k]; }
  /// All of a block argument but its data.
  SuperArg describe(const ArgRow& row, char letter, Statement here) const;
  void prepare(const ArgRow& row, char letter, List& list, std::int32_t k, Statement here);
  /// Writes back what a body wrote to copies, and frees them. Returns whether there were any.
  bool finish(List& list, std::int32_t n) const;
  /// Frees the copies.
  void drop(List& list, std::int32_t n) const noexcept;
  /// A whole array as an argument, without data.
  SuperArg describe_array(ArrayId array) const;

 private:
  void describe_dims(SuperArg& arg, const ResolvedReference& ref, const Located& at, Statement here) const;
  void prepare_array(const ArgRow& row, SuperArg& arg, Statement here);
  MutableView block(const ArgRow& row, SuperArg& arg, Statement here);
  MutableView region(const ArgRow& row, SuperArg& arg, Statement here) const;

  const RunContext& context_;
  Registers& registers_;
  const BlockMemory& memory_;
  Operands& operands_;
  Statics& statics_;
  const Regions& regions_;
};

}  // namespace sial
