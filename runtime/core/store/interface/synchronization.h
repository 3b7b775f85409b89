#pragma once
// The actions of all ranks together: programs begin and end, barriers divide them into phases, arrays are deleted.
// Ownership: a barrier drops this rank's leases, fetched copies and private copies. Threads: each rank's interpreter
// thread; all workers call in the same order. Errors: SialError where the ranks have not deleted or restored the same
// arrays, and for puts whose answers come only now.

#include <string>
#include <vector>

#include "runtime/core/base/shape.h"
#include "runtime/core/bytecode/module.h"
#include "runtime/core/transport/transport.h"

namespace sial {

/// A remote array of the running program. `id` is its row in the module; identity across ranks is (program, id).
struct RemoteArrayInfo {
  ArrayId id;
  std::string name;
  bool sparse = false;  // blocks that do not exist are zero to who reads them
};

class StoreSynchronization {
 public:
  virtual ~StoreSynchronization() = default;

  /// Collective. Declares the remote arrays of program number `program` of the job; all are empty.
  virtual void begin_program(std::int32_t program, std::vector<RemoteArrayInfo> arrays, PlaceNamer namer) = 0;
  /// Collective. Completes puts, saves marked arrays under their labels (snapshots), frees everything else.
  virtual void end_program(Place place) = 0;
  /// Collective. True, on all ranks, when one of them `wants_attention`: they go on to agree what about.
  virtual bool barrier(Place place, bool wants_attention = false) = 0;
  /// delete, destroy: by every rank, each at its own time between two barriers.
  virtual void erase(ArrayId array, Place place) = 0;
  /// Copies of the array's blocks outlive the next barrier. In the new phase a block must be got all the same, which
  /// then takes no message, or one without the block's data where `compared` finds it unchanged. `unchanged` is a
  /// promise for the time since the last barrier. Not collective.
  virtual void keep_copies(ArrayId array, KeepCopies which) = 0;
  /// A promise: no rank uses a value that was put into the array before the last barrier. The store need not keep them:
  /// such a block may be absent from now on. Not collective; by every rank, after the same barrier.
  virtual void discard_values(ArrayId array) = 0;
};

}  // namespace sial
