#pragma once
// The values of a program that differ between ranks at a barrier, and their further course. A value is uniform where
// all ranks have computed the same; it is divergent where a rank's iterations of a pardo, or its number, have decided
// about it. A job that goes on with another number of ranks gives a uniform value to all of them and shares a divergent
// one out where the program only adds it up with `collective`; nothing else can be shared out.
//
// A forward data-flow analysis over the code finds how values came about, a backward one how they are used. Both take
// every path of the control flow: what is not certain is said to be possible. Immutable.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/interp/rank_check/rank_flow.h"

namespace sial {

/// The state of one value at one instruction. Several origins or uses are possible at a time.
struct ValueAcrossRanks {
  // Origin; none: it is zero, which is both the same on all ranks and a share of a sum.
  static constexpr std::uint8_t uniform = 1;   // the same on all ranks
  static constexpr std::uint8_t share = 2;     // written in a rank's iterations of pardos
  static constexpr std::uint8_t numbered = 4;  // depends on the number of the rank, or of ranks
  static constexpr std::uint8_t number = 8;    // is the number of the rank, as get_my_rank gives it
  // Use, before it is replaced; none: it is not used any more:
  static constexpr std::uint8_t summed = 1;     // added up over all ranks, perhaps times a uniform factor
  static constexpr std::uint8_t broadcast = 2;  // one rank's is given to all
  static constexpr std::uint8_t read = 4;       // any other
  std::uint8_t origin = uniform, use = 0;
};

class Divergence {
 public:
  explicit Divergence(const Module& module);

  /// Before the instruction: int registers, then scalar registers, then arrays, each by its number.
  std::vector<ValueAcrossRanks> at(std::int32_t pc) const;
  /// An instruction after `pc`, or else one before it, that reads the variable in a way other than adding it up; -1:
  /// none.
  std::int32_t reader(std::size_t variable, std::int32_t pc) const;

  std::size_t variables() const { return n_ints_ + n_scalars_ + m_.arrays.size() + splits_.size(); }
  std::size_t of_int(std::size_t slot) const { return slot; }
  std::size_t of_scalar(std::size_t slot) const { return n_ints_ + slot; }
  std::size_t of_array(ArrayId array) const { return n_ints_ + n_scalars_ + array.at(); }
  /// Blocks of an array that pardos write under where clauses are a variable of their own, of_array(); this is the one
  /// of the others, or of_array() again.
  std::size_t of_rest(ArrayId array) const {
    const Split* split = split_of(array);
    return split ? variables() - splits_.size() + static_cast<std::size_t>(split - splits_.data()) : of_array(array);
  }

 private:
  /// A where clause `index <= n`, of the dimension that the index is of.
  struct Condition {
    std::size_t dimension = 0;
    std::int32_t relation = 0;
    bool constant = false;
    std::int32_t value = 0;  // or the int's slot
    auto operator<=>(const Condition&) const = default;
  };
  using Conditions = std::set<Condition>;
  struct Split {
    ArrayId array;
    Conditions inside;
  };
  /// The part of what is read in what is written.
  enum class Linear : std::uint8_t {
    no,
    sum,       // each operand with a constant factor
    quotient,  // the first one, if the others are uniform
    product,   // if at most one is divergent
  };
  struct Write {
    std::size_t variable = 0;
    bool keeps = false;  // its value is changed, or only a part of it replaced
  };
  struct Access {  // of one instruction
    std::vector<Write> writes;
    std::vector<std::size_t> reads, summed, broadcast;
    Linear linear = Linear::no;
    bool numbered = false;  // what is written depends on the number of the rank
  };
  using State = std::vector<std::uint8_t>;  // by variable

  Access access_of(std::int32_t pc) const;
  std::vector<std::size_t> variables_of(const FlowOperand& operand, std::int32_t pc) const;
  bool add_conditions(const LoopRow& loop, const RefRow& ref, Conditions& to) const;
  Conditions conditions_of(std::int32_t pc, const RefRow& ref) const;
  const Split* split_of(ArrayId array) const {
    const auto found = std::ranges::find_if(splits_, [array](const Split& s) { return s.array == array; });
    return found == splits_.end() ? nullptr : &*found;
  }
  void find_splits();
  void mix_splits(const Access& access, State& state) const;
  bool only_this_block(std::int32_t pc, ArrayId array, const RefRow& ref) const;
  std::vector<std::int32_t> successors_of(std::int32_t pc) const;
  bool is_linear(std::int32_t pc) const;
  /// The code [from, to) and what it calls is carried out by some ranks only, and perhaps by all at other times.
  bool enter(std::int32_t from, std::int32_t to, std::uint8_t origin);
  void mark_written(State& state, std::int32_t from, std::int32_t to, std::uint8_t origin) const;
  void find_pardos();
  void find_temps();
  void find_fills();
  void add_fill(const LoopRow& outer, std::int32_t pc, const RefRow& ref, std::size_t variable);
  bool always_runs(std::int32_t pc, const LoopRow& loop) const;
  void leave_loop(std::int32_t pc, std::int32_t next, State& state) const;
  bool is_rank_number(std::int32_t pc) const;
  bool writes_zero(std::int32_t pc, const State& state) const;
  std::uint8_t origin_written(std::int32_t pc, const State& state) const;
  void find_origins();
  void find_uses();
  bool pass_forward(std::int32_t pc, State& state);
  void pass_backward(std::int32_t pc, State& use) const;

  const Module& m_;
  RankFlow flow_;
  std::size_t n_ints_, n_scalars_;
  std::vector<Split> splits_;
  std::vector<Access> accesses_;
  std::vector<std::vector<std::int32_t>> successors_;
  // The facts that hold after a loop, by its number:
  struct Fill {
    std::size_t array = 0;
    std::vector<std::int32_t> pcs;  // of the statement that writes one block, and of those that then change it
    bool read = false;              // the loop reads other blocks of the array as well
  };
  std::vector<std::vector<std::size_t>> gone_;  // temps of a pardo that do not exist any more
  std::vector<std::vector<Fill>> fills_;        // static arrays of which it replaces all blocks, or all of a variable
  std::set<std::pair<std::int32_t, std::size_t>> replaces_;  // statements of which the loop then sees the block alone
  std::vector<std::uint8_t> inside_;   // origins of what is written there by some ranks only; 0: always by all
  std::vector<State> origins_, uses_;  // before each instruction; empty: no path has come there
};

}  // namespace sial
