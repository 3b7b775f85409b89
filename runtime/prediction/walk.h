#pragma once
// The abstract walk of one program: follows its instructions with numbers of ints and indices, but no data. A condition
// that depends on data is walked both ways, one after the other; what is assigned on such a path is unknown afterwards.
// Loops whose index does not matter (effects.h) are visited once, with their largest segment. Built, run once,
// destroyed.
//
// walk.cpp has the instructions, walk_control.cpp loops and conditions, walk_blocks.cpp which blocks a reference means
// and what they cost, walk_remote.cpp the remote arrays.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/bytecode/evaluate/control_flow.h"
#include "runtime/bytecode/evaluate/iteration_space.h"
#include "runtime/bytecode/evaluate/temp_lifetimes.h"
#include "runtime/interp/blocks/bind.h"
#include "runtime/prediction/effects.h"
#include "runtime/prediction/job_memory.h"
#include "runtime/prediction/registers.h"

namespace sial {

class Walk {
 public:
  Walk(const Module& module, std::int32_t sequence, JobMemory& memory);
  ProgramNeed run();

 private:
  struct IndexNow {
    bool bound = false, known = false;
    std::int32_t value = 0;
  };
  struct LoopFrame {
    std::int32_t loop = 0;
    int passes = 0;  // still to come, of a loop visited by its largest segment
    bool by_value = false;
    int equal_trips = 0;  // of a loop with phases: trips in a row that left the same behind
    std::uint64_t signature = 0;
    std::int64_t steps_at_trip = 0;
  };
  struct Uncertain {
    std::int32_t begin = 0, end = 0, skipped_jump = -1;
    std::size_t loop_depth = 0, call_depth = 0;
  };
  struct Range {
    std::int64_t first = 0, last = 0;
  };
  struct Pardo {
    bool active = false, shared = false;  // shared: its iterations are divided among the ranks
    PardoMode mode = PardoMode::dynamic;
    std::int32_t loop = 0;
    std::vector<IndexId> by_value;  // those that are walked value by value,
    IterationSpace space;           // and their values
    bool collapsed = false;         // others are not
    std::int64_t tuple = 0;
    std::vector<Range> own;  // chunks that the rank draws,
    Range of_node;           // of those of its node
    std::size_t own_at = 0;
    bool mine = true, on_node = true;  // this iteration: the rank's, a rank's of its node
  };
  /// Memory of the rank with the address it would have; only distances between addresses mean anything.
  /// No bytes: it is another's; `of_store`: a remote block's.
  struct Own {
    double* address = nullptr;
    std::int64_t bytes = 0;
    bool of_store = false;
  };
  struct Held {
    Own own;
    std::int64_t fetched = 0, kept = 0, put = 0;
    bool summed = false;
  };
  struct Region {
    std::array<std::int32_t, max_rank> lo{}, hi{};
    Own memory;
  };
  struct At {
    BlockIndex block;
    Shape shape;
    std::int64_t size = 1;
    std::uint64_t key = 0;
    std::array<std::int64_t, max_rank> box_offset{}, box_extent{};
  };

  // --- walk.cpp
  void step();
  void execute(const Instruction& in);
  void finish();
  void save_marked();
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const;

  // --- walk_control.cpp
  void leave_uncertain();
  struct Flow;
  void walk_both(const Instruction& in);
  bool begin_do(std::int32_t loop);
  bool next_do(std::int32_t loop);
  bool begin_pardo(std::int32_t loop);
  bool pardo_runs(const LoopRow& row);
  void follow_indices(const LoopRow& row, const LoopFacts& facts);
  bool next_in_pardo();
  bool next_tuple();
  void drop_locals_of_others();
  void leave_loop();
  bool settled(LoopFrame& frame);
  void bind_largest(IndexId index);
  void divide();
  void take_turn();

