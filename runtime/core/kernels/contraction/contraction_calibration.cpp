#include "runtime/core/kernels/contraction/contraction_calibration.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string_view>

#include "runtime/core/kernels/cpu/scratch.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {
namespace {

/// Labels of the operands: i to m have the short segments, those of results of six indices at most max_occupied_of_six.
struct Pattern {
  std::string_view d, a, b;
  bool adds = true;
};

constexpr Pattern patterns[] = {
    {"aibj", "aidk", "dkbj"},      {"aibj", "aidk", "bkdj"},      {"aibj", "akdi", "kbdj"},  // rings
    {"aibj", "acbd", "cidj"},      {"abij", "abcd", "cdij"},      {"cdij", "abcd", "abij"},  // particle ladders
    {"aibj", "akbl", "kilj"},      {"kilj", "kdle", "diej"},                                 // hole ladders
    {"aqrs", "pa", "pqrs", false}, {"pars", "qa", "pqrs", false}, {"pqas", "ra", "pqrs", false},
    {"pqra", "sa", "pqrs", false},                          // transformations
    {"aibj", "aidj", "bd"},        {"aibj", "aibk", "kj"},  // amplitudes and Fock elements
    {"iabckj", "iabe", "ckej"},    {"jiabck", "jlia", "blck"},    {"aibjck", "iabe", "ckej"},
    {"aibjck", "kcae", "bjei"},    {"aibjck", "iljb", "alck"},                           // (T)
    {"aibj", "ai", "bj", false},   {"abij", "ai", "bj", false},                          // outer products
    {"pq", "pqrs", "rs"},          {"pr", "pqrs", "qs"},          {"ai", "aidk", "kd"},  // matrix-vector products
};
constexpr std::int64_t max_occupied_of_six = 6;

struct SegmentPair {
  std::int64_t others, occupied;
};
constexpr SegmentPair segment_pairs[] = {{9, 9}, {14, 14}, {20, 20}, {28, 28}, {36, 36}, {24, 6}, {52, 17}};

constexpr double shortest_batch = 30e-6;  // seconds between two looks at the clock
constexpr int min_rounds = 3, max_rounds = 400;

std::int64_t extent_of(char label, const SegmentPair& s, bool six) {
  if (label < 'i' || label > 'm') return s.others;
  return six ? std::min(s.occupied, max_occupied_of_six) : s.occupied;
}

template <class T>
BlockView<T> view_of(std::string_view labels, const SegmentPair& s, bool six) {
  sial::Shape shape;
  std::array<std::int32_t, max_rank> names{};
  shape.rank = static_cast<std::int32_t>(labels.size());
  for (int d = 0; d < shape.rank; ++d)
    shape.extent[d] = extent_of(labels[static_cast<std::size_t>(d)], s, six),
    names[d] = labels[static_cast<std::size_t>(d)];
  static T element{};
  return dense_view(&element, shape, names);
}

std::int64_t elements_of(std::string_view labels, const SegmentPair& s, bool six) {
  std::int64_t n = 1;
  for (const char label : labels) n *= extent_of(label, s, six);
  return n;
}

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// The plans of one contraction, taking turns.
class Contest {
 public:
  Contest(const TileKernels& table, BufferResource& memory, MeasuredContraction& contraction, double* d,
          const double* a, const double* b, bool adds)
      : table_(table), contraction_(contraction) {
    std::int64_t row_panel = 1, column_panel = 1;
    for (const auto& strategy : contraction.strategies) {
      row_panel = std::max(row_panel, row_panel_size(strategy.plan, false));
      column_panel = std::max(column_panel, column_panel_size(strategy.plan));
    }
    rows_ = std::make_unique<Scratch>(memory);
    columns_ = std::make_unique<Scratch>(memory);
    double* const row_panels = rows_->allocate(row_panel);
    double* const column_panels = columns_->allocate(column_panel);
    for (const auto& [plan, seconds] : contraction.strategies) {
      ContractionWork& work = works_.emplace_back();
      work.d = d;
      work.x = plan.swapped ? b : a;
      work.y = plan.swapped ? a : b;
      work.beta = adds ? 1.0 : 0.0;
      work.row_panels = row_panels, work.column_panels = column_panels;
      work.last_row = plan.m, work.last_column = plan.n;
      tables_.emplace_back().keeps_calls = true;
    }
  }

