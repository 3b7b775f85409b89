#pragma once
// The block operations of a job as the cost of index orders sees them: which arrays they use, how large the blocks are,
// and how often the run carried them out. Inside the report. Values.

#include <map>
#include <string>
#include <vector>

#include "compiler/report/advice/declarations.h"

namespace sial::report {

using Order = std::vector<int>;  // place d holds dimension order[d] of the array as declared
Order identity(std::size_t rank);
/// First `first`, then `second`.
Order composed(const Order& first, const Order& second);

/// Arrays whose orders change together, in the same way: statements need them alike, or a label ties them.
struct ArrayClass {
  bool fixed = false;  // its order means something, or is somebody else's
  std::size_t rank = 0;
  std::vector<std::pair<std::size_t, std::string>> arrays;  // program, name
  std::string label;
};

/// The classes of a job, from its programs as they are written.
class ArrayClasses {
 public:
  explicit ArrayClasses(const Job& job);
  std::vector<ArrayClass> all;
  /// -1: fixed.
  int of(std::size_t program, const std::string& array) const;

 private:
  std::map<std::pair<std::size_t, std::string>, int> class_of_;
};

struct StatementOperand {
  int array_class = -1;
  struct Dim {
    std::int64_t label = 0, extent = 1, whole = 1;
  };  // whole: what the next dimension's stride is made of
  std::vector<Dim> dims;
};

struct BlockStatement {
  enum class Kind { contraction, copy, alias, dot };  // alias: no work where the orders agree
  Kind kind = Kind::copy;
  std::size_t program = 0;
  std::string file;
  int line = 0;
  double times = 0;                        // over all ranks, as measured
  std::vector<StatementOperand> operands;  // target, then sources; of a dot product the sources only
};

std::vector<BlockStatement> block_statements(const Job& job, const std::vector<const Module*>& modules,
                                             const ArrayClasses& classes);

/// Seconds of all executions, with the classes' arrays in these orders.
double cost_of(const BlockStatement& statement, const std::vector<Order>& orders, const OrderCosts& costs);
/// Bytes that it copies in another order than they lie in.
double permuted_bytes(const BlockStatement& statement);

}  // namespace sial::report
