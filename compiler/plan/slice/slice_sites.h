#pragma once
// Gets and puts of a loop as they stand in it, with procedures written out at their calls: the loops around each, and
// what comes before what. And whether a put of the loop may reach a get of it.

#include <optional>
#include <set>
#include <vector>

#include "compiler/analysis/calls.h"
#include "compiler/ir/ir.h"
#include "runtime/core/bytecode/cost.h"

namespace sial::plan {

struct Site {
  const ir::Node* node = nullptr;
  const ir::Instr* instr = nullptr;
  struct Around {
    const ir::Loop* loop = nullptr;
    std::int32_t instance = 0;
  };  // a procedure's loop has one instance per call
  std::vector<Around> loops;  // the slice's own first
  bool after_end = false;     // comes after an end when all loops around that have iterations
};

/// In the order of the text. Nothing when there are too many (procedures that call procedures that call ...) or without
/// end. `ends`: nodes after which nothing is followed.
std::optional<std::vector<Site>> find_sites(const ir::Program& program, const ir::Node& loop,
                                            const std::set<ir::NodeId>& ends = {});

/// The first put of the loop that may write, before the get and in the same phase, what it gets; null: none.
/// Two iterations differ in the values of the loop's indices: where both statements name all indices of every loop that
/// is around both of them, in the same dimensions, they can only meet in one iteration, and there the get must come
/// first.
const Site* put_before_get(const ir::Program& program, const std::vector<Site>& sites, std::size_t get);

/// Executions of a site at most, where `outer` are the loops around the slice's own.
Cost executions(const Site& site, const std::vector<const ir::Loop*>& outer);

/// Bytes of a block.
Cost block_bytes(const ir::Program& program, const ir::Block& block);

}  // namespace sial::plan
