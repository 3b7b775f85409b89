#pragma once
// The store of one rank: what it holds, its messages under way and its view of arrays and labels, over the node's shared
// heap and directory. Blocks whose home is this node are worked on directly; others through messages. store_impl.cpp has
// construction and collectives, store_data.cpp gets and puts, store_prefetch.cpp look-ahead,
// store_arrays.cpp whole arrays, labels and bulk access.

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/memory/arena_pool.h"
#include "runtime/store/check/access_log.h"
#include "runtime/store/local/held_table.h"
#include "runtime/store/local/kept_blocks.h"
#include "runtime/store/labels.h"
#include "runtime/store/remote/outbox.h"
#include "runtime/store/remote/service.h"
#include "runtime/store/store.h"

namespace sial {

class StoreImpl final : public BlockStore {
 public:
  StoreImpl(Transport& transport, WorkQueue* queue, const StoreOptions& options);
  ~StoreImpl() override;

  void begin_program(std::int32_t program, std::vector<RemoteArrayInfo> arrays, PlaceNamer namer) override;
  void end_program(Place place) override;
  void get(std::int32_t array, const BlockIndex& block, std::int64_t size, Place place) override;
  const double* read(std::int32_t array, const BlockIndex& block, std::int64_t size, Place place) override;
  bool held(std::int32_t array, const BlockIndex& block) const override;
  const double* at_hand(std::int32_t array, const BlockIndex& block, std::int64_t size) override;
  Foreseen foreseen(std::int32_t array, const BlockIndex& block, std::int64_t size, bool briefly) override;
  Place got_at(std::int32_t array, const BlockIndex& block) const override;
  const double* own_copy(std::int32_t array, const BlockIndex& block) const override;
  Stored stored() const override { return stored_; }
  double* private_copy(std::int32_t array, const BlockIndex& block, std::int64_t size, bool keep, Place place) override;
  Prefetch prefetch(std::int32_t array, const BlockIndex& block, std::int64_t size, Place get) override;
  Prefetch note_too_large(std::int32_t array, std::int64_t size, Place get);
  void set_incoming(IncomingPlaces* places) noexcept override;
  void set_live_set_known(bool known) override { live_set_known_ = known; }
  double fetch_seconds(std::int64_t bytes) const override;
  void put(std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data, Place place) override;
  void put_shared(std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data, Place place) override;
  void accumulate(std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data, Place place) override;
  bool leaves_node(std::int32_t array, const BlockIndex& block) override;
  bool memory_is_short(std::uint64_t more) const override;
  void put_from(std::unique_ptr<OutgoingBlock> values, bool add, std::int32_t array, const BlockIndex& block, std::int64_t size, Place place) override;
  void drop_outgoing() noexcept override { outbox_ ? outbox_->drop_outgoing() : void(); }
  void fill(std::int32_t array, const BlockIndex& block, std::int64_t size, double value, Place place) override;
  void increment(std::int32_t array, const BlockIndex& block, std::int64_t size, double value, Place place) override;
  void scale(std::int32_t array, const BlockIndex& block, std::int64_t size, double value, Place place) override;
  void accumulate_later(std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data, Place place) override;
  void relieve_sums() override;
  void keep_copies(std::int32_t array, KeepCopies which) override;
  bool put_held(std::int32_t array, const BlockIndex& block, std::int64_t size, std::int32_t from, const BlockIndex& from_block, Place place) override;
  bool barrier(Place place, bool wants_attention) override;
  void erase(std::int32_t array, Place place) override;
  void save_at_end(std::int32_t array, const std::string& label, Place place) override;
  void restore(std::int32_t array, const std::string& label, Place place) override;
  bool has_label(const std::string& label) const override { return labels_.find(label) != nullptr; }
  void drop_labels_except(const std::vector<std::string>& needed) override;
  std::vector<BlockIndex> saved_blocks(const std::string& label) const override;
  std::vector<double> saved_block(const std::string& label, const BlockIndex& block) const override;
  void load_saved_block(const std::string& label, const BlockIndex& block, std::span<const double> data) override;
  std::vector<std::string> labels() const override { return labels_.names(); }
  void load_label(const std::string& label) override;
  std::vector<BlockIndex> array_blocks(std::int32_t array) override;
  std::vector<double> array_block(std::int32_t array, const BlockIndex& block) override;
  void load_array_block(std::int32_t array, const BlockIndex& block, std::span<const double> data) override;
  const std::string& restored_from(std::int32_t id) override { return array(id).restored_from; }
  bool is_as_restored(std::int32_t array, const BlockIndex& block) override;
  std::vector<std::pair<std::string, std::int64_t>> memory_held() const override;
  const double* find_kept(const BlockIndex& block, std::int64_t size) override;
  void release_kept(const double* data) override { heap_->drop_reference(Chunk::of(data), config_.arena); }
  double* allocate_kept(std::int64_t size) override;
  void keep_block(const BlockIndex& block, double* data) override;
  BufferResource& buffers() override { return *buffers_; }
  StoreStats stats() const override;
  const std::vector<PhasePeak>& phase_peaks() const override { return phase_peaks_; }
  std::int64_t server_peak() override;
  std::vector<AccessStats> access_stats() const override { return access_log_.all(); }
  void set_trace(Trace* trace) override { trace_ = trace; }

