#pragma once
// print and println, and a look into one block, region or array: print norm(...), max(...) and elements(...). Only
// ranks that print evaluate blocks: a rank that does not print still checks that they exist. Ranks other than the
// first, which print after enable_all_rank_print only, name themselves in what they say of elements.

#include <string>

#include "runtime/core/interp/blocks/operands.h"
#include "runtime/core/interp/context/printer.h"
#include "runtime/core/interp/operations/inspect.h"

namespace sial {

class OutputHandlers {
 public:
  OutputHandlers(const RunContext& context, const Registers& registers, Operands& operands, Statics& statics,
                 const Regions& regions);

  void op_print_string(const Instruction& in, Statement here);
  void op_print_scalar(const Instruction& in, Statement here);
  void op_print_int(const Instruction& in, Statement here);
  void op_print_index(const Instruction& in, Statement here);
  void op_print_block(const Instruction& in, Statement here);
  void op_print_region(const Instruction& in, Statement here);
  void op_print_array(const Instruction& in, Statement here);
  void op_inspect_block(const Instruction& in, Statement here) { look_at_block(in, false, here); }
  void op_inspect_region(const Instruction& in, Statement here) { look_at_region(in, false, here); }
  void op_inspect_array(const Instruction& in, Statement here) { look_at_array(in, false, here); }
  void op_elements_block(const Instruction& in, Statement here) { look_at_block(in, true, here); }
  void op_elements_region(const Instruction& in, Statement here) { look_at_region(in, true, here); }
  void op_elements_array(const Instruction& in, Statement here) { look_at_array(in, true, here); }

 private:
  bool prints_values(const Instruction& in);
  std::string_view name_or_none(std::int32_t string) const;
  /// The array's regions, brought up to date on the host; an error where it has none.
  const std::vector<Region>& regions_to_print(ArrayId array, Statement here) const;
  std::string name_of(ArrayId array, const Region& region) const;  // of the only region, that of the array
  ConstView whole_static(ArrayId array, Statement here);
  void look_at_block(const Instruction& in, bool list, Statement here);
  void look_at_region(const Instruction& in, bool list, Statement here);
  void look_at_array(const Instruction& in, bool list, Statement here);
  ElementLabels declared_labels(ArrayId array, const std::array<std::int32_t, max_rank>& lo) const;
  void inspect(const Instruction& in, bool list, const std::string& name, const ElementLabels& labels,
               const ConstView& view, Statement here);
  void list_elements(const Instruction& in, const std::string& name, const ElementLabels& labels, const ConstView& view,
                     Statement here);

  const RunContext& context_;
  const Registers& registers_;
  Operands& operands_;
  Statics& statics_;
  const Regions& regions_;
  Printer printer_;
  const std::string rank_;  // before what ranks other than the first say
};

}  // namespace sial
