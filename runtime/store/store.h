#pragma once
// The distributed block store as a rank sees it: get is a lease on the block where it lies (or a fetched copy from
// another node), put publishes, accumulate adds in place under the block's lock. Rules: runtime/store/README.md. Owned
// by one rank, used by its interpreter thread. All calls name the statement (Place) for messages and statistics. Blocks
// are column-major doubles; the store knows sizes, not extents.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/bytecode/module.h"
#include "runtime/memory/incoming.h"
#include "runtime/memory/node_heap.h"
#include "runtime/stats/counter_field.h"
#include "runtime/stats/trace.h"
#include "runtime/transport/transport.h"

namespace sial {

struct StoreOptions {
  std::size_t memory_per_rank = std::size_t{2} << 30;  // bytes, block data of this rank's share of the node heap
  std::size_t copy_budget = 0;  // bytes of fetched copies a rank keeps for use until the barrier; 0: half of its memory
  std::uint64_t copies_kept = 64;  // those it got or read last are kept in any case
  bool copy = false;               // --store=copy: gets and puts always copy (the oracle)
  bool check = false;              // --check: phase rule enforced at run time, NaN/Inf put into arrays reported
  bool deterministic = false;      // accumulates applied in (rank, sequence) order at the barrier
};

/// What became of the wish to have a block ahead of its get.
enum class Prefetch {
  started,  // asked for
  held,     // this rank has it, or has asked for it already, or a put of its own makes it no use
  here,     // lies on this node: nothing to gain
  full,     // no memory to spare, or enough under way: try again later
  too_big,  // there will never be room for it
};

/// A remote array of the running program. `id` is its row in the module; identity across ranks is (program, id).
struct RemoteArrayInfo {
  std::int32_t id = 0;
  std::string name;
};

struct StoreStats {
  // Each prefetch is in the end useful, late or useless.
#define COUNTED_store(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNTER_FIELD(unit, COUNTED_##by)
#include "runtime/stats/counters.def"
  double barrier_seconds = 0;  // a part of the rank's barrier_time
};

/// Per statement and array, for the report.
/// `prefetched`: accesses that were the first use of a prefetched block; `late`: those of them that had to wait for it.
/// `bytes` were used, `moved` were copied, sent or received for the statement, `in_place` were leased without a copy.
/// `too_large`: gets foreseen that were not prefetched because their blocks (the largest of `too_large_bytes`) will
/// never find room beside what a rank needs; with `enough_memory` bytes per rank they would.
struct AccessStats {
  Place place;
  std::int32_t array = 0;
#define ACCESS_COST(type, field, combine, key) type field = 0;
#define ACCESS_COST_OF_RANKS(type, field, combine, key)
#include "runtime/stats/costs.def"
};

class BlockStore {
 public:
  virtual ~BlockStore() = default;

  /// Collective. Declares the remote arrays of program number `program` of the job; all are empty.
  virtual void begin_program(std::int32_t program, std::vector<RemoteArrayInfo> arrays, PlaceNamer namer) = 0;
  /// Collective. Completes puts, saves marked arrays under their labels (snapshots), frees everything else.
  virtual void end_program(Place place) = 0;

  // --- gets. A fetched value stays what it was until the barrier, or this rank's next get after its own put.
  /// Starts a fetch; no-op when this rank holds the block already. Absence is reported at the first use.
  virtual void get(std::int32_t array, const BlockIndex& block, std::int64_t size, Place place) = 0;
  /// The block's current value for this rank: its private copy when it made one, else the lease. Waits. Throws
  /// SialError when the block was not fetched in this phase or does not exist. Read-only; valid until the next barrier,
  /// or get of that block after an own put.
  virtual const double* read(std::int32_t array, const BlockIndex& block, std::int64_t size, Place place) = 0;
  /// Whether read() would find something without an error about a missing get.
  virtual bool held(std::int32_t array, const BlockIndex& block) const = 0;
  /// What read() would give if it is here by now; null: it is not, or there is no such block. Never waits, changes no
  /// result, counts nothing.
  virtual const double* at_hand(std::int32_t array, const BlockIndex& block, std::int64_t size) = 0;
  /// What a get of the block would give by now, for whoever foresees it: it lies on this node, or was fetched and has
  /// come. The caller holds it in buffers() from then on and gives it back: at once (`briefly`; then nothing is done to
  /// learn whether it has come), or later, and then it gets it only where memory is enough for all who might have to
  /// make a copy for that. `coming`: it is not here yet. Never waits, changes no result, counts nothing, does not count
  /// for the phase rule.
  struct Foreseen {
    const double* data = nullptr;
    bool coming = false;
  };
  virtual Foreseen foreseen(std::int32_t array, const BlockIndex& block, std::int64_t size, bool briefly) = 0;
  /// The get whose block read() gives; of a private copy, or of none: an instruction less than 0.
  virtual Place got_at(std::int32_t array, const BlockIndex& block) const = 0;
  /// The private copy that this rank made of a block in this phase; null: none.
  virtual const double* own_copy(std::int32_t array, const BlockIndex& block) const = 0;
  /// This rank's private writable copy (never put, dropped at the barrier). `keep`: starts with the fetched value,
  /// which must be held; otherwise starts undefined and counts as held from now on.
  virtual double* private_copy(std::int32_t array, const BlockIndex& block, std::int64_t size, bool keep,
                               Place place) = 0;

