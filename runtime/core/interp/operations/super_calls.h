#pragma once
// The super instructions of the program: what the runtime or a plugin has for each, and how their bodies are called.
// Owned by the machine.

#include <functional>
#include <span>
#include <vector>

#include "runtime/core/interp/context/profile.h"
#include "runtime/core/interp/operations/super_context.h"
#include "runtime/core/super/orbital_ranges.h"

namespace sial {

class SuperCalls {
 public:
  SuperCalls(const RunContext& context, OwnBlocks& own, const Operands& operands, SuperArguments& arguments,
             MachineContext& seen, Profile& profile);

  /// Runs the body of an execute statement.
  void run(const Instruction& in, Statement here);
  /// The instruction's effect on its first argument element by element, or on blocks as a whole; null: neither.
  ElementForm element_form(std::int32_t special) const { return bodies_[special].element; }
  BlockFormMaker block_form(std::int32_t special) const { return bodies_[special].block; }
  /// An error where an argument holds orbitals of the wrong sort.
  void check_orbitals(std::int32_t special, std::span<const SuperArg> args) const {
    orbital_ranges_.check(context_.module.specials[special].name, args, bodies_[special].orbitals);
  }

 private:
  struct Body {
    std::function<void(SuperContext&, std::span<SuperArg>)> run;  // may be empty
    ElementForm element = nullptr;
    BlockFormMaker block = nullptr;
    std::span<const ArgumentRule> orbitals;  // what of its arguments is checked; often empty
  };
  [[noreturn]] void fail_unknown(const SpecialRow& special, Statement here) const;
  bool charge(std::span<SuperArg> args, Statement here);
  void leave_shared_memory(const Instruction& in, const std::string& signature, Statement here);

  const RunContext& context_;
  OwnBlocks& own_;
  const Operands& operands_;
  SuperArguments& arguments_;
  MachineContext& seen_;
  Profile& profile_;
  std::vector<Body> bodies_;  // per special
  OrbitalRanges orbital_ranges_;
};

}  // namespace sial