  void run(double seconds_each) {
    std::vector<int> calls;
    double round = 0;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      timed(i, 1);  // makes its tables
      const double once = timed(i, 1);
      calls.push_back(std::max(1, static_cast<int>(std::ceil(shortest_batch / std::max(once, 1e-8)))));
      contraction_.strategies[i].seconds = once > 0 ? once : 1.0;
      round += once * calls.back();
    }
    const int rounds =
        std::clamp(static_cast<int>(seconds_each * static_cast<double>(works_.size()) / std::max(round, 1e-9)),
                   min_rounds, max_rounds);
    for (int r = 0; r < rounds; ++r)
      for (std::size_t i = 0; i < works_.size(); ++i)
        // Clocks of virtual processors stand still at times.
        if (const double taken = timed(i, calls[i]); taken > 0)
          contraction_.strategies[i].seconds = std::min(contraction_.strategies[i].seconds, taken);
  }

 private:
  /// Seconds of a call.
  double timed(std::size_t i, int calls) {
    const ContractionStrategy& plan = contraction_.strategies[i].plan;
    const double start = thread_seconds();
    for (int call = 0; call < calls; ++call) {
      if (is_memory_bound(plan)) run_memory_bound(plan, table_, works_[i], tables_[i]);
      else run_tiles(plan, table_, works_[i], tables_[i]);
    }
    return (thread_seconds() - start) / calls;
  }

  const TileKernels& table_;
  MeasuredContraction& contraction_;
  std::unique_ptr<Scratch> rows_, columns_;
  std::vector<ContractionWork> works_;
  std::vector<ContractionTables> tables_;
};

}  // namespace

ContractionTarget builtin_target() {
  const TileKernels table = builtin_tiles(cpu_facts(""));
  return {table.shape, table.fast, blas_vector_bits() >= 512};
}

std::vector<MeasuredContraction> measure_contractions(BufferResource& memory, double seconds_each, double max_flops) {
  const TileKernels table = builtin_tiles(cpu_facts(""));
  std::vector<MeasuredContraction> all;
  for (const SegmentPair& s : segment_pairs)
    for (const Pattern& pattern : patterns) {
      const bool six = pattern.d.size() == 6;
      BlockOp op;
      op.has_b = true;
      op.d = view_of<double>(pattern.d, s, six);
      op.a = view_of<const double>(pattern.a, s, six);
      op.b = view_of<const double>(pattern.b, s, six);
      MeasuredContraction contraction;
      for (ContractionChoice& choice : contraction_choices(resolve(op), table.shape, table.fast, blas_vector_bits()))
        if (choice.plan.strategy != Strategy::blas) contraction.strategies.push_back({std::move(choice.plan)});
      if (contraction.strategies.size() < 2) continue;
      const ContractionStrategy& plan = contraction.strategies.front().plan;
      if (2.0 * static_cast<double>(plan.m) * static_cast<double>(plan.n) * static_cast<double>(plan.k) > max_flops)
        continue;
      Scratch d(memory), a(memory), b(memory);
      const auto filled = [&](Scratch& scratch, std::string_view labels, double step) {
        const std::int64_t n = elements_of(labels, s, six);
        double* const p = scratch.allocate(n);
        for (std::int64_t i = 0; i < n; ++i) p[i] = step * static_cast<double>(i % 97);
        return p;
      };
      Contest(table, memory, contraction, filled(d, pattern.d, 0.0), filled(a, pattern.a, 0.01),
              filled(b, pattern.b, 0.02), pattern.adds)
          .run(seconds_each);
      all.push_back(std::move(contraction));
    }
  return all;
}

}  // namespace sial::kernels