  // --- look-ahead. A hint: never waits, changes no result, does not count for the phase rule, and an answer that says
  // there is no such block is forgotten. A get that comes while the block is under way or waiting takes it over.
  // Prefetched blocks live in memory that nobody else needs: they are dropped when somebody does, when the rank puts to
  // the block, and at the barrier.
  virtual Prefetch prefetch(std::int32_t array, const BlockIndex& block, std::int64_t size, Place get) = 0;
  /// Whether a full iteration of the present loop has shown what it needs itself; until then prefetches take little.
  virtual void set_live_set_known(bool known) = 0;
  /// Measured, or what the network is set to: from asking for a block of this size on another node to having it. 0:
  /// unknown.
  virtual double fetch_seconds(std::int64_t bytes) const = 0;

  /// Where blocks that are fetched from other nodes may come to instead of the host's memory, or go on to from there as
  /// they come; null: nowhere, and what is under way there is waited for. What read(), at_hand() and foreseen() give of
  /// such a block is its name: its values are there after IncomingPlaces::to_host().
  virtual void set_incoming(IncomingPlaces* places) noexcept = 0;

  // --- puts. Complete (visible to others) at the latest at the barrier.
  virtual void put(std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data, Place place) = 0;
  /// put of a whole buffer of buffers() or of a block that read() gave, without a copy: the block shares the memory,
  /// which from then on nobody writes unless buffers().sole() says so.
  virtual void put_alias(std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data,
                         Place place) = 0;
  virtual void accumulate(std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data,
                          Place place) = 0;
  /// Whether a put to the block goes to another node as it is given, so that put_from() may stand for it.
  virtual bool leaves_node(std::int32_t array, const BlockIndex& block) = 0;
  /// Whether so many bytes more would leave less than a quarter of the node's memory.
  virtual bool memory_is_short(std::uint64_t more) const = 0;
  /// put, or with `add` accumulate, of a block of this size whose values are not in the host's memory.
  virtual void put_from(std::unique_ptr<OutgoingBlock> values, bool add, std::int32_t array, const BlockIndex& block,
                        std::int64_t size, Place place) = 0;
  /// Where what put_from() was given must go before its time: an error is ending the job.
  virtual void drop_outgoing() noexcept = 0;
  virtual void fill(std::int32_t array, const BlockIndex& block, std::int64_t size, double value, Place place) = 0;
  virtual void increment(std::int32_t array, const BlockIndex& block, std::int64_t size, double value, Place place) = 0;
  virtual void scale(std::int32_t array, const BlockIndex& block, std::int64_t size, double value,
                     Place place) = 0;  // absent: SialError

  /// Where on this node the block lies that this rank's last put, accumulate or accumulate_later has left with just the
  /// values it was given, and the number of that content (BufferResource::content); data null: nowhere, or not known.
  struct Stored {
    const double* data = nullptr;
    std::uint64_t content = 0;
  };
  virtual Stored stored() const = 0;

