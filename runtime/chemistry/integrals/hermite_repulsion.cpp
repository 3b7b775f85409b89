#include "runtime/chemistry/integrals/hermite_repulsion.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/chemistry/integrals/boys_table.h"

namespace sial {
namespace {

// Primitives of one pair are dropped only where no other pair could make up for their smallness.
constexpr double primitive_threshold = 1e-17;
// What primitives of one quartet may add to an integral, or to a Fock matrix, and are left out.
constexpr double primitive_integral = 1e-15, primitive_share = 1e-15;
constexpr std::int64_t max_r_doubles = 3072;  // of a batch of lanes: they stay in the first-level cache

FunctionSets functions_of(const std::vector<GaussianShell>& shells, const std::vector<ShellFamily>& families) {
  FunctionSets sets;
  for (const ShellFamily& family : families) {
    sets.emplace_back();
    for (const std::size_t s : family.shells) sets.back().push_back({shells[s].first, shells[s].count});
  }
  return sets;
}

/// Where functions of two ranges stand in a block over both.
void set_places(HermitePair& pair, FunctionRange a, FunctionRange b) {
  for (const HermitePair::Function& f : pair.functions) {
    const std::int64_t i = f.first - a.first, j = f.second - b.first;
    pair.place.push_back(i + j * a.count);
    pair.place_transposed.push_back(j + i * b.count);
  }
}

/// Additions of vectors for a quartet, and what is done between them.
std::int64_t contraction_cost(const HermitePair& bra, const HermitePair& ket) {
  const std::int64_t rows = bra.primitives() * n_hermites(bra.l), vectors = ket.columns / column_padding;
  return rows * vectors * (n_hermites(ket.l) * ket.primitives() + std::ssize(bra.functions)) +
         2 * rows * n_hermites(ket.l);
}

}  // namespace

HermiteRepulsion::HermiteRepulsion(std::vector<GaussianShell> shells) : shells_(std::move(shells)) {
  for (const GaussianShell& s : shells_) {
    groups_.add(s.count);
    max_l_ = std::max(max_l_, 2 * s.l);
  }
  steps_ = hermite_steps(2 * max_l_);
  sums_ = hermite_sums(max_l_);
  boys_.resize(static_cast<std::size_t>(2 * max_l_) + 1);
  make_bounds();
}

void HermiteRepulsion::make_bounds() {
  bounds_.assign(shells_.size() * (shells_.size() + 1) / 2, 0.0);
  const std::vector<ShellFamily> families = shell_families(shells_, 0, shells_.size());
  for (std::size_t a = 0; a < families.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const HermitePair pair = make_hermite_pair(shells_, families[a], families[b], a == b, 0.0);
      quartet(pair, pair, 0.0);
      for (std::size_t f = 0; f < pair.functions.size(); ++f) {
        const HermitePair::Function& function = pair.functions[f];
        double& bound = bounds_[shell_pair(function.shell_a, function.shell_b)];
        bound = std::max(bound, std::sqrt(std::abs(values_[f * static_cast<std::size_t>(pair.columns) + f])));
        largest_bound_ = std::max(largest_bound_, bound);
      }
    }
}

std::shared_ptr<const PairList> HermiteRepulsion::pair_list(FunctionRange a, FunctionRange b) {
  const std::array<std::int64_t, 4> key{a.first, a.count, b.first, b.count};
  if (const auto found = lists_.find(key); found != lists_.end()) return found->second;
  std::shared_ptr<const PairList> list = make_pair_list(a, b);
  std::int64_t bytes = 0;
  for (const HermitePair& pair : list->pairs) bytes += pair.bytes();
  if (list_bytes_ + bytes > max_list_bytes) {
    lists_.clear();  // whoever uses one has it still
    list_bytes_ = 0;
  }
  list_bytes_ += bytes;
  lists_.emplace(key, list);
  return list;
}

std::shared_ptr<const PairList> HermiteRepulsion::make_pair_list(FunctionRange a, FunctionRange b) const {
  auto list = std::make_shared<PairList>();
  list->first = a;
  list->second = b;
  const bool same = a == b;
  const auto range_a = groups_.range(a), range_b = groups_.range(b);
  const std::vector<ShellFamily> of_a = shell_families(shells_, range_a.begin, range_a.end),
                                 of_b = shell_families(shells_, range_b.begin, range_b.end);
  for (std::size_t i = 0; i < of_a.size(); ++i)
    for (std::size_t j = 0; j < (same ? i + 1 : of_b.size()); ++j) {
      double bound = 0.0;
      for (const std::size_t s : of_a[i].shells)
        for (const std::size_t t : of_b[j].shells) bound = std::max(bound, bounds_[shell_pair(s, t)]);
      if (bound * largest_bound_ < integral_threshold) continue;
      HermitePair& pair = list->pairs.emplace_back(
          make_hermite_pair(shells_, of_a[i], of_b[j], same && i == j, primitive_threshold / largest_bound_));
      pair.bound = bound;
      pair.family = {i, j};
      set_places(pair, a, b);
    }
  list->first_families = functions_of(shells_, of_a);
  list->second_families = functions_of(shells_, of_b);
  std::stable_sort(list->pairs.begin(), list->pairs.end(),
                   [](const HermitePair& x, const HermitePair& y) { return x.bound > y.bound; });
  return list;
}

const std::vector<double>& HermiteRepulsion::boys(int l) {
  std::vector<double>& table = boys_[static_cast<std::size_t>(l)];
  if (table.empty()) table = boys_table(l);
  return table;
}

void HermiteRepulsion::quartet(const HermitePair& bra, const HermitePair& ket, double threshold) {
  const int l = bra.l + ket.l;
  const std::int64_t of_bra = n_hermites(bra.l), of_ket = n_hermites(ket.l), of_both = n_hermites(l),
                     functions = std::ssize(bra.functions);
  const std::int64_t n_bra = bra.primitives_above(ket.bound > 0.0 ? threshold / ket.bound : 0.0),
                     n_ket = ket.primitives_above(bra.bound > 0.0 ? threshold / bra.bound : 0.0);
  values_.resize(static_cast<std::size_t>(functions * ket.columns));
  if (n_bra == 0 || n_ket == 0) {
    std::fill(values_.begin(), values_.end(), 0.0);
    return;
  }
  const std::int64_t batch = std::clamp(max_r_doubles / (of_both * n_ket), std::int64_t{1}, n_bra);
  const std::int64_t lanes = (batch * n_ket + lane_padding - 1) / lane_padding * lane_padding;
  const auto reserve = [](std::vector<double>& v, std::int64_t n) {
    if (std::ssize(v) < n) v.resize(static_cast<std::size_t>(n));
  };
  reserve(r_, of_both * lanes);
  reserve(work_, (l + 8) * lanes);
  reserve(half_, batch * of_bra * ket.columns);
  constexpr std::int32_t no_index = 0;
  const double* table = boys(l).data();
  for (std::int64_t begin = 0; begin < n_bra; begin += batch) {
    const std::int64_t count = std::min(batch, n_bra - begin),
                       n = (count * n_ket + lane_padding - 1) / lane_padding * lane_padding;
    code_.integrals({{bra.p.data() + begin, bra.x.data() + begin, bra.y.data() + begin, bra.z.data() + begin, count},
                     ket.primitive_pairs(n_ket),
                     l,
                     n,
                     table,
                     steps_.data(),
                     r_.data(),
                     work_.data()});
    code_.contract({r_.data(), count, of_bra, n_ket, sums_.data(), n_hermites(max_l_), n, of_ket, n_ket,
                    ket.blocks.data(), ket.primitives() * ket.columns, ket.columns, ket.limits.data(), half_.data(),
                    false});
    code_.contract({bra.rows.data() + begin * of_bra, functions, 1, bra.primitives() * of_bra, &no_index, 1, 0, 1,
                    count * of_bra, half_.data(), 0, ket.columns, nullptr, values_.data(), begin > 0});
  }
}

namespace {

/// Two dimensions of a block.
struct Half {
  std::shared_ptr<const PairList> list;
  bool transposed;      // the block has the ranges of the list in the other order
  std::int64_t stride;  // of its pairs of functions in the block
  bool same;            // both ranges are one: pairs stand at two places
};

const std::vector<std::int64_t>& places(const HermitePair& pair, bool transposed) {
  return transposed ? pair.place_transposed : pair.place;
}

void scatter_row(const double* values, const HermitePair& pair, const Half& half, double* out) {
  const std::int64_t n = std::ssize(pair.functions), *at = places(pair, half.transposed).data(),
                     *other = places(pair, !half.transposed).data();
  for (std::int64_t k = 0; k < n; ++k) out[at[k] * half.stride] = values[k];
  if (half.same)
    for (std::int64_t k = 0; k < n; ++k) out[other[k] * half.stride] = values[k];
}

/// One quartet of pairs into the block: `p` belongs to the half `of_p`, `q` to `of_q`.
void scatter(const double* values, const HermitePair& p, const Half& of_p, const HermitePair& q, const Half& of_q,
             double* out) {
  for (std::size_t f = 0; f < p.functions.size(); ++f, values += q.columns) {
    scatter_row(values, q, of_q, out + places(p, of_p.transposed)[f] * of_p.stride);
    if (of_p.same) scatter_row(values, q, of_q, out + places(p, !of_p.transposed)[f] * of_p.stride);
  }
}

}  // namespace

void HermiteRepulsion::block(const std::array<FunctionRange, 4>& ranges, std::span<const FockMatrix> densities,
                             double* out) {
  const auto half = [&](int d, std::int64_t stride) {
    const bool transposed = ranges[d + 1].first < ranges[d].first ||
                            (ranges[d + 1].first == ranges[d].first && ranges[d + 1].count < ranges[d].count);
    return Half{transposed ? pair_list(ranges[d + 1], ranges[d]) : pair_list(ranges[d], ranges[d + 1]), transposed,
                stride, ranges[d] == ranges[d + 1]};
  };
  const std::int64_t bra_size = ranges[0].count * ranges[1].count;
  std::fill_n(out, bra_size * ranges[2].count * ranges[3].count, 0.0);
  Half bra = half(0, 1), ket = half(2, bra_size);
  // One order of the halves whatever the block: its arrangements agree to the last bit.
  const auto key = [](const Half& h) {
    return std::array{h.list->first.first, h.list->first.count, h.list->second.first, h.list->second.count};
  };
  if (key(ket) < key(bra)) std::swap(bra, ket);
  const bool same = key(bra) == key(ket);
  const DensityScreen screen(densities, {&bra.list->first_families, &bra.list->second_families,
                                         &ket.list->first_families, &ket.list->second_families});
  for (std::size_t i = 0; i < bra.list->pairs.size(); ++i) {
    const HermitePair& p = bra.list->pairs[i];
    const std::size_t end = same ? i + 1 : ket.list->pairs.size();
    for (std::size_t j = 0; j < end; ++j) {
      const HermitePair& q = ket.list->pairs[j];
      if (DensityScreen::negligible(p.bound * q.bound, screen.largest())) {  // and so are all after it
        counts_.skipped += static_cast<std::int64_t>(end - j);
        break;
      }
      const double element = screen.largest({p.family[0], p.family[1], q.family[0], q.family[1]});
      if (DensityScreen::negligible(p.bound * q.bound, element)) {
        ++counts_.skipped;
        continue;
      }
      ++counts_.computed;
      const bool swapped = contraction_cost(q, p) < contraction_cost(p, q);
      const HermitePair &first = swapped ? q : p, &second = swapped ? p : q;
      const Half &of_first = swapped ? ket : bra, &of_second = swapped ? bra : ket;
      quartet(first, second, std::max(primitive_integral, primitive_share / element));
      scatter(values_.data(), first, of_first, second, of_second, out);
      if (same && i != j) scatter(values_.data(), first, of_second, second, of_first, out);
    }
  }
}

}  // namespace sial