 private:
  /// Blocks touched so recently that a statement may hold a pointer to them: the operands of one, with room to spare.
  static constexpr std::uint64_t operands_in_use = 16;

  struct Array {
    RemoteArrayInfo info;
    std::uint32_t generation = 0;
    std::uint64_t placement = 0;
    std::string restored_from;  // label
    std::optional<Place> deleted;  // where, last
    std::optional<KeepCopies> keep;  // over the next barrier
    bool on_host_only = false;       // its copies are compared with the owner's
    bool retain_puts = false;        // what this rank puts may outlive the barrier: decided once for the program
  };
  /// The node's memory in the order it is laid out.
  struct Layout { std::size_t directory, heap, total; };

  // --- who, where
  Array& array(std::int32_t id);
  const std::string& name(std::int32_t id) { return array(id).info.name; }
  std::uint64_t number(std::int32_t id) const { return placement_number(program_, id); }
  BlockKey key(std::int32_t id, const BlockIndex& block) { return {number(id), array(id).generation, block}; }
  int home(std::uint64_t placement, const BlockIndex& block) const;
  int server_of(int node, const BlockIndex& block) const;
  Access access(Place place);
  /// Home nodes for whose whole arrays this rank acts: its own when it is the node's first worker, some of the servers'.
  std::vector<int> nodes_in_charge() const;
  /// What a message says of a block that is not there, where the array was deleted; empty: it was not.
  std::string deletion(std::int32_t array);
  std::string at(Place place) const { return namer_ ? namer_(place) : std::string("an earlier statement"); }

