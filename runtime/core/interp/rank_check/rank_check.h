#pragma once
// --check, on several ranks: finds values that a rank computed from its own share of a pardo and that the program uses
// as if all ranks had the same. Each value carries where it comes from (its shares of pardos, or the rank's number);
// what is printed, saved, decided by outside pardos, or used in a later pardo, is logged, and the logs are compared
// wherever all ranks synchronise anyhow. Only there does it communicate, so that ranks that go different ways are found
// rather than waited for. Owned by its machine, one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/core/interp/rank_check/rank_flow.h"
#include "runtime/core/interp/rank_check/rank_log.h"
#include "runtime/core/transport/transport.h"

namespace sial {

class RankCheck {
 public:
  /// Sum and hash of the elements.
  struct Content {
    double sum = 0;
    std::uint64_t hash = 0;
  };
  /// The machine, as far as the check needs it; outlives the check.
  struct Program {
    const Module& module;
    std::int32_t sequence;
    Transport& transport;
    const std::vector<std::int32_t>& ints;
    const std::vector<double>& scalars;
    std::function<std::uint64_t(std::int32_t ref)> block_of;  // the block that a reference means now
    std::function<Content(const FlowOperand&)> content;       // of a block, region or array of this rank
    std::function<void(ArrayId array, const std::function<void(std::uint64_t block, const Content&)>&)>
        blocks;  // that this rank has
    std::function<std::string(ArrayId array, std::uint64_t block)> block_name;
    std::function<std::string(Place)> place_name;
    std::function<bool()> all_print;
  };
  explicit RankCheck(Program program);

  /// Before the instruction is carried out; `calls`: open procedures. `in_pardo`: in a pardo that is divided among the
  /// ranks.
  void step(std::int32_t pc, std::size_t calls, bool in_pardo);
  /// Collective: before the ranks synchronise at an instruction. Throws SialError where values differ that should not,
  /// and where ranks are at different statements.
  void synchronise(CollectiveKind kind, std::int32_t pc, bool in_pardo);
  /// At the end of the program, before the ranks synchronise: the variable is saved, as the program says at `pc`.
  void saved(std::int32_t pc, const Variable& variable);

 private:
  /// The origin of a value that is not the same on all ranks.
  struct Origin {
    bool own = false;                // the rank's number, the user's super instructions
    bool wrote = false;              // this rank had a part in the shares
    bool summed = false;             // and added it to what was there
    std::vector<PardoShare> shares;  // few
    bool clean() const { return !own && shares.empty(); }
    void join(const Origin& other);
  };
  struct ArrayOrigin {
    Origin all;
    std::unordered_map<std::uint64_t, Origin> blocks;  // that are not as all
    std::unordered_set<std::uint64_t> wrote;           // by this rank in pardos
  };
  struct Branch {
    std::int32_t begin = 0, end = 0;
    std::size_t calls = 0;
    Origin origin;
  };
  struct Compare {
    std::int32_t pc = -1;
    double left = 0, right = 0;
  };
  struct ArrayState {
    std::unordered_map<std::uint64_t, RankValue> blocks;
    RankValue whole;
  };
  /// The values that a pardo began with, of the variables that it reads and earlier pardos wrote.
  struct Snapshot {
    std::int32_t begin = 0;
    std::map<Variable, RankValue> registers;
    std::map<ArrayId, ArrayState> arrays;
  };
  struct LoopFlow {
    std::vector<WrittenVariable> written;
    std::set<Variable> read;
  };

  const LoopFlow& flow_of_loop(std::int32_t loop);
  Origin& origin_of_register(const FlowOperand& operand);
  Origin origin_of(const FlowOperand& operand);
  void flow(std::int32_t pc);
  void write(const FlowOperand& target, Origin origin, std::int32_t pc);
  void write_array(const FlowOperand& target, Origin origin, std::int32_t pc);
  void use_in_pardo(std::int32_t pc, const FlowOperand& target, const Origin& origin);
  void record_use(std::int32_t pc, const PardoShare& share);
  bool lasts(ArrayId array) const;
  PardoShare present_share(const Variable& v, std::int32_t pc) const;
  void begin_pardo(std::int32_t pc);
  void end_pardo();
  void branch(std::int32_t pc, std::int32_t condition, std::int32_t end, std::size_t calls);
  void print(std::int32_t pc, const FlowOperand& operand);
  void log(RankEvent event, const Origin& origin);
  Origin control() const;
  double register_value(const Variable& v) const;
  RankValue value_of(const UseKey& key) const;
  void compare_uses(std::span<const RankLog> logs);
  [[noreturn]] void fail(const EventDifference& d, const std::string& apart) const;
  [[noreturn]] void fail(const UseDifference& d) const;
  std::string variable_name(const Variable& v) const;
  std::string source(const PardoShare& share) const;
  std::string remedy(const PardoShare& share) const;
  std::string condition_text(const EventDifference& d) const;
  std::string place(std::int32_t pc) const { return p_.place_name({p_.sequence, pc}); }

  Program p_;
  RankFlow flow_;
  std::vector<Origin> ints_, scalars_;  // by register
  std::vector<Compare> compared_;       // by int register
  std::map<ArrayId, ArrayOrigin> arrays_;
  std::vector<Branch> branches_;  // whose conditions depend on the rank
  std::map<std::int32_t, LoopFlow> loops_;
  std::map<std::int32_t, bool> seen_;  // by jump: whether it matters where the branch goes
  std::int64_t pardo_ = 0;             // the present or latest one
  bool in_pardo_ = false;
  std::int32_t loop_ = -1;                 // of the present one
  std::map<Variable, double> began_with_;  // registers that the present one writes
  std::map<ArrayId, std::unordered_set<std::uint64_t>>
      read_;  // blocks from earlier pardos that the present one read, by array
  std::map<std::int64_t, Snapshot> snapshots_;
  std::set<UseKey> used_;
  RankLog log_;
};

}  // namespace sial