  // --- what a plan may use in place of the above, with the same results but for rounding (store_elided.cpp)
  /// As accumulate, but what goes to another node, or to a block that somebody else has under its lock, is added up
  /// here first and sent once: before this rank does anything else with the block, at a delete, at the barrier, when
  /// there is too much of it.
  virtual void accumulate_later(std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data,
                                Place place) = 0;
  /// Sends what accumulate_later holds back if memory is short.
  virtual void relieve_sums() = 0;
  /// Copies of the array's blocks outlive the next barrier. In the new phase a block must be got all the same, which
  /// then takes no message, or one without the block's data where `compared` finds it unchanged. `unchanged` is a
  /// promise for the time since the last barrier.
  virtual void keep_copies(std::int32_t array, KeepCopies which) = 0;
  /// put of a fetched block as it is, held by this rank: the two share the data when both lie on this node. False:
  /// nothing done, the caller has to put().
  virtual bool put_held(std::int32_t array, const BlockIndex& block, std::int64_t size, std::int32_t from,
                        const BlockIndex& from_block, Place place) = 0;

  // --- collectives
  /// True, on all ranks, when one of them `wants_attention`: they go on to agree what about.
  virtual bool barrier(Place place, bool wants_attention = false) = 0;
  virtual void erase(std::int32_t array, Place place) = 0;  // delete, destroy
  /// Setting a label anew replaces what it held.
  virtual void save_at_end(std::int32_t array, const std::string& label, Place place) = 0;  // set_persistent
  virtual void restore(std::int32_t array, const std::string& label, Place place) = 0;
  virtual bool has_label(const std::string& label) const = 0;
  /// Snapshots no later program of the job names are freed.
  virtual void drop_labels_except(const std::vector<std::string>& needed) = 0;

  // --- bulk access between phases, for results, checkpoints and initial data (not counted, not phase-checked)
  virtual std::vector<std::string> labels() const = 0;
  /// Blocks of a saved label whose home is this rank's node, each listed by exactly one rank of the node.
  virtual std::vector<BlockIndex> saved_blocks(const std::string& label) const = 0;
  virtual std::vector<double> saved_block(const std::string& label, const BlockIndex& block) const = 0;
  /// Collective in effect: every rank may add blocks; call barrier afterwards.
  virtual void load_saved_block(const std::string& label, const BlockIndex& block, std::span<const double> data) = 0;
  /// The label will exist even when it gets no blocks; also collective in effect.
  virtual void load_label(const std::string& label) = 0;
  /// The same for an array of the running program.
  virtual std::vector<BlockIndex> array_blocks(std::int32_t array) = 0;
  virtual std::vector<double> array_block(std::int32_t array, const BlockIndex& block) = 0;
  virtual void load_array_block(std::int32_t array, const BlockIndex& block, std::span<const double> data) = 0;
  /// The label an array was last restored from; empty when it was not, or is deleted since.
  virtual const std::string& restored_from(std::int32_t array) = 0;
  /// Whether a block of such an array is still that of the label.
  virtual bool is_as_restored(std::int32_t array, const BlockIndex& block) = 0;

  /// For messages: names and bytes of the remote arrays and saved labels whose blocks lie on this rank's node, and of
  /// the rank's fetched copies.
  virtual std::vector<std::pair<std::string, std::int64_t>> memory_held() const = 0;

  /// Blocks that any rank can compute again, for all ranks of the node and all programs of the job; they go when others
  /// need the memory. The block with a reference for the caller, until release_kept(); null: not there.
  virtual const double* find_kept(const BlockIndex& block, std::int64_t size) = 0;
  virtual void release_kept(const double* data) = 0;
  /// Memory for such a block, to be filled and given to keep_block(), which leaves the caller a reference; null: memory
  /// is too short to keep anything.
  virtual double* allocate_kept(std::int64_t size) = 0;
  virtual void keep_block(const BlockIndex& block, double* data) = 0;

  /// Buffers for this rank's own blocks (temps, locals, statics), from this rank's share of the node heap.
  virtual BufferResource& buffers() = 0;
  virtual StoreStats stats() const = 0;
  /// One entry per barrier and end of program; the shared part on the first rank of each node only.
  virtual const std::vector<PhasePeak>& phase_peaks() const = 0;
  /// Bytes that the fullest server needed since the last call, over all phases; 0 without servers. By one rank only.
  virtual std::int64_t server_peak() = 0;
  virtual std::vector<AccessStats> access_stats() const = 0;
  /// Where waiting and barriers are recorded from now on; null: nowhere.
  virtual void set_trace(Trace* trace) = 0;
};

/// Collective. Sets the transport's service when there are several nodes (work queue messages are handed on to
/// `queue`).
class WorkQueue;
std::unique_ptr<BlockStore> make_block_store(Transport& transport, WorkQueue* queue, const StoreOptions& options);

}  // namespace sial