  // --- data (store_data.cpp)
  void start_fetch(HeldBlock& h, std::int64_t size, Place place);
  void request_block(HeldBlock& h, int node, std::int64_t size, const Access& access, Priority priority, std::int32_t get, std::uint64_t known_version = 0);
  /// The answer to a fetch is here: `fetch` is over.
  void end_fetch(HeldBlock& h, bool has_come);
  void finish_fetch(HeldBlock& h);
  void wait_for(HeldBlock& h);
  /// Until its fetch is over, which stays where it is though the rank gives way meanwhile.
  void await(HeldBlock& h);
  /// A copy of this rank's that it may do without.
  void list_copy(HeldBlock& h);
  /// What has come of a block by now goes on to where it is wanted.
  void pass_on(HeldBlock& h);
  void fetch_again(HeldBlock& h, std::int64_t size);
  void let_go(HeldBlock& h);
  void drop_value(HeldBlock& h);
  void take_copy(HeldBlock& h, std::int64_t size);
  /// Evicts fetched copies, those untouched for longest first, until `enough`; never one that a statement may be working
  /// on (the `keep` touched last), nor one that could not be had again as it is. Looks at so many at most. True when
  /// anything was evicted.
  bool evict_copies(std::uint64_t keep, std::size_t look_at, const std::function<bool()>& enough);
  Chunk* new_chunk(std::int32_t array, const BlockIndex& block, std::int64_t size);
  /// All puts. `data` null: `value` is used. `shared`: `data` is a whole chunk that may be kept instead of copied.
  void modify(RequestKind kind, std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data, double value, Place place,
              bool shared = false);
  void modify_remote(HeldBlock& h, int node, const RequestHeader& request, const double* data, bool shared);
  /// Takes the reference to `data`, which may be null. `outgoing`: whose values are sent, from there or as they come to `data`.
  void send_change(HeldBlock& h, int node, const RequestHeader& request, Chunk* data, std::unique_ptr<OutgoingBlock> outgoing = nullptr,
                   const double* in_place = nullptr);
  /// What any put of this rank's does to what it holds of the block; null when it holds nothing.
  HeldBlock* before_own_put(std::int32_t array, const BlockIndex& block, std::int64_t size);
  void report(const Outcome& outcome, RequestKind kind, std::int32_t array, const BlockIndex& block, std::int64_t size, Place place);
  void check_finite(std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data, Place place);

  // --- what plans elide (store_elided.cpp)
  void send_sum(HeldBlock& h);
  void send_sums();
  /// Sends sums to other nodes, oldest first, and waits until their memory is free again. False when there were none.
  bool reclaim_sums(std::uint64_t bytes);
  /// At the end of the phase: what outlives it, within bounds.
  void keep_or_let_go();
  /// Whether a copy outlives the barrier; it is then marked as kept.
  bool keeps(HeldBlock& h, KeepCopies which);
  /// Asks the owner whether a kept copy is the block's value still, or joins the question of a prefetch. False: it cannot be asked.
  bool compare(HeldBlock& h, Priority priority);
  /// Waits for that question where no get has joined it.
  void end_comparison(HeldBlock& h);
  /// Copies that nobody has asked for in this phase go when memory gets short, before others have to wait for it.
  void give_up_kept();
  /// Holds on to what this rank has put, for the phases to come.
  void note_stored() {
    stored_ = node_->stored() ? Stored{node_->stored()->data(), node_->stored_content()} : Stored{};
  }
  bool retain_put(HeldBlock& h, Chunk* payload);
  // --- look-ahead (store_prefetch.cpp)
  struct Ahead { HeldBlock* block = nullptr; std::uint64_t number = 0; };
  struct Abandoned { std::unique_ptr<IncomingBlock> incoming; std::unique_ptr<PendingRequest> request; Chunk* buffer = nullptr; };
  bool spare_room(std::uint64_t bytes);
  bool is_ahead(const Ahead& a) const { return a.block->ahead == a.number; }
  /// The prefetched value, or what is on its way, is now that of the get.
  void adopt(HeldBlock& h, std::int64_t size);
  /// The prefetch has landed; its answer may be that there is no such block.
  void land(HeldBlock& h);
  void land_some();
  void abandon(HeldBlock& h);
  void count_unused(HeldBlock& h);
  void leave_ahead(HeldBlock& h);
  void drop_unused(HeldBlock& h);
  /// Drops prefetched blocks that nobody asked for, the one to be used last first, until `enough`.
  void drop_ahead(const std::function<bool()>& enough);
  /// For whoever on the node waits for memory: what this rank can do without. Also in the middle of its waits.
  void give_way();
  void complete_abandoned();
  void end_look_ahead();
  void time_fetch(const HeldBlock& h);
  std::uint64_t node_in_use() const { return static_cast<std::uint64_t>(heap_->bytes_in_use() + heap_->bytes_not_counted()); }
  void note_own_blocks() {
    own_blocks_high_ = std::max(own_blocks_high_, own_blocks());
    if (heap_->wanted()) give_way();
    if (holds_kept_ && 2 * static_cast<std::uint64_t>(heap_->bytes_in_use()) > heap_->budget()) give_up_kept();
  }
  std::int64_t own_blocks() const { return heap_->own_in_use(config_.arena) - static_cast<std::int64_t>(copied_bytes_); }
  bool reclaim(std::uint64_t bytes);
  void note_get(HeldBlock& h, std::int64_t size);

