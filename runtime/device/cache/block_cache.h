#pragma once
// Which copy of a block is valid, the host's or the device's, and the transfers that follow from what is done with the
// block: read on the device: copied in if the device's copy is stale; written: not copied in; updated: copied in, and
// either write leaves the other side stale. Nothing is copied back before the host needs it, or the device the room.
// What is known of a block belongs to its memory and what that holds (BufferResource::content), not to its name: blocks
// that share memory share the device's copy, and a block that was fetched, put or kept over a barrier unchanged has it
// still. Copies and operations are under way in streams while the rank goes on; host memory that they need is held
// until they are done. Owned by one rank; the device and the host's buffers outlive it.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/bytecode/module.h"
#include "runtime/device/cache/device_pool.h"
#include "runtime/device/cache/next_use.h"
#include "runtime/device/cache/offline_optimum.h"
#include "runtime/device/measure/self_check.h"
#include "runtime/memory/incoming.h"
#include "runtime/memory/outgoing.h"
#include "runtime/stats/counter_field.h"

namespace sial {

/// A block in the host's memory: part of a larger array, or by itself. `buffer`: the start of the buffer it lies in.
struct HostBlock {
  std::int32_t array = 0;  // whose block it is, for the statistics
  const double* buffer = nullptr;
  std::int64_t buffer_size = 0;
  double* data = nullptr;
  int rank = 0;
  std::array<std::int64_t, max_rank> extent{}, stride{};
  bool fetched = false;  // a remote block as it was got: what it holds may be what a device has had before
  std::int64_t size() const;
  bool dense() const;
  MutableView view() const;
};

/// Of one array's blocks, at one statement.
struct TransferRow {
#define TRANSFER_COST(field) TransferCount field;
#include "runtime/stats/costs.def"
};

/// Transfers by three rules. As written: each operand of an operation goes to the device before it and comes back after
/// it. By intent: those that were made. Least: what one side makes of a block crosses once if the other wants it, and
/// nothing that the device has had under any name crosses again for having been put and fetched, whatever memory that
/// takes (counted by simulated devices only).
struct DeviceStats {
#define COUNTED_device(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNTER_FIELD(unit, COUNTED_##by)
#include "runtime/stats/counters.def"
  std::int64_t on_host_instead = 0;
  TransferCount sent_direct, sent_pipelined;  // to other nodes, of blocks that only the device had
  TransferCount received_direct;              // blocks of other nodes, in its memory
  TransferCount received_pipelined;           // ... that went on to it from the host while the rest of them came
  TransferCount ahead,
      ahead_used;  // brought before an operation asked for them; of these, those that one has asked for
  std::map<std::pair<std::int32_t, std::int32_t>, TransferRow> rows;  // by place and array
  TransferRow total() const;
};

class DeviceBlockCache {
 public:
  /// `host`: where the buffers of blocks come from. `place`: of the present statement, whose transfers are counted.
  /// `self_check`: of so many operations one is compared with the host's reference kernels; 0: none is.
  DeviceBlockCache(Device& device, BufferResource& host, bool direct, const std::int32_t& place, int self_check = 0);
  ~DeviceBlockCache();
  DeviceBlockCache(const DeviceBlockCache&) = delete;
  DeviceBlockCache& operator=(const DeviceBlockCache&) = delete;

  // --- an operation on the device: begins, names its operands, is launched in one or more pieces, ends
  void begin_operation();
  /// The device's dense copy of an operand. `write`: all of it is replaced. Throws DeviceFull.
  double* on_device(const HostBlock& host, Intent intent);
  double* scratch(std::int64_t n);  // throws DeviceFull
  void release_scratch(double* p) noexcept;
  // Work on the operands named by now. Throws WrongResult where a self-check finds it so. Products throw DeviceFull
  // where the device has no workspace, with nothing done; element-wise work is then done by the host, on the device's
  // values.
  void run(const BlockOp& op);
  void run(const MutableView& target, std::span<const kernels::FusedStep> steps);
  void run(const ElementWork& work);
  /// Sum over all positions of a * b, both operands on the device. Waits.
  double dot(const ConstView& a, const ConstView& b);
  void end_operation();
  /// Small work waits to be started with its like.
  bool work_waits() const;
  /// The host has nothing to add to it for a while.
  void start_work();
  /// An operation could not be done on the device.
  void note_on_host_instead() { ++stats_.on_host_instead; }

  // --- what statements ask for by name: wishes, which change no value. Nothing is done where that needs more memory
  // than the device has.
  /// Its values are on their way to the device, if they are not there. Does not wait for them.
  void bring(const HostBlock& host);
  /// It has memory there, without values if it had none.
  void make_room(const HostBlock& host);
  /// There is room for a block of `n` elements that is not made yet.
  void make_room(std::int64_t n);
  /// What the device alone has of the block that begins there is on its way to the host.
  void bring_back(const double* first);
  /// So that then nothing of it is left on the device.
  void give_up(const double* first);

