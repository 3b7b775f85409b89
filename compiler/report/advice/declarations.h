#pragma once
// The orders of indices that the arrays of a job should have. An order is judged over every use of the array, in all
// programs that share it under a label, by the cost model of the kernels and by how often the run carried out each
// statement; arrays that a `put` or a sum ties together change together. A proposal is compiled before it is made: its
// cost is that of the code which would run. Values.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/report/job.h"

namespace sial::report {

/// A block as the kernels see it: per dimension of more than one element a label, an extent and a stride.
struct OrderedBlock {
  std::vector<std::int64_t> labels, extents, strides;
  std::int64_t elements() const;
};

/// Time of one block operation. `b` null: a copy or sum of `a` into `d`; `d` null: a full contraction.
class OrderCosts {
 public:
  virtual ~OrderCosts() = default;
  virtual double seconds(const OrderedBlock* d, const OrderedBlock& a, const OrderedBlock* b) const = 0;
};

/// Dimension `order[d]` of the array as declared comes at place d.
struct Redeclaration {
  std::string program, array;
  std::string from, to;  // "v[a,e,i,m]", "v[a,i,e,m]"
  std::vector<int> order;
  std::string label;  // it is kept under; empty: none
};

/// Arrays that are redeclared together, because statements use both or a label ties them.
struct DeclarationAdvice {
  std::vector<Redeclaration> arrays;
  double seconds = 0;  // gained by the model, all ranks
  double bytes = 0;    // no longer put into another order
  struct Line {
    std::string program, file;
    int line = 0;
    double seconds = 0;
  };  // by the model, gained (negative: lost)
  std::vector<Line> lines;
};

/// The modules of the job's programs with other declarations, in the order of Job::programs; empty where one does not
/// compile.
using Recompile = std::function<std::vector<Module>(const std::vector<Redeclaration>&)>;

/// Time of all block operations of the job, by the model. `modules`: instead of the job's own.
double order_cost(const Job& job, const std::vector<const Module*>& modules, const OrderCosts& costs);
/// The job's own modules, null where there is none.
std::vector<const Module*> modules_of(const Job& job);

std::vector<DeclarationAdvice> judge_declarations(const Job& job, const OrderCosts& costs, const Recompile& recompile);

/// The text of a source with other orders of indices: in the declarations and in every reference. Empty optional: a
/// reference could not be followed (an array declared twice, a reference with another number of indices).
std::optional<std::string> redeclared(const std::string& text, const std::vector<Redeclaration>& changes);

}  // namespace sial::report
