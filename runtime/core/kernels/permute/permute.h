#pragma once
// Permuted copies at the speed of memory: combine() of strided.h, bit for bit, with the work cut so that both operands
// are read and written in whole cache lines. Blocks that caches hold are transposed panel by panel straight into the
// target. Larger ones are assembled cache block by cache block in a buffer: cache blocks are long in the fastest
// dimensions of both operands, the buffer's lines are stored non-temporally, and meanwhile the next cache block is
// fetched, line by line in the order in which it will be read, which no hardware guesses. Where the target's lines are
// whole (extents of 8, 16, 40) there is no buffer: they are stored non-temporally straight from registers. A Permuter
// owns its buffer and tables and serves one thread; the engine outlives it.

#include <memory>
#include <vector>

#include "runtime/core/kernels/interface/permute_code.h"
#include "runtime/core/kernels/permute/strided.h"

namespace sial::kernels {

struct PermuteLimits {
  std::int64_t assembled_bytes =
      0;  // of both operands: from here on by cache blocks; 0: by the size of the last-level cache
  std::int64_t plain_volume = 256;  // below this many elements combine() itself
  bool prefer_generated = false;    // even where built-in code is as wide
};

class Permuter {
 public:
  /// `engine` may be null: built-in code only.
  explicit Permuter(CodeEngine* engine = nullptr, PermuteLimits limits = {});

  /// The method of an operation.
  enum class Method { nothing, copied, combined, panels, cache_blocks, streams };
  /// x = alpha * y + beta * x at every position; beta = 0 does not read x. The operands do not overlap.
  Method run(double* x, const double* y, std::vector<PairDim> dims, double alpha, double beta);

  /// Code that carries pieces assembled elsewhere to memory, as they are. The operation moves `volume` elements.
  PieceCode piece_code(std::int64_t volume) { return table(volume).piece[number(Blend::copy)]; }
  /// Code that transposes panels of such an operation, as they are.
  PanelCode transpose_code(std::int64_t volume) { return table(volume).transposed[number(Blend::copy)][0]; }

 private:
  struct Loop {
    std::int64_t count = 1;     // steps
    std::int64_t x = 0, y = 0;  // of one step
    std::int64_t extent = 0, block = 1;
    int dim = 0;
  };
  struct Dim : PairDim {
    std::int64_t block = 1;   // of a cache block
    std::int64_t buffer = 0;  // stride in the buffer
  };

  void by_panels(double* x, const double* y, double alpha, double beta);
  void by_cache_blocks(double* x, const double* y, double alpha, double beta);
  bool by_streams(double* x, const double* y, double alpha, double beta);
  std::int64_t cut_cache_blocks(std::int64_t length_x, std::int64_t length_y);
  void list_lines();
  void list_added(bool read);
  std::int64_t lay_out_buffer();
  void choose_panels(bool in_order_of_y);
  void sort_by_y(std::vector<int>& dims) const;
  void fetch_edges(double* x, std::int64_t count);
  PanelWork panel_work(double alpha) const;
  void assemble(const double* y, PanelCode code, double alpha);
  template <class F>
  void within_cache_block(const std::vector<int>& listed, F&& f) const;
  template <class F>
  void panels_of_cache_block(std::int64_t rows, F&& f) const;
  std::int64_t rows_at_once() const;
  void begin_cache_blocks();
  void look();
  void add_loop(int dim, std::int64_t block);
  void order_loops(int outermost = -1);
  bool advance(std::int64_t& x, std::int64_t& y);
  std::int64_t extent_here(int dim, std::int64_t block) const;
  const PermuteKernels& table(std::int64_t volume);

  CodeEngine* engine_;
  PermuteLimits limits_;
  PermuteKernels table_, generated_;
  const PermuteKernels* code_ = nullptr;  // for the operation at hand
  bool complete_ = false;                 // nothing (more) to ask the engine for
  std::int64_t moved_ = 0, calls_ = 0;

  // The operation at hand: dims_[0] is x's fastest, dims_[fast_y_] is y's.
  std::vector<Dim> dims_;
  int fast_y_ = 0;
  std::vector<Loop> loops_;         // innermost first
  std::vector<std::int64_t> at_;    // position in them
  std::vector<std::int64_t> here_;  // extents of the cache block at hand
  // Dimensions of cache blocks: those that panels have beside x's fastest, the one of rows of panels (one of the nearer
  // ones?), those that are nearer in y than x's fastest, those further away, those between pieces.
  std::vector<int> second_;
  int third_ = -1;
  bool near_third_ = false;
  std::vector<int> near_, far_, outside_;
  int contiguous_ = 0;                 // leading dimensions whose part of a cache block is one piece of x
  std::vector<std::int32_t> lines_;    // lines of y in a cache block, in the order in which it is read
  std::vector<std::int32_t> x_lines_;  // of x, where it is read, piece by piece
  std::vector<int> order_;
  std::unique_ptr<double[]> memory_;
  double* buffer_ = nullptr;
};

}  // namespace sial::kernels