  // --- whole arrays and labels (store_arrays.cpp)
  void control(int node, RequestHeader request);
  /// Tells a server what an array is called.
  void announce(int node, std::uint64_t array, const std::string& array_name);
  void advance(std::uint64_t array, std::uint32_t generation);
  void wait_until_freed(std::uint64_t array, std::uint32_t generation);
  std::vector<ListedBlock> list(int node, std::uint64_t array, std::uint32_t generation) const;
  std::vector<BlockIndex> share_of_blocks(std::uint64_t array, std::uint32_t generation) const;
  /// Empty when there is none.
  /// None where there is no such block; one of a subindex may have no elements.
  std::optional<std::vector<double>> copy_of_block(const BlockKey& key, std::uint64_t placement) const;
  void set_block(const BlockKey& key, std::uint64_t placement, std::span<const double> data);
  void take_marked_labels();
  void exchange_new_labels(Place place);

  // --- collectives
  void release_everything();
  void count_barrier(double start, Place place);
  /// Waits for all ranks with their puts done and leases dropped; checks that they deleted the same arrays. True when one of
  /// them wants attention.
  bool meet(CollectiveKind kind, Place place, bool wants_attention = false);
  void apply_contributions(CollectiveKind kind, Place place);

  Transport& transport_;
  StoreOptions options_;
  std::shared_ptr<NodeMemory> memory_;
  Layout layout_;
  std::shared_ptr<NodeHeap> heap_;          // replies on their way keep it
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<ArenaPool> buffers_;
  ArrayNames names_;
  NodeBlocks::Config config_;
  std::unique_ptr<NodeBlocks> node_;
  std::unique_ptr<StoreService> service_;  // with several nodes
  std::unique_ptr<Outbox> outbox_;

  std::int32_t program_ = -1;
  std::vector<Array> arrays_;              // by id
  PlaceNamer namer_;
  std::int64_t phase_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t deletions_ = 0;            // hash of the generations this rank has left
  HeldTable held_;
  std::deque<HeldBlock*> copies_;          // fetched copies, roughly by age
  std::uint64_t clock_ = 0, copied_bytes_ = 0;
  std::deque<HeldBlock*> sums_;            // with a sum to be sent, by age
  std::uint64_t sum_bytes_ = 0, sum_budget_ = 0;
  bool reclaiming_sums_ = false;
  bool holds_kept_ = false;                // perhaps
  std::deque<Ahead> ahead_;                // prefetches, in the order of the gets to come; some no longer
  const HeldBlock* awaited_ = nullptr;     // by await()
  std::vector<Abandoned> abandoned_;       // no longer wanted, and still under way
  std::uint64_t ahead_number_ = 0, ahead_bytes_ = 0, in_flight_bytes_ = 0, largest_copy_ = 0, live_span_ = 0;
  std::int64_t own_blocks_high_ = 0;       // of this phase, without copies of fetched blocks
  bool live_set_known_ = false, no_prefetch_ = false;  // the latter until the barrier: memory is scarce
  struct FetchTimes { double n = 0, x = 0, y = 0, xx = 0, xy = 0; } fetch_times_;  // bytes and seconds, older ones fading
  std::thread::id rank_thread_ = std::this_thread::get_id();
  LabelTable labels_;
  std::map<std::int32_t, std::string> marked_;  // array -> label, for the end of the program
  std::vector<std::int32_t> mark_order_;
  std::vector<std::string> new_labels_;    // loaded since the last barrier
  mutable StoreStats stats_;
  std::vector<PhasePeak> phase_peaks_;
  AccessLog access_log_;
  Trace* trace_ = nullptr;
  IncomingPlaces* incoming_ = nullptr;
  Stored stored_;
};

}  // namespace sial
