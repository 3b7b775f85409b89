#pragma once
// The fit of a program's index orders of contractions to a matrix product, without sizes: which indices are rows,
// columns and sums, which operands are matrices where they lie, and how others would have to be declared. A guide for
// people: kernels choose by the sizes of a job, and may pack an operand although they need not. Values, made from a
// module.

#include <string>
#include <vector>

#include "runtime/core/bytecode/module.h"

namespace sial::report {

/// An operand of a contraction, or its target.
struct OperandLayout {
  ArrayId array;     // row
  std::string text;  // "v[a,e,i,m]"
  bool target = false;
  bool in_place = true;
  std::string why, advice;  // why not, and what to change; advice empty: nothing can be
};

struct ContractionLayout {
  SourcePlace place;
  std::string statement;  // "t[a,i,b,j] += v[a,e,i,m] * t2[e,b,m,j]"
  std::string form;       // "matrix product", "matrix-vector product", "inner product", "outer product", "scaled block"
  std::vector<std::string> rows, columns, summed;
  std::vector<OperandLayout> operands;  // a, b, then the target, if it is a block
};

/// The layouts of all contractions, in the order of the code.
std::vector<ContractionLayout> contraction_layouts(const Module& module);

/// The listing of `sialc --explain-kernels`.
std::string explain_kernels(const Module& module);

/// A remedy for the contractions at a line, in one sentence; empty: nothing that is known without sizes.
std::string layout_advice(const std::vector<ContractionLayout>& layouts, const std::vector<std::string>& files,
                          const std::string& file, int line);

}  // namespace sial::report