  // --- what is foreseen: transfers that come early, which no value depends on
  enum class Ahead {
    settled,  // the device has it, or cannot have it
    brought,  // on its way
    later,    // it would have to wait for something
    no_room,  // nothing that is wanted later leaves for it, or enough is on its way
  };
  /// A block that has its value and may change before its use, which is expected so many operations from now. Never
  /// waits, never throws DeviceFull. Its buffer may be given back at once: copies under way hold it. `place`: whose
  /// transfer it is.
  Ahead device_prefetch(const HostBlock& host, double operations, std::int32_t place);
  /// Memory for a block that comes from another node and is expected to be used on the device; null: it has to go by
  /// the host. Never waits. Must be gone before this is.
  std::unique_ptr<IncomingBlock> receive(const HostBlock& host);
  /// The same for one that comes to its buffer on the host: what has come of it goes on to the device while the rest
  /// comes, from when the first piece has and if there is memory then. One that comes as a whole is left to
  /// device_prefetch(), or to its use. Null: that is no way for this block. `place`: whose transfer it is.
  std::unique_ptr<IncomingBlock> receive_in_pieces(const HostBlock& host, std::int32_t place);

  // --- what the host does with its memory
  /// It is going to use the block at `first` in the buffer. `write`: to replace all of it.
  void on_host(const double* buffer, const double* first, Intent intent);
  /// The same for all blocks in a buffer.
  void buffer_on_host(const double* buffer, std::int64_t n, Intent intent);
  void all_on_host();
  /// What the buffer holds is no longer wanted.
  void forget(const double* buffer, std::int64_t n);
  /// The host has copied the block to a buffer of its own, as a put does; what that holds has the number `content`.
  void same_values(const double* buffer, const double* first, const double* copy, std::uint64_t content);
  /// The host's memory of the block has become an array's, as a put does that moves it.
  void put_away(const double* buffer, const double* first);
  /// Whether the device has the block, and whether only the device has it.
  enum class Where { host, both, device };
  Where where(const double* buffer, const double* first);
  /// How far the host has got with the block, as a put that does not wait asks. What the device alone has is on its way
  /// from when all work on it is started; it is not started for this.
  enum class Coming { not_started, under_way, here };
  Coming come(const double* buffer, const double* first);
  bool started(const double* buffer, const double* first);
  /// The block, for a message to another node, if only the device has it; null: it goes by the host. `straight`: who
  /// sends it reads the device's memory. Must be gone before this is, or its values are lost; changes of the block and
  /// its end do not matter to it.
  std::unique_ptr<OutgoingBlock> send(const double* buffer, const double* first, bool straight);
  bool sends() const { return !outgoing_.empty(); }
  /// Nobody but its holders holds the buffer any more: waits for copies from and to it.
  void settle(const double* buffer);
  /// The same for all buffers: others may change what they hold.
  void settle_all();
  /// Gives back device memory of blocks that ended elsewhere: fetched ones, private copies.
  void sweep();

  const DeviceStats& stats() const { return stats_; }
  /// What the device's time went to since this was made; waits for it. Nothing where its time is not taken.
  std::optional<DeviceTimes> times() const;
  /// Work that was started together with its like since this was made; and all kernels and products that were started.
  BatchCount batched() const { return device_.batched().since(batched_before_); }
  std::int64_t starts() const { return device_.starts() - starts_before_; }
  std::int64_t self_checks() const { return self_check_ ? self_check_->compared() : 0; }
  ResourceStats device_memory() const { return pool_.stats(); }
  /// What the uses until now would have moved, see OfflineOptimum; nothing where they were not kept: on devices that
  /// are not simulated, or have all memory, or were used very often.
  OfflineOptimum::Moved offline_optimum() const;

 private:
  /// Device memory with values that one unit has, or several.
  struct DeviceBlock {
    double* data = nullptr;
    int units = 1;
    Frontier written, used;  // last write; all work
  };
  /// How a block came to the device: copied from the host's memory, from another node straight, or from there by the
  /// host's memory piece by piece.
  enum class Came { by_copy, direct, pipelined };
  struct Unit {
    HostBlock host;
    std::uint64_t content = 0;  // of the buffer
    std::uint64_t values = 0;   // hash of what both sides have, where that is checked; 0: not known
    std::shared_ptr<DeviceBlock> block;
    std::int64_t size = 0;
    std::uint64_t last_operation = 0;  // on the device, 0: none that tells when the next will be
    std::int32_t last_place = 0;       // its statement
    double due = 0.0;                  // operation that is expected to use it next
    bool host_valid = true, device_valid = false;
    bool made_by_host = false;               // since the device last had it
    bool sent = false, out_counted = false;  // since the device wrote it: to another node; among the least transfers
    bool written_back = false;               // what the host has came from the device, which had no room for it
    Frontier host_busy;                      // copies from and to the host's
    Came came = Came::by_copy;
    std::int64_t ahead = 0;     // bytes, if it was brought ahead, or received, and not used yet ...
    std::uint64_t brought = 0;  // ... at this operation
  };
  using Units = std::map<const double*, Unit>;  // by the block's first element on the host
  /// Host memory that copies under way need.
  struct Held {
    Frontier until;
    const double* buffer = nullptr;
    std::int64_t size = 0;
    std::vector<double> staging;
  };

