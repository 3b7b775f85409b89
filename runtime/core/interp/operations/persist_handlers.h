#pragma once
// Scalars and arrays that pass from program to program under a label.

#include "runtime/core/interp/blocks/put_execution.h"
#include "runtime/core/interp/rank_check/program_check.h"

namespace sial {

class PersistHandlers {
 public:
  PersistHandlers(const RunContext& context, Registers& registers, Statics& statics, PutExecution& puts,
                  PersistentMarks& marks, ProgramCheck& check)
      : context_(context), registers_(registers), statics_(statics), puts_(puts), marks_(marks), check_(check) {}

  void op_set_persistent(const Instruction& in, Statement here);
  void op_restore_persistent(const Instruction& in, Statement here);

 private:
  void restore_scalar(std::int32_t id, const std::string& label, Statement here);
  void restore_static(ArrayId id, const std::string& label, Statement here);
  void restore_remote(ArrayId id, const std::string& label, Statement here);
  template <class T>
  const typename T::mapped_type& saved(const std::string& label, const char* what, const T& known,
                                       Statement here) const;
  void warn_kinds(const std::string& label, const BoundArray& array, Statement here) const;
  template <class T, class Rows>
  void warn_label(const std::string& label, const std::string& name, const T& known, const Rows& rows,
                  Statement here) const;

  const RunContext& context_;
  Registers& registers_;
  Statics& statics_;
  PutExecution& puts_;
  PersistentMarks& marks_;
  ProgramCheck& check_;
};

}  // namespace sial