  // --- walk_blocks.cpp
  bool locate(const ResolvedReference& ref, At& at) const;
  void for_each_block(const ResolvedReference& ref, const std::function<void(const At&)>& f) const;
  std::int32_t largest_segment(IndexId index, std::int32_t lo, std::int32_t hi) const;
  Own new_memory(int item, std::int64_t doubles);
  std::optional<MutableView> read_view(std::int32_t ref);
  std::optional<MutableView> write_view(std::int32_t ref, bool creates);
  MutableView view_of(const ResolvedReference& ref, const At& at, double* address) const;
  std::optional<MutableView> static_view(const ResolvedReference& ref, const At& at);
  std::optional<MutableView> region_part(ArrayId array, const std::array<std::int32_t, max_rank>& lo,
                                         const std::array<std::int32_t, max_rank>& hi) const;
  bool region_bounds(const RegionRow& row, std::array<std::int32_t, max_rank>& lo,
                     std::array<std::int32_t, max_rank>& hi) const;
  double* static_memory(ArrayId array);
  double* own_block(const ResolvedReference& ref, const At& at);
  void free_local(ArrayId array, std::uint64_t key);
  void allocate_region(const RegionRow& row);
  void deallocate_region(const RegionRow& row);
  void kernel(std::int32_t target, bool creates, std::int32_t a, std::int32_t b);
  void note_kernel(const BlockOp& op);
  void sum(const Instruction& in);
  void block_work(const Instruction& in);
  void alias(const Instruction& in);
  void leave_memory(ArrayId array, const Own& own);
  void keep_block(const Instruction& in);
  int item_of(ArrayId array);
  std::int64_t pieces_bytes(std::int64_t doubles) const;

  // --- walk_remote.cpp
  void get(const ResolvedReference& ref);
  void put(std::int32_t ref, std::int32_t source, bool has_source, SetOp op);
  void put_alias(const Instruction& in);
  void hold_sum(const ResolvedReference& ref);
  void retain_put(ArrayId array, const At& at);
  void put_one(ArrayId array, const At& at, bool adds, bool scales);
  double* private_copy(ArrayId array, const At& at);
  void barrier();
  void erase(ArrayId array);
  void drop_held(ArrayId array);
  void restore(ArrayId array, const std::string& label);
  int label_item(const std::string& label, SavedBlocks& saved);

  const Module& m_;
  std::int32_t sequence_;
  JobMemory& memory_;
  Ledger& ledger_;
  BoundProgram bound_;
  std::vector<LoopFacts> facts_;
  Registers registers_;
  std::vector<IndexNow> index_;
  std::int32_t pc_ = 0, at_ = 0;
  bool halted_ = false, exact_ = true, integrals_ = false;
  std::vector<LoopFrame> loops_;
  std::vector<CallFrame> calls_;
  std::set<std::int32_t> followed_;  // procedures, since there are no steps left
  std::vector<Uncertain> uncertain_;
  Pardo pardo_;
  std::int64_t cyclic_counter_ = 0;  // of the machine, whose rule it is
  std::unordered_map<double*, std::vector<TempBlock>>
      sharers_;  // of memory, by its address: blocks that lie there at no cost of their own
  TempLifetimes temps_;
  std::vector<TempBlock> created_locals_;                       // in this iteration of a pardo
  std::vector<int> items_;                                      // per array, -1: no row yet
  std::vector<std::unordered_map<std::uint64_t, Own>> blocks_;  // temps and locals
  std::vector<std::vector<Region>> regions_;
  std::vector<Own> statics_;
  std::vector<RemoteBlocks> remote_;
  std::vector<std::unordered_map<std::uint64_t, Held>> held_;
  struct Extra {
    int item = -1;
    NodeId node;
    std::int64_t bytes = 0;
  };
  std::vector<Extra> until_barrier_;  // replaced values that readers still hold, contributions to be added
  std::vector<std::pair<ArrayId, std::uint64_t>> read_blocks_;
  int copies_item_ = -1;
  std::vector<std::optional<KeepCopies>> keep_copies_;  // per array: over the next barrier
  std::vector<char> retain_puts_;                       // per array
  std::vector<std::pair<ArrayId, std::string>> marked_;
  /// By file, line and whether it is a contraction: what kernels choose for the largest operation.
  struct Choice {
    double size = -1;
    std::string why;
  };
  std::map<std::tuple<std::int32_t, std::int32_t, bool>, Choice> choices_;
  std::uintptr_t next_address_ = std::uintptr_t{1} << 20;
};

}  // namespace sial
