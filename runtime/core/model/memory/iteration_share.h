#pragma once
// The rank of the iteration at which the abstract interpreter is.

namespace sial {

struct IterationShare {
  bool in_pardo = false;
  bool divided = false;              // among the ranks
  bool mine = true, on_node = true;  // the rank's, a rank's of its node
};

}  // namespace sial
