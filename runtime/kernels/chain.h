#pragma once
// Chains of element-wise work on one block, done in one pass over its memory: the block is cut into boxes that stay in a cache close to the
// processor, and every step is taken on a box before the next box is begun. Where operands lie in other orders and no cache holds them
// all, boxes are assembled aside: they are long in the fastest dimensions of every operand, what the next one needs is fetched, line by
// line, while the present one is written, and whole lines are written past the cache. Each element meets the steps in their order, with a
// multiplication and an addition of their own, never contracted: the bits are those of the same steps taken one after the other over
// the whole block, whether the code is built in or generated. Sources may lie in any order of their own; none may share memory with
// the target unless it is the target, element by element. A runner owns nothing but workspace, which it keeps from call to call.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/energy_differences.h"
#include "runtime/kernels/block_op.h"
#include "runtime/kernels/chain_tile.h"
#include "runtime/kernels/permute.h"

namespace sial::kernels {

/// An operand with its strides in the order of the target's dimensions.
struct ChainSource {
  const double* data = nullptr;
  std::array<std::int64_t, max_rank> stride{};
};

struct ChainStep {
  ChainOp op = ChainOp::fill;
  double value = 0.0;
  ChainSource a, b;
  const EnergyDifferences* energies = nullptr;  // of divide and multiply
};

/// Steps on a block: does not own them.
struct ChainWork {
  MutableView target;
  std::span<const ChainStep> steps;
};

/// The source whose dimensions are named as those of the target; strides of 0 where the extent is 1. False when the names differ.
bool chain_source(const MutableView& target, const ConstView& source, ChainSource& result);

struct ChainLimits {
  std::int64_t assembled_bytes = 0;         // of all operands: from here on boxes are assembled aside; 0: half of the last-level cache
  std::int64_t assembled_elements = 98304;  // what a second-level cache holds of an assembled box, its turned sources, and operands of two boxes
};

class ChainRunner {
 public:
  static constexpr std::ptrdiff_t none = -1;
  /// `engine`: makes code for chains while they run; may be null, and outlives the runner.
  explicit ChainRunner(CodeEngine* engine = nullptr, ChainLimits limits = {});
  /// The first step that met an element other than zero to be divided by a difference of zero; `none` when all went well. The target is
  /// then undefined.
  std::ptrdiff_t run(const MutableView& target, const std::vector<ChainStep>& steps);
  /// Whether the last run assembled its boxes aside.
  bool assembled() const { return assembled_; }

 private:
  /// Differences as sums of tables: over the first two dimensions (shift included), and over each further pair.
  using Tables = std::array<std::vector<double>, max_rank / 2>;
  struct Source {
    const double* data = nullptr;
    std::array<std::int64_t, max_rank> stride{};
    bool self = false;  // the target, element by element
    bool turned = false;  // not contiguous where the target is: each box of it is first copied into the target's order
    std::size_t copy = 0;  // where, in copies_
  };
  struct Step {
    ChainOp op = ChainOp::fill;
    double value = 0.0;
    int n_sources = 0;
    std::array<Source, ChainTile::sources_per_step> source;
  };
  /// Steps that are taken together on a tile; its second and third dimension.
  struct Group {
    std::size_t first = 0, last = 0;  // last: one behind
    int across = -1;  // the second dimension, where sources are contiguous along it; -1: none are
    int second = -1, third = -1;
    ChainCode code = nullptr;
  };
  using Extents = std::array<std::int64_t, max_rank>;

  void prepare(const MutableView& target, const std::vector<ChainStep>& steps);
  void join_dimensions(const MutableView& target);
  void make_groups();
  ChainCode code_of(const Group& group);
  std::span<const std::int64_t> moving(const Extents& stride) const { return {stride.data(), static_cast<std::size_t>(dims_)}; }
  std::int64_t volume(const Extents& extent) const;
  template <class F>
  void each_operand(F&& f) const;
  bool assembles() const;
  bool reads_target() const;
  void choose_box();
  void order_inner_loops();
  void cut_assembled();
  void lay_out_box();
  void list_fetched(const double* target);
  void turn_sources(const Extents& first, const Extents& extent);
  void turn(double* box, const double* from, const Extents& stride, const Extents& first, const Extents& extent);
  std::ptrdiff_t run_group(const Group& group, double* target, const Extents& first, const Extents& extent);
  bool advance(Extents& first) const;
  void write_box(double* target, const Extents& first, const Extents& extent, const Extents& next, bool more);

  /// An operand that is read from memory: its lines in a box, from its first element on, in the order in which they lie there.
  struct Fetched {
    const double* data = nullptr;
    Extents stride{};
    std::vector<std::int32_t> lines;
  };

  CodeEngine* engine_;
  std::map<CodeKey, ChainCode> ready_;
  Permuter permuter_;
  ChainLimits limits_;
  int dims_ = 0;
  Extents extent_{}, target_{}, tile_{};
  bool assembled_ = false;
  Extents box_{};  // strides of a box in the target's order
  std::unique_ptr<double[]> memory_;  // of turned sources and of the assembled target
  std::size_t room_ = 0;
  double* copies_ = nullptr;          // on a cache line
  std::size_t target_copy_ = 0;
  int contiguous_ = 1;                // leading dimensions whose part of a box is one piece of the target
  std::vector<Fetched> fetched_;
  std::int64_t fetched_per_line_ = 1;
  std::vector<Step> steps_, before_;  // in joined dimensions; in the target's
  std::vector<Tables> tables_;  // by step
  std::vector<Group> groups_;
  ChainTile work_;
};

}  // namespace sial::kernels
