#pragma once
// The call graph, and the effects of a stretch of code with the procedures it calls taken in: the interprocedural part
// of every question about effects. A Summary is built once per procedure and per loop on demand; both values refer to
// the Program and are stale as soon as it changes.

#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/analysis/operands.h"
#include "compiler/analysis/walk.h"
#include "runtime/core/base/ids.h"

namespace sial::analysis {

struct CallSite {
  ir::NodeId node = 0;                     // the call instruction
  std::int32_t caller = -1;                // procedure, -1: the main body
  std::vector<const ir::Node*> enclosing;  // as in Path
  bool in_pardo() const;                   // within the caller
};

class CallGraph {
 public:
  explicit CallGraph(const ir::Program& program);
  const std::vector<CallSite>& callers(std::int32_t proc) const { return callers_[static_cast<std::size_t>(proc)]; }
  const std::vector<std::int32_t>& callees(std::int32_t proc) const {
    return callees_[static_cast<std::size_t>(proc) + 1];
  }  // -1: main
  /// Some call is inside a pardo, directly or through callers.
  bool may_run_in_pardo(std::int32_t proc) const { return in_pardo_[static_cast<std::size_t>(proc)]; }
  /// Indices that loops around every call bind (through callers).
  const std::vector<IndexId>& bound_at_entry(std::int32_t proc) const { return bound_[static_cast<std::size_t>(proc)]; }

 private:
  std::vector<std::vector<CallSite>> callers_;
  std::vector<std::vector<std::int32_t>> callees_;
  std::vector<bool> in_pardo_;
  std::vector<std::vector<IndexId>> bound_;
};

/// The effects of code on one array, on one side of it. What is accumulated is neither read nor replaced, although on
/// the rank's own side its old value matters; a get may give the rank's copy another value; freed blocks are gone.
struct Touch {
  bool read = false, replaced = false, accumulated = false, fetched = false, freed = false;
  bool written() const { return replaced || accumulated || fetched || freed; }
  bool any() const { return read || written(); }
  void merge(const Touch& o) {
    read |= o.read, replaced |= o.replaced, accumulated |= o.accumulated, fetched |= o.fetched, freed |= o.freed;
  }
  bool operator==(const Touch&) const = default;
};

struct ArrayTouch {
  ArrayId array;
  Touch own, home;
};

/// The possible effects of a stretch of code, calls included. Lists are sorted by row.
struct Summary {
  std::vector<ArrayTouch> arrays;
  std::vector<std::int32_t> ints_written, scalars_written;  // declared variables
  std::vector<std::int32_t> ints_read, scalars_read;
  bool barrier = false;  // a barrier or the end of a section
  bool collective = false, output = false, ends_job = false, reads_by_name = false, writes_by_name = false,
       pardo = false;
  bool leaves = false;  // contains an exit of a loop outside the stretch, or a return
  std::size_t instructions = 0;

  const ArrayTouch* find(ArrayId array) const;
  bool writes_int(std::int32_t reg) const;
  bool writes_scalar(std::int32_t reg) const;
  bool may_read(const ir::Program& program, ArrayId array) const;   // own side, by name included
  bool may_write(const ir::Program& program, ArrayId array) const;  // own side, by name included
  bool may_put(ArrayId array) const;                                // home side
};

class Summaries {
 public:
  explicit Summaries(const ir::Program& program) : p_(program), procs_(program.procs.size()) {}
  const Summary& of_proc(std::int32_t proc);
  /// Takes a compound node (loop with its where clauses, if, section).
  const Summary& of_node(const ir::Node& node);
  Summary of_body(const ir::Body& body);
  /// Takes body[begin, end).
  Summary of_range(const ir::Body& body, std::size_t begin, std::size_t end);
  Summary of_instr(const ir::Instr& instr);

 private:
  struct Builder;
  const ir::Program& p_;
  std::vector<std::optional<Summary>> procs_;
  std::unordered_map<ir::NodeId, Summary> nodes_;
};

}  // namespace sial::analysis
