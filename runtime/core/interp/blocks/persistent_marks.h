#pragma once
// The items that set_persistent has marked in this program: scalars, statics and remote arrays by label. At the end of
// the program they become the rank's saved values. Owned by the machine.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/interp/blocks/statics.h"
#include "runtime/core/interp/context/registers.h"

namespace sial {

/// The segments of an array, by which a later program knows it; an error where it does not fit the job.
SavedLayout layout_of(const RunContext& context, ArrayId array, Statement here);

class PersistentMarks {
 public:
  explicit PersistentMarks(const RunContext& context) : context_(context) {}

  /// Marks a scalar or an array.
  void mark(bool is_array, std::int32_t id, const std::string& label, Statement here);
  /// Whether a scalar, or a static array, is marked for the label.
  bool has(bool scalar, std::int32_t id, const std::string& label) const;
  /// The program ends.
  void save(const Registers& registers, Statics& statics, Statement here) const;

  void write(Packer& packer) const;
  void read(Unpacker& unpacker);
  bool fit() const;
  /// The store learns anew which remote arrays are to be saved.
  void tell_store(Statement here) const;

 private:
  struct Mark {
    std::int32_t id = 0;  // of a scalar or an array
    ArrayId array() const { return ArrayId(id); }
    std::string label;
  };
  using Marks = std::vector<Mark>;
  static void write_marks(Packer& packer, const Marks& marks);
  static void read_marks(Unpacker& unpacker, Marks& marks);
  void warn_overwritten(const char* what, const std::string& label) const;

  const RunContext& context_;
  Marks scalars_, statics_, remote_;
};

}  // namespace sial