  class Outgoing;
  class Incoming;
  class InPieces;
  bool current(const Unit& u) const;
  Unit* find(const double* buffer, const double* first);
  Unit& make(const HostBlock& host);
  Unit* with_memory(const HostBlock& host);
  Unit* at(const double* first);
  void drop(Units::iterator at);
  void expect(Unit& u);
  void ended(Unit& u);
  void list(const Unit& u);
  void unlist(const Unit& u);
  void let_go_of_block(Unit& u);
  void give_back(std::shared_ptr<DeviceBlock> block);
  void give_block(Unit& u);
  void own_block(Unit& u, bool keep);
  void poison(DeviceBlock& block, std::int64_t n);
  void copy_in(Unit& u, std::int32_t place);
  void note_copied_in(Unit& u, std::int32_t place);
  void copy_out(Unit& u);
  void write_back(Unit& u);
  void note_copied_out(Unit& u);
  void use_on_host(Unit& u, Intent intent);
  double* allocate(std::int64_t n, Frontier& free_after);
  double* allocate_ahead(std::int64_t n, double due, bool at_once, Frontier& free_after);
  std::int64_t ahead_limit();
  Unit& take(const HostBlock& host, std::shared_ptr<DeviceBlock> block, std::int64_t bytes);
  void leave_on_device(Unit& u);
  void note_use(Unit& u);
  void note_no_use(Unit& u);
  Unit* min_wanted();
  bool evict_one();
  bool give_up_pieces();
  template <class F>
  void launch(bool small, F&& f) {
    const int stream = begin_work(small);
    f(device_, stream);
    end_work(stream);
  }
  std::vector<double> fetch(const double* device, std::int64_t n);
  void run_by_host(const MutableView& target, std::span<const kernels::FusedStep> steps);
  int begin_work(bool small);
  void end_work(int stream);
  void hold(const HostBlock& host, const Frontier& until, std::vector<double> staging);
  void let_go(std::deque<Held>::iterator held);
  void let_go_of_what_is_done();
  bool may_hold(std::int64_t bytes) const;  // without a wait
  void leave_outgoing();
  std::vector<double> staging(std::int64_t n);
  void pin_around(const double* buffer);
  TransferRow& row(const Unit& u) { return row(u, place_); }
  TransferRow& row(const Unit& u, std::int32_t place) { return stats_.rows[{place, u.host.array}]; }
  std::uint64_t hash(const HostBlock& host) const;

  Device& device_;
  BufferResource& host_;
  bool direct_;
  const std::int32_t& place_;
  DeviceOrder order_;
  DevicePool pool_;
  Units units_;
  std::set<std::pair<double, const double*>> due_;  // those on the device, by when they are
  NextUse next_use_;
  std::unique_ptr<OfflineOptimum> offline_optimum_;  // null: not kept
  std::unique_ptr<SelfCheck> self_check_;
  std::unordered_set<const std::byte*> slabs_;  // of the host's memory, that the device was told of
  std::unordered_set<Outgoing*> outgoing_;
  std::vector<InPieces*> in_pieces_;                 // those that have memory
  std::int64_t ahead_bytes_ = 0, ahead_limit_ = -1;  // brought and not used yet; what that may be, -1: not set yet
  std::int64_t straight_bytes_ = 0;                  // of those in whose place the device's memory is held
  std::deque<Held> held_;
  std::int64_t held_bytes_ = 0;
  std::vector<std::vector<double>> unused_staging_;
  std::uint64_t operation_ = 0;
  std::vector<std::shared_ptr<DeviceBlock>> operands_;  // of the present operation: first those that are written
  std::size_t targets_ = 0;
  std::vector<double*> scratches_;                    // of the present operation
  Frontier before_;                                   // what its next piece must wait for
  std::unordered_set<std::uint64_t> seen_by_device_;  // contents
  DeviceStats stats_;
  std::optional<DeviceTimes> times_before_;
  BatchCount batched_before_;
  std::int64_t starts_before_;
};

}  // namespace sial
