#pragma once
// The part of a loop that decides what it gets and puts. Two passes over the loop and the procedures it calls, both
// until nothing changes: forwards, what a run ahead of the program can know (everything at the loop's entry; what
// follows from it by arithmetic on ints, scalars, indices and elements of statics that the loop does not write);
// backwards from the gets and puts, which of that it needs.
//
// Where a condition cannot be known, the construct it controls is passed over if nothing but what is inside hangs on
// it: its gets and puts are left to the program, and the variables it sets are unknown from there on. Where an exit or
// return hangs on it, the iteration is given up, or the whole loop when it is the loop itself that may be left. In
// later iterations whatever an iteration changed after such a place counts as unknown.
//
// Procedures are analysed once for all their calls, as the actions of their instructions are the same for all of them.
// A flow refers to the program and is stale as soon as that changes.

#include <map>
#include <set>
#include <vector>

#include "compiler/analysis/calls.h"
#include "compiler/plan/plan.h"

namespace sial::plan {

/// An obstacle between the slice and a get, or a get that the slice passes over.
enum class LossKind {
  skipped,    // the construct is passed over
  abandoned,  // the iteration is not followed further
  ended,      // the slice ends
  no_slice,   // a where clause of the loop itself
};
struct Loss {
  LossKind kind = LossKind::skipped;
  const ir::Node* node = nullptr;  // the If, or the Loop whose where clause it is
  SourcePlace place;               // of the condition
  std::int32_t reg = -1;           // the unknown register: ints first, scalars after them
  ir::NodeId origin = -1;          // the node that made it unknown
};

class SliceFlow {
 public:
  /// `ignored`: gets and puts that are left to the program for another reason.
  SliceFlow(const ir::Program& program, analysis::Summaries& summaries, const ir::Node& root,
            const std::set<ir::NodeId>& ignored);

  /// Nothing when there is no get to ask for, and no put to foresee.
  const std::map<ir::NodeId, SliceAction>& actions() const { return actions_; }
  bool fetches() const { return fetches_; }
  bool puts() const { return puts_; }
  /// A procedure calls itself; there is no slice.
  bool recursive() const { return recursive_; }
  const std::vector<Loss>& losses() const { return losses_; }
  bool reached(ir::NodeId node) const { return reached_.contains(node); }

 private:
  enum class Decision { run, skip, abandon, end };
  struct State {
    bool live = false;
    std::vector<ir::NodeId> origin;  // per register: -1 known, else the node that made it unknown
    bool join(const State& o);
  };
  struct Frame {
    std::int32_t proc = -1;
    State ret;
    std::vector<const ir::Node*> loops;
    std::vector<State> exits;
  };
  using Live = std::vector<char>;

  // --- facts
  void find_procs(const ir::Body& body);
  const std::vector<std::int32_t>& written(const ir::Node& node);
  void collect_written(const ir::Node& node, std::vector<std::int32_t>& out);
  std::size_t reg(bool scalar, std::int32_t r) const { return static_cast<std::size_t>(r) + (scalar ? n_ints_ : 0); }
  bool pure(const ir::Instr& instr) const;
  static bool gets(const analysis::Summary& summary);
  Decision decision(const ir::Node& node) const;
  void decide(const ir::Node& node, Decision d, Loss loss);
  bool contains_ret(const ir::Body& body) const;
  bool contains_exit(const ir::Body& body) const;
  void unknown_condition(const ir::Node& node, SourcePlace place, std::int32_t condition, const State& s);
  void kill(const ir::Node& node, State& s);

  // --- forwards
  void forward();
  void forward(const ir::Body& body, State& s);
  void forward(const ir::Node& node, const ir::Instr& instr, State& s);
  void forward(const ir::Node& node, const ir::If& branch, State& s);
  void forward(const ir::Node& node, const ir::Loop& loop, State& s);

  // --- backwards
  void backward();
  bool backward(const ir::Body& body, Live& live);
  bool backward(const ir::Node& node, const ir::Instr& instr, Live& live);
  bool backward(const ir::Node& node, const ir::If& branch, Live& live);
  bool backward(const ir::Node& node, const ir::Loop& loop, Live& live);
  bool need(const ir::Node& node);
  bool needed(const ir::Node& node) const { return needed_.contains(node.id); }

  const ir::Program& p_;
  analysis::Summaries& summaries_;
  const ir::Node& root_;
  const std::set<ir::NodeId>& ignored_;
  std::size_t n_ints_, n_registers_;
  bool recursive_ = false, fetches_ = false, puts_ = false;
  std::set<std::int32_t> procs_;
  std::vector<std::int32_t> active_;
  std::map<ir::NodeId, std::vector<std::int32_t>> written_;
  std::map<std::int32_t, std::vector<std::int32_t>> written_by_proc_;

  bool changed_ = false;
  std::map<ir::NodeId, Decision> decisions_;
  std::vector<Loss> losses_;
  bool abandons_ = false;
  std::vector<Frame> frames_;
  std::map<std::int32_t, State> proc_in_, proc_out_;
  std::set<std::int32_t> proc_done_;      // in this pass
  std::set<std::int32_t> skipped_procs_;  // passed over at every call
  std::set<ir::NodeId> reached_;          // nodes that a run ahead may come to
  std::set<ir::NodeId> unknown_;          // instructions whose result is not to be known

  struct LoopFrame {
    const ir::Node* loop;
    Live after;
  };
  struct NeedFrame {
    std::int32_t proc;
    std::vector<LoopFrame> loops;
  };
  std::vector<NeedFrame> need_frames_;
  std::map<std::int32_t, Live> proc_after_, proc_before_;
  std::set<std::int32_t> needed_procs_;
  std::set<ir::NodeId> needed_;
  std::map<ir::NodeId, SliceAction> actions_;
};

}  // namespace sial::plan
