#pragma once
// One rank's interpreter for one program of a job. It owns the registers, the loop stack and this rank's own blocks
// (temps, locals, regions, statics), and drives the store, the work queue and the kernels it is given. Built, run once,
// asked for its results, destroyed; what outlives a program is in RankState. Not thread safe: one machine, one thread.
//
// Handlers are members named op_<opcode>, one per row of opcodes.def (a missing one does not link); they live in
// ops_*.cpp, loops.cpp and pardo.cpp. While a handler runs, `at_` is its instruction and `pc_` the next one.

#include <array>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/cache/statement.h"
#include "runtime/interp/blocks/bind.h"
#include "runtime/interp/blocks/block_map.h"
#include "runtime/interp/job/progress.h"
#include "runtime/interp/operations/inspect.h"
#include "runtime/interp/operations/printer.h"
#include "runtime/interp/prefetch/lookahead.h"
#include "runtime/job/results.h"
#include "runtime/kernels/block_op.h"
#include "runtime/memory/out_of_memory.h"
#include "runtime/stats/counter_field.h"
#include "runtime/stats/stats.h"
#include "runtime/stats/trace.h"
#include "runtime/store/store.h"
#include "runtime/super/orbital_ranges.h"
#include "runtime/super/plugins.h"
#include "runtime/transport/work_queue.h"

