#pragma once
// Super instructions (`special`): one row in super_instructions.def, one body, one test. A body sees its arguments as
// block views and the job's data through SuperContext; never the store, never the transport. It throws SialError for
// bad arguments; the interpreter adds program and line. `w` arguments arrive zero-filled.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/base/energy_differences.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/job/job_data.h"

namespace sial {

struct SuperArg {
  char letter = 'r';         // of the program's own declaration: r, w, u
  bool is_scalar = false;    // scalar variable or literal: data points to one double, rank 0
  bool whole_array = false;  // a bare array name: extents of the whole dense array, segments are 0,
                             // offsets those of the first segment of each dimension's declared range
  std::string_view name;     // array or scalar name, empty for literals
  double* data = nullptr;    // column-major
  Shape shape;
  std::array<std::int32_t, max_rank> segment{};  // segment number, or value of a simple index
  std::array<IndexKind, max_rank> kind{};        // declared kind of the dimension; simple for (index)i
  std::array<std::int64_t, max_rank> offset{};   // position of the block's first element within its kind's whole range:
                                                 // sum of the extents of segments 1..segment-1 (0 for simple indices)
  std::int64_t size() const { return shape.size(); }
};

/// The context of bodies besides their arguments. One per rank.
class SuperContext {
 public:
  virtual ~SuperContext() = default;
  virtual const JobData& job() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::ostream& out() = 0;  // discards on ranks that do not print
  virtual void set_all_ranks_print(bool on) = 0;
  virtual const double* scalar_by_name(std::string_view name) const = 0;     // running program's scalar, or nullptr
  virtual void list_blocks(std::ostream& out, bool with_numbers) const = 0;  // block map of this rank, for test helpers
  /// Private data a family of bodies keeps per rank between calls (integral engines, screening data); created on first
  /// use.
  virtual std::shared_ptr<void>& slot(std::string_view family) = 0;
  /// Blocks that can be computed again, in memory of the node that nothing else needs, for all its ranks and all
  /// programs of the job. find_cached(): with a reference, until release_cached(); null when it is not there.
  /// allocate_cached(): to be filled, then given to keep_block(), which leaves the caller a reference; null when memory
  /// is short.
  virtual const double* find_cached(const BlockIndex& /*block*/, std::int64_t /*size*/) { return nullptr; }
  virtual void release_cached(const double* /*data*/) {}
  virtual double* allocate_cached(std::int64_t /*size*/) { return nullptr; }
  virtual void keep_block(const BlockIndex& /*block*/, double* /*data*/) {}
  /// Arrays of the running program by lower-case name (static or contiguous), or a null data pointer.
  virtual SuperArg array_by_name(std::string_view name) = 0;
};

using SuperBody = void (*)(SuperContext&, std::span<SuperArg>);

struct SuperRow {
  int id = 0;
  const char* name = "";
  const char* signatures = "";  // accepted letter strings, blank separated; "-" for none
  const char* meaning = "";
  SuperBody body = nullptr;
};

/// All rows, of the houses that are built.
std::span<const SuperRow> super_rows();
/// nullptr when unknown (case-insensitive).
const SuperRow* find_super(std::string_view name);
/// The effect of a super instruction of element_forms.def on its first argument, element by element, made of the
/// others; with the errors of its body but for the division by zero.
using ElementForm = EnergyDifferences (*)(std::span<SuperArg>);
template <class Form>
struct FormRow {
  std::string_view name;
  Form form;
};
std::span<const FormRow<ElementForm>> element_forms();
/// nullptr when it has none (case-insensitive).
ElementForm find_element_form(std::string_view name);
/// d = alpha a b + beta d, or d = alpha a + beta d, of arguments that are blocks.
struct BlockForm {
  struct Operand {
    int argument = -1;
    std::array<std::int32_t, max_rank> label{};  // of its dimensions
    std::array<std::int64_t, max_rank> start{};  // of a copy's source: the part with the extents of d that begins here
  };
  Operand d, a, b;  // b without argument: a copy
  double alpha = 1.0, beta = 0.0;
};
/// The effect of a super instruction of block_forms.def, from its arguments without their data; with the errors of its
/// body.
using BlockFormMaker = BlockForm (*)(std::span<const SuperArg>);
std::span<const FormRow<BlockFormMaker>> block_forms();
/// nullptr when it has none (case-insensitive).
BlockFormMaker find_block_form(std::string_view name);
/// The cost of a super instruction beside the call and its arguments, for predictions. Asked of the houses that are
/// built.
struct SuperDemand {
  double element_time = 0,
         cached_element_time = 0;  // seconds of an element of the first argument: computed, found again
  std::int64_t memory = 0;         // bytes of each rank
  bool keeps = false;              // blocks of the first argument, see SuperContext::keep_block()
};
SuperDemand demand_of(const JobData& job, std::string_view super_instruction);

/// An element of the block is to be divided by zero.
SialError zero_difference(const SuperArg& block);

/// Up to three close names of the table or among `more`, for the error message.
std::vector<std::string> close_super_names(std::string_view name, std::vector<std::string_view> more = {});

}  // namespace sial
