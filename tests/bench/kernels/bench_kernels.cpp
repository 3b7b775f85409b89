// Block contractions against a plain dgemm of the same m, n, k in the same run, for the index patterns that dominate SIAL
// programs. Prints a table and, as the last line, JSON. `bench_kernels [seconds per measurement]`.

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/kernels/block_op.h"

using namespace sial;

namespace {

/// Keeps what it handed out, as the pool of a rank does: the benchmark is not about the system's allocator.
class PoolOfOneSize final : public BufferResource {
 public:
  double* allocate(std::int64_t n) override {
    for (auto& buffer : buffers_)
      if (!buffer.used && static_cast<std::int64_t>(buffer.memory.size()) >= n) {
        buffer.used = true;
        return buffer.memory.data();
      }
    buffers_.push_back({std::vector<double>(static_cast<std::size_t>(n) + 1), true});
    return buffers_.back().memory.data();
  }
  void deallocate(double* p, std::int64_t) noexcept override {
    for (auto& buffer : buffers_)
      if (buffer.memory.data() == p) buffer.used = false;
  }
  ResourceStats stats() const override { return {}; }

 private:
  struct Buffer {
    std::vector<double> memory;
    bool used = false;
  };
  std::vector<Buffer> buffers_;
};

struct Case {
  const char* what;
  std::string d, a, b;  // labels: i j k occupied, a b c d virtual (or AO)
};

const Case cases[] = {
    {"matrix product", "ab", "ac", "cb"},
    {"integral transformation, first index", "iabc", "di", "dabc"},
    {"integral transformation, last index", "abci", "abcd", "di"},
    {"particle ladder", "aibj", "acbd", "cidj"},
    {"hole ladder", "aibj", "akbl", "kilj"},
    {"ring", "aibj", "aikc", "kcbj"},
    {"ring, exchanged", "aibj", "akci", "bkcj"},
    {"Fock build, Coulomb", "ab", "abcd", "cd"},
    {"Fock build, exchange", "ac", "abcd", "bd"},
    {"outer product", "aibj", "ai", "bj"},
};

template <class F>
double seconds_per_call(double budget, F&& f) {
  using clock = std::chrono::steady_clock;
  f();
  double best = 1e30;
  const auto start = clock::now();
  do {
    const auto t0 = clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(clock::now() - t0).count());
  } while (std::chrono::duration<double>(clock::now() - start).count() < budget);
  return best;
}

bool is_virtual(char label) { return label <= 'd'; }

template <class T>
BlockView<T> view(std::vector<double>& memory, const std::string& labels, int occupied, int virtuals) {
  Shape shape;
  std::array<std::int32_t, max_rank> names{};
  for (char l : labels) {
    names[static_cast<std::size_t>(shape.rank)] = l;
    shape.extent[static_cast<std::size_t>(shape.rank++)] = is_virtual(l) ? virtuals : occupied;
  }
  memory.assign(static_cast<std::size_t>(shape.size()), 0.5);
  return dense_view<T>(memory.data(), shape, names);
}

}  // namespace

int main(int argc, char** argv) {
  const double budget = argc > 1 ? std::atof(argv[1]) : 0.05;
  const std::string blas = prepare_blas();
  fmt::print("{}\n{:38} {:>9} {:>16} {:>9} {:>9} {:>7}\n", blas, "contraction", "occ/virt", "m x n x k", "block", "dgemm", "ratio");
  PoolOfOneSize workspace;
  auto kernels = make_kernels("blas", workspace);
  std::string json;
  for (const auto& [occupied, virtuals] : {std::pair{4, 8}, {8, 16}, {16, 24}}) {
    for (const Case& c : cases) {
      std::vector<double> dm, am, bm;
      BlockOp op;
      op.has_b = true;
      op.d = view<double>(dm, c.d, occupied, virtuals);
      op.a = view<const double>(am, c.a, occupied, virtuals);
      op.b = view<const double>(bm, c.b, occupied, virtuals);
      int m = 1, n = 1, k = 1;
      for (char l : c.d) (c.a.find(l) != std::string::npos ? m : n) *= is_virtual(l) ? virtuals : occupied;
      for (char l : c.a)
        if (c.d.find(l) == std::string::npos) k *= is_virtual(l) ? virtuals : occupied;
      const double gflop = 2e-9 * m * n * k;
      const double block = gflop / seconds_per_call(budget, [&] { kernels->run(op); });
      std::vector<double> x(static_cast<std::size_t>(m) * static_cast<std::size_t>(k), 0.5);
      std::vector<double> y(static_cast<std::size_t>(k) * static_cast<std::size_t>(n), 0.5);
      std::vector<double> z(static_cast<std::size_t>(m) * static_cast<std::size_t>(n), 0.5);
      const double plain = gflop / seconds_per_call(budget, [&] {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0, x.data(), m, y.data(), k, 0.0, z.data(), m);
      });
      fmt::print("{:38} {:>9} {:>16} {:9.1f} {:9.1f} {:7.2f}\n", c.what, fmt::format("{}/{}", occupied, virtuals),
                 fmt::format("{}x{}x{}", m, n, k), block, plain, block / plain);
      json += fmt::format("{}{{\"contraction\": \"{}\", \"m\": {}, \"n\": {}, \"k\": {}, \"block_gflops\": {:.3f}, \"dgemm_gflops\": {:.3f}}}",
                          json.empty() ? "" : ", ", c.what, m, n, k, block, plain);
    }
  }
  fmt::print("{{\"blas\": \"{}\", \"results\": [{}]}}\n", blas, json);
}