namespace sial {

class DevicePrefetch;
class Checkpoints;
class Device;
class DeviceBlockCache;
class DeferredPuts;
enum class PutAs;
enum class ElementOp;
struct HostBlock;
class RecordReader;
class RankCheck;
class RecordWriter;
class SliceCheck;

enum class Schedule { dynamic, static_ };

struct MachineOptions {
  PrintFormat print_format = PrintFormat::classic;
  Schedule schedule = Schedule::dynamic;
  bool deterministic = false;  // implies the static schedule
  bool profile = false;        // time per line; implied by a trace
  bool check_slices = false;   // carry access slices out beside the program and compare
  bool check_ranks = false;    // compare between ranks what they print, save, decide by and use
  LookAheadDepth look_ahead;
  bool keep_integrals = true;  // in memory that nothing else needs
  int self_check = 0;          // of so many operations of a device one is compared with the host; 0: none is
  ProgressMode progress = ProgressMode::off;
  JobOutlook outlook;                // for the progress line, but for the loops
  const Plugins* plugins = nullptr;  // super instructions beside the table's; outlive the machine
};

/// What outlives a program on one rank of a job.
struct RankState {
  std::map<std::string, double> saved_scalars;
  std::map<std::string, DataArray> saved_statics;
  std::map<std::string, std::vector<IndexKind>> static_kinds;  // of the dimensions of those that this run has saved
  std::map<std::string, SavedLayout> saved_remote;             // the blocks are in the store
  std::string restored_segments;  // options that give those of results to restore from, where they differ
  std::set<std::string>
      dropped_remote;  // labels that were saved, but that no later program restores; of a job without results
  std::map<std::string, std::shared_ptr<void>, std::less<>> super_slots;
  bool all_ranks_print = false;
  std::int64_t phase = 0;  // barriers since the job began; numbers the pardo instances
  Stats stats;
};

/// What a rank's interpreter works with. All outlive the machine. `out` is written by rank 0, and by the others while a
/// super instruction has enabled them; `warnings` by rank 0.
struct Environment {
  const JobData& job;
  Transport& transport;
  BlockStore& store;
  WorkQueue& queue;
  Kernels& kernels;
  std::ostream& out;
  std::ostream& warnings;
  RankState& state;
  Checkpoints* checkpoints = nullptr;  // null: barriers never save anything
  Trace* trace = nullptr;              // null: no timeline is kept
  Device* device = nullptr;            // for block operations; null: the host
  bool device_direct = true;           // copies go straight from and to the host's blocks, see DeviceOptions
  std::int64_t device_from = 0;        // programs whose largest block has fewer elements leave the device alone
  bool device_messages_direct = true;  // the transport reads the device's memory
  bool device_deferred_puts = true;    // puts of what only the device has do not wait for it
};

class Machine {
 public:
  /// `sequence`: number of the program in the job. Throws SialError when the job lacks what the program needs.
  Machine(const Module& module, std::int32_t sequence, const Environment& environment, const MachineOptions& options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Collective: runs the program from its first statement to its end, saves what was marked. A SialError that leaves
  /// it says where it happened. `from`: goes on where write_state() left off; the reader is at its first record.
  void run(RecordReader* from = nullptr);

  const Module& module() const { return *m_; }
  double scalar(std::int32_t slot) const { return scalars_[slot]; }
  std::int32_t integer(std::int32_t slot) const { return ints_[slot]; }
  /// A static array's current contents; empty data when the program never uses it.
  DataArray static_array(std::int32_t array) const;
  /// "prog.sialx:12:3" for an instruction.
  std::string place_name(std::int32_t pc) const;
  std::vector<LineCost> line_costs() const;
  /// Adds what was counted so far.
  void add_stats(Stats& stats) const;

 private:
  friend class MachineContext;
  struct LoopFrame {
    std::int32_t loop = 0, index = 0, value = 0, hi = 0;  // index: for do and sub; pardos keep their state in pardo_
    std::size_t temp_mark = 0;                            // temps created in the current iteration begin here
    std::size_t first_temp = temp_mark;  // ... and here those that were kept over iterations and end with the loop
  };
  /// When a serial loop outside of pardos and its current iteration began, where progress is shown; negative: before a
  /// checkpoint.
  struct LoopTimes {
    double begun = -1, iteration_begun = -1;
  };
  struct CallFrame {
    std::int32_t return_pc = 0;
    std::size_t loop_depth = 0;
  };
  struct TempEntry {
    std::int32_t array = 0;
    std::uint64_t key = 0;
  };
  struct Region {
    std::array<std::int32_t, max_rank> lo{}, hi{};
    Shape shape;
    double* data = nullptr;
  };
  struct Pardo {
    bool active = false;
    std::int32_t loop = 0;
    PardoMode mode = PardoMode::dynamic;
    PardoKey key;
    std::int64_t total = 0, at = 0, end = 0;  // current chunk: tuples [at, end) are still to come
    std::int64_t chunk_first = 0;
    double begun = 0;  // when there is a trace or progress is shown
    std::int32_t begin_pc = 0;
    std::array<std::int32_t, max_rank> lo{}, hi{};
    bool decoded = false;  // index values hold tuple at - 1
  };
  /// A reference with the current index values: which block, and which part of it.
  struct Located {
    BlockIndex block;
    Shape shape;  // of the whole block
    std::int64_t size = 1;
    std::uint64_t key = 0;
    std::array<std::int64_t, max_rank> box_offset{}, box_extent{};  // only with has_box
  };
  enum class Access { create, existing };
  enum class Use { read, overwrite, modify };  // of an own block: looked at, replaced altogether, changed

  // --- dispatch.cpp
  void load();
  template <bool profile, bool check>
  void loop();
  void trace_instruction(const Instruction& in, double begin, double end);
  /// Adds the time a block of code takes to the time of computation.
  class Computing;
  void finish_program();
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;
  Place place() const { return {sequence_, at_}; }
  Statement statement() const { return {at_}; }
  double now() const { return env_.transport.now(); }
  int workers() const { return env_.transport.size(); }
  int worker() const { return env_.transport.rank(); }
  bool prints() const {
    if (progress_) progress_->hide();
    return worker() == 0 || env_.state.all_ranks_print;
  }
  void warn(const std::string& message) const;
  std::int32_t line() const { return m_->places[at_].line; }

  // --- blocks.cpp: references, views, existence
  const BoundArray& array_of(const ResolvedReference& ref) const { return bound_.arrays[ref.array]; }
  std::int32_t index_value(std::int32_t index) const;
  void locate(const ResolvedReference& ref, Located& at) const;
  [[noreturn]] void fail_range(const ResolvedReference& ref, int d, std::int32_t segment) const;
  [[noreturn]] void fail_absent(const ResolvedReference& ref, const BlockIndex& block) const;
  void view_of(const ResolvedReference& ref, const Located& at, double* data, MutableView& view) const;
  void read_view(std::int32_t ref_id, ConstView& view);
  void write_view(std::int32_t ref_id, Access access, MutableView& view);
  void host_view_to_write(const ResolvedReference& ref, const Located& at, Access access, MutableView& view);
  double* own_block(const ResolvedReference& ref, const Located& at, Access access, Use use);
  double* unshared(std::int32_t array, BlockMap::Entry& entry, bool keep);
  void drop_retired() noexcept;
  double* static_data(std::int32_t array);
  void static_view(const ResolvedReference& ref, const Located& at, MutableView& view);
  bool region_block_view(const ResolvedReference& ref, const Located& at, MutableView& view);
  void region_bounds(const RegionRow& row, std::array<std::int32_t, max_rank>& lo,
                     std::array<std::int32_t, max_rank>& hi) const;
  std::string region_name(std::int32_t array, const std::array<std::int32_t, max_rank>& lo,
                          const std::array<std::int32_t, max_rank>& hi) const;
  std::string range_name(std::int32_t array, const std::array<std::int32_t, max_rank>& lo,
                         const std::array<std::int32_t, max_rank>& hi) const;  // one number where both are equal
  void region_view(const RegionRow& row, MutableView& view);
  const Region* region_around(std::int32_t array, const std::array<std::int32_t, max_rank>& lo,
                              const std::array<std::int32_t, max_rank>& hi) const;
  void fill_region_view(std::int32_t array, const Region& region, const std::array<std::int32_t, max_rank>& lo,
                        const std::array<std::int32_t, max_rank>& hi, MutableView& view) const;
  void free_temps(std::size_t mark);
  void release_block(const BlockMap::Entry& e) noexcept;
  void free_region(std::int32_t array, std::size_t i);
  /// Says for which array the block is, should it not fit.
  double* array_buffer(std::int32_t array, std::int64_t n) {
    allocating_ = array;
    double* data = buffer(n);
    allocating_ = -1;
    return data;
  }
  [[noreturn]] void fail_memory(const OutOfMemory& error) const;
  double* buffer(std::int64_t n) { return env_.store.buffers().allocate(n); }
  void release(double* p, std::int64_t n) noexcept { env_.store.buffers().deallocate(p, n); }

  // --- device_views.cpp
  template <class F>
  void block_operation(F&& operation);
  struct DeviceScope;
  /// The block that a reference means at present.
  struct Written {
    std::int32_t array = -1;
    BlockIndex block;
  };
  /// Puts work into a stream of the device; `target`: what it writes.
  template <class F>
  void compute_on_device(const Written& target, F&& work);
  void enter_device();  // where there is one
  void leave_device() noexcept;
  void too_large_for_device(std::int64_t bytes);
  void tell_of_full_device();
  /// Whether the device alone has the present value of a block.
  bool on_device_only(std::int32_t ref);
  /// Element-wise work, where the operands are.
  void element_work(ElementOp op, double factor, const MutableView& d, const ConstView& a = {},
                    const ConstView& b = {});
  HostBlock shape_of(std::int32_t array, const BlockIndex& block) const;  // of a remote array, wherever it lies
  HostBlock host_block(const ResolvedReference& ref, const Located& at, const MutableView& view) const;
  void place_view(const ResolvedReference& ref, const Located& at, Intent intent, MutableView& view);
  /// A static array that the host is going to use as a whole.
  double* whole_static(std::int32_t array, Intent intent);
  /// A static array as a slice reads it; null when the program has not used it.
  const double* table(std::int32_t array);
  double* scratch(std::int64_t n);
  void release_scratch(double* p, std::int64_t n) noexcept;
  void add_device_stats(Stats& stats) const;

  // --- ops_device.cpp
  enum class ResidencyHint { reserve, prefetch, write_back, evict };
  void hint_residency(const Instruction& in, ResidencyHint what);
  void hint_residency(const ResolvedReference& ref, const Located& at, ResidencyHint what);
  /// A put of a block that only the device has, to another node. False: nothing is done, the host has to do it.
  bool put_from_device(const Instruction& in, bool add);
  bool send_from_device(const HostBlock& source, bool add, std::int32_t array, const BlockIndex& block);
  bool own_source(const Instruction& in, Located& at, HostBlock& host);
  const double* block_if_any(const ResolvedReference& ref, const Located& at, MutableView& view);

  // --- deferred_puts.cpp
  /// A put of a block that only the device has is left for later. False: it has to be carried out now.
  bool put_later(const Instruction& in, PutAs how);
  void go_on_with_deferred_puts();
  void carry_out_deferred_puts(std::size_t n = SIZE_MAX);
  void carry_out_deferred_put();
  void before_use(std::int32_t array, const BlockIndex& block);

  // --- ops_block.cpp
  /// Runs op_ with d, a (and b) set, through scratch copies where d touches an operand.
  void run_kernel(double alpha, double beta);
  void note_operation(double flops, double seconds);
  void pack_if_touching(ConstView& operand, double*& scratch, std::int64_t& size);
  void copy_like(std::int32_t target, std::int32_t source, double alpha, double beta, Access access);
  const double* packed(const ConstView& view, double*& scratch, std::int64_t& size);
  void add_blocks(const MutableView& target, const ConstView& a, const ConstView& b, double sign);
  void check_same_shape(const MutableView& d, const ConstView& a) const;
  void contract(const Instruction& in, bool assign, double alpha);

  // --- kernel_costs.cpp
  /// Counts an operation at the present instruction. The text to fill when it is the largest so far, else null.
  std::string* note_kernel(const char* way, double flops, double bytes, double seconds);
  std::vector<KernelCost> kernel_costs() const;

  // --- ops_chain.cpp
  struct Chain;
  void run_fused(Chain& chain, std::int32_t end);
  void fused_step(const Instruction& in, Chain& chain);
  void beside_elements(const Instruction& in);
  void fused_step_on_device(const Instruction& in, Chain& chain);
  template <class F>
  void beside_chain(Chain& chain, F&& statement);
  /// A statement that changes a block element by element, where the device has the block.
  bool element_form_on_device(const Instruction& in);
  bool block_form_on_device(const Instruction& in);
  bool energies_of(const Instruction& in, Chain& chain, SuperArg& target);
  void fused_copy(const Instruction& in, Chain& chain, double alpha, double beta, Access access);
  void fused_sum(const Instruction& in, Chain& chain);
  void fused_execute(const Instruction& in, Chain& chain);
  void fused_own(std::int32_t target, Chain& chain, Access access);
  void fused_read(std::int32_t source, Chain& chain, ConstView& view);
  void look_at_remote(std::int32_t ref, Chain& chain);
  void carry_out(Chain& chain);
  /// Gives the time of a `fused` instruction to the statements that ran in it; false when none did.
  bool share_cost(double seconds, double compute);

  // --- loops.cpp, pardo.cpp
  void leave_loop();
  void open_index(std::int32_t index, std::int32_t value);
  bool next_tuple();
  void decode_tuple(std::int64_t tuple);
  void begin_pardo(const LoopRow& row);
  PardoPosition pardo_position() const;
  void make_look_ahead();
  bool near_pays() const;
  void show_progress();
  void time_loop();
  void check_get(std::int32_t array, const BlockIndex& block);

  // --- machine_state.cpp
  void write_state(RecordWriter& writer) const;
  void read_state(RecordReader& reader);
  void read_own_record(std::uint32_t type, RecordReader& reader);
  bool frames_fit() const;
  bool marks_fit() const;
  bool temps_fit();
  std::int64_t size_of_key(std::int32_t array, std::uint64_t key) const;
  std::int64_t size_of_block(std::int32_t array, const BlockIndex& block) const;
  bool region_fits(std::int32_t array, const Region& region) const;

  // --- ops_check.cpp
  void make_rank_check();
  bool shares_pardo() const;
  void check_step(std::int32_t pc);
  void check_values(CollectiveKind kind);
  void check_saved();

  // --- ops_comm.cpp
  void put_block_as(const Instruction& in, PutAs how);
  void barrier_here();
  void count_collective(double begin);
  void locate_put(const Instruction& in, Located& at, ConstView& source);
  void store_block(PutAs how, std::int32_t array, const BlockIndex& block, std::int64_t size, const double* data);
  /// What a put left in the store has the values that a block has, which the device may have as well.
  void note_stored(const double* block);
  template <class T>
  [[noreturn]] void fail_label(const std::string& label, const char* what, const T& known) const;
  void warn_kinds(const std::string& label, const BoundArray& array) const;
  template <class T, class Rows>
  void warn_label(const std::string& label, const std::string& name, const T& known, const Rows& rows) const;
  void save_marked();
  SavedLayout layout_of(std::int32_t array) const;

  // --- ops_memory.cpp
  template <class F>
  void for_each_selected(const ResolvedReference& ref, F&& f);

  // --- ops_execute.cpp
  struct ArgCopyBack {
    double* scratch = nullptr;
    std::int64_t size = 0;
    MutableView target;
    bool copy_back = false;
  };
  void describe_block(const ArgRow& row, char letter, SuperArg& arg) const;
  void execute_body(const Instruction& in);
  void prepare_arg(const ArgRow& row, char letter, SuperArg& arg, ArgCopyBack& back, double& literal);
  void describe_dims(SuperArg& arg, const BoundArray& array, const Located& at, const ResolvedReference& ref) const;

  // --- ops_output.cpp, ops_inspect.cpp: printing
  void require_regions(std::int32_t array);                                // of a contiguous local array, on the host
  std::string whole_name(std::int32_t array, const Region& region) const;  // of the only region, that of the array
  void look_at_block(const Instruction& in, bool list);
  void look_at_region(const Instruction& in, bool list);
  void look_at_array(const Instruction& in, bool list);
  ElementLabels declared_labels(std::int32_t array, const std::array<std::int32_t, max_rank>& lo) const;
  void inspect(const Instruction& in, bool list, const std::string& name, const ElementLabels& labels,
               const ConstView& view);

#define OPCODE(number, name, ...) void op_##name(const Instruction& in);
#include "runtime/bytecode/opcodes.def"
#undef OPCODE

  // --- state
  const Module* m_;
  std::int32_t sequence_;
  Environment env_;
  MachineOptions options_;
  BoundProgram bound_;
  std::vector<std::int32_t> ints_;
  std::vector<double> scalars_;
  std::vector<std::int32_t> index_value_;  // unbound_index when no loop binds it
  std::int32_t pc_ = 0, at_ = 0;
  bool halted_ = false;
  std::vector<LoopFrame> loops_;
  std::vector<LoopTimes> loop_times_;  // of the first of loops_
  std::vector<CallFrame> calls_;
  std::vector<TempEntry> temps_;
  std::vector<BlockMap> blocks_;              // per array: temps and locals
  std::vector<std::vector<Region>> regions_;  // per array: contiguous locals
  std::vector<double*> statics_;              // per array
  Pardo pardo_;
  std::vector<std::int64_t> pardo_instances_;        // per loop, since the last barrier
  std::int64_t cyclic_counter_ = 0;                  // static schedule: accepted iterations since the last barrier
  std::unique_ptr<DevicePrefetch> device_prefetch_;  // with copies_
  std::unique_ptr<CachePrefetcher> cache_prefetch_;  // without, where blocks go into the cache before their use
  std::unique_ptr<LookAhead>
      look_ahead_;  // where blocks lie on other nodes, go to a device or into the cache, and the program has slices
  BlockOp op_;
  std::unique_ptr<Chain> chain_;
  Printer printer_;
  struct Mark {
    std::int32_t id = 0;
    std::string label;
  };
  std::vector<Mark> marked_scalars_, marked_statics_, marked_remote_;
  struct Body {
    std::function<void(SuperContext&, std::span<SuperArg>)> run;  // may be empty
    ElementForm element = nullptr;
    BlockFormMaker block = nullptr;
    std::span<const ArgumentRule> orbitals;  // what of its arguments is checked; often empty
  };
  std::vector<Body> bodies_;  // per special
  OrbitalRanges orbital_ranges_;
  std::unique_ptr<SuperContext> context_;
  std::unique_ptr<Progress> progress_;  // on the first rank, when wanted
  std::unique_ptr<SliceCheck> slice_check_;
  std::unique_ptr<RankCheck> rank_check_;        // with --check, on several ranks
  std::int64_t look_in_ = 0, tuples_seen_ = 0;   // until the clock is looked at again; in this pardo by then
  std::int32_t allocating_ = -1;                 // array
  std::unique_ptr<DeviceBlockCache> copies_;     // with a device of its own memory
  std::unique_ptr<DeferredPuts> deferred_puts_;  // likewise, unless they are to wait
  bool on_device_ = false;                       // the present operation runs there
  bool told_of_full_device_ = false;
  Written written_;  // what was last looked at to be written, with a device
  struct PcCost {
    std::int64_t executions = 0;
    double seconds = 0, compute = 0, flops = 0;
  };
  std::vector<PcCost> pc_costs_;
  double light_seconds_ = 0;  // of instructions too short to be timed one by one
  double begin_ = 0;          // of the program, where time is measured
  double clock_ = 0;          // when computation was last found to end
  double compute_seconds_ = 0, collective_seconds_ = 0;
#define COUNTED_machine(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNTER_FIELD(unit, COUNTED_##by)
#include "runtime/stats/counters.def"
  // Block copies by instruction and array of the block that is made: those carried out, those that plans spared.
  struct Copies {
    std::int64_t blocks = 0, bytes = 0;
  };
  using CopyCounts = std::map<std::pair<std::int32_t, std::int32_t>, Copies>;
  CopyCounts copied_, elided_;
  void count(CopyCounts& what, std::int32_t array, std::int64_t elements) {
    Copies& at = what[{at_, array}];
    ++at.blocks;
    at.bytes += elements * 8;
  }
  std::vector<CopyCost> copy_costs() const;
  // By instruction and way: what block operations took.
  struct KernelUse {
    std::int64_t calls = 0;
    double flops = 0, bytes = 0, seconds = 0, largest = -1;
    std::string why;
  };
  std::map<std::pair<std::int32_t, const char*>, KernelUse> kernel_uses_;
  // What a write to shared memory left: an operand of the same statement may still be read from it.
  std::vector<BlockMap::Entry> retired_;
  std::int32_t retired_at_ = -1;
  double flops_ = 0;
};

inline constexpr std::int32_t unbound_index = INT32_MIN;

}  // namespace sial
