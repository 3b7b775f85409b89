#include "runtime/chemistry/integrals/fock_quartet.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "runtime/chemistry/integrals/fock_slab.h"

namespace sial {
namespace {

using Ranges = std::array<FunctionRange, 4>;
/// One arrangement (pq|rs) of the quartet: p..s say which dimension of the block each one is.
using Arrangement = std::array<int, 4>;

constexpr Arrangement arrangements[] = {{0, 1, 2, 3}, {1, 0, 2, 3}, {0, 1, 3, 2}, {1, 0, 3, 2},
                                        {2, 3, 0, 1}, {3, 2, 0, 1}, {2, 3, 1, 0}, {3, 2, 1, 0}};

/// Densities of any kind.
void add_arrangement(const double* x, const Ranges& ranges, const Arrangement& m,
                     const std::array<const FockMatrix*, 4>& matrices) {
  std::array<std::int64_t, 4> stride{1, 0, 0, 0};
  for (int d = 1; d < 4; ++d) stride[d] = stride[d - 1] * ranges[d - 1].count;
  const FunctionRange p = ranges[m[0]], q = ranges[m[1]], r = ranges[m[2]], s = ranges[m[3]];
  const auto& [da, db, fa, fb] = matrices;
  for (std::int64_t js = 0; js < s.count; ++js)
    for (std::int64_t jr = 0; jr < r.count; ++jr) {
      const double density = da->at(s.first + js)[r.first + jr] + db->at(s.first + js)[r.first + jr];
      double *exchange_a = fa->at(r.first + jr) + p.first, *exchange_b = fb->at(r.first + jr) + p.first;
      for (std::int64_t jq = 0; jq < q.count; ++jq) {
        const double density_a = da->at(s.first + js)[q.first + jq], density_b = db->at(s.first + js)[q.first + jq];
        double *coulomb_a = fa->at(q.first + jq) + p.first, *coulomb_b = fb->at(q.first + jq) + p.first;
        const double* line = x + js * stride[m[3]] + jr * stride[m[2]] + jq * stride[m[1]];
        for (std::int64_t jp = 0; jp < p.count; ++jp) {
          const double value = line[jp * stride[m[0]]];
          coulomb_a[jp] += value * density;
          coulomb_b[jp] += value * density;
          exchange_a[jp] -= value * density_a;
          exchange_b[jp] -= value * density_b;
        }
      }
    }
}

/// Whether d[a,b] is d[b,a] but for rounding.
bool is_symmetric(const FockMatrix& d, FunctionRange a, FunctionRange b) {
  constexpr double rounding = 1e-13;
  for (std::int64_t j = b.first; j < b.first + b.count; ++j)
    for (std::int64_t i = a.first; i < a.first + a.count; ++i) {
      const double x = d.at(j)[i], y = d.at(i)[j];
      if (!(std::abs(x - y) <= rounding * (1.0 + std::abs(x)))) return false;
    }
  return true;
}

bool is_symmetric(const FockMatrix& d, const Ranges& ranges) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j <= i; ++j)
      if (!is_symmetric(d, ranges[i], ranges[j])) return false;
  return true;
}

/// The part of a matrix over two ranges, without gaps.
struct Part {
  Part(FunctionRange row_range, FunctionRange column_range)
      : rows(row_range), columns(column_range), values(static_cast<std::size_t>(rows.count * columns.count)) {}
  double* column(std::int64_t j) { return values.data() + j * rows.count; }
  void add_to(const FockMatrix& f, double factor, bool transposed) const {
    for (std::int64_t j = 0; j < columns.count; ++j)
      for (std::int64_t i = 0; i < rows.count; ++i) {
        const double x = factor * values[static_cast<std::size_t>(i + j * rows.count)];
        if (transposed) f.at(rows.first + i)[columns.first + j] += x;
        else f.at(columns.first + j)[rows.first + i] += x;
      }
  }
  FunctionRange rows, columns;
  std::vector<double> values;
};

/// d[a,b], with d[b,a] added when `both`.
Part density_part(const FockMatrix& d, FunctionRange a, FunctionRange b, bool both) {
  Part part(a, b);
  for (std::int64_t j = 0; j < b.count; ++j)
    for (std::int64_t i = 0; i < a.count; ++i)
      part.column(j)[i] = d.at(b.first + j)[a.first + i] + (both ? d.at(a.first + i)[b.first + j] : 0.0);
  return part;
}

/// Exchange with the density `d` into `f`, of all arrangements; and the Coulomb part of `total` into `fa` and `fb`.
struct Exchange {
  Exchange(const Ranges& r) : pr(r[0], r[2]), ps(r[0], r[3]), qr(r[1], r[2]), qs(r[1], r[3]) {}
  void add_to(const FockMatrix& f, bool swap_bra, bool swap_ket, bool swap_pairs) const {
    for (const auto& [part, wanted] :
         {std::pair{&pr, true}, {&ps, swap_ket}, {&qr, swap_bra}, {&qs, swap_bra && swap_ket}}) {
      if (!wanted) continue;
      part->add_to(f, -1.0, false);
      if (swap_pairs) part->add_to(f, -1.0, true);
    }
  }
  Part pr, ps, qr, qs;
};

}  // namespace

void add_to_fock(const double* x, const Ranges& ranges, const FockMatrix& da, const FockMatrix& db,
                 const FockMatrix& fa, const FockMatrix& fb) {
  const auto& [p, q, r, s] = ranges;
  if (!is_symmetric(da, ranges) || (db.data != da.data && !is_symmetric(db, ranges))) {
    std::set<std::array<std::int64_t, 4>> seen;
    for (const Arrangement& m : arrangements)
      if (seen.insert({ranges[m[0]].first, ranges[m[1]].first, ranges[m[2]].first, ranges[m[3]].first}).second)
        add_arrangement(x, ranges, m, {&da, &db, &fa, &fb});
    return;
  }
  const bool swap_bra = p.first != q.first, swap_ket = r.first != s.first,
             swap_pairs = p.first != r.first || q.first != s.first;
  static const SlabCode code = slab_code();
  const bool one_density = da.data == db.data;
  Part bra(p, q), ket(r, s);
  Part bra_density = density_part(da, p, q, swap_bra), ket_density = density_part(da, r, s, swap_ket);
  const Part more_bra = density_part(db, p, q, swap_bra), more_ket = density_part(db, r, s, swap_ket);
  for (std::size_t i = 0; i < bra_density.values.size(); ++i) bra_density.values[i] += more_bra.values[i];
  for (std::size_t i = 0; i < ket_density.values.size(); ++i) ket_density.values[i] += more_ket.values[i];
  Exchange exchange_a(ranges), exchange_b(ranges);
  for (std::int64_t js = 0; js < s.count; ++js)
    for (std::int64_t jr = 0; jr < r.count; ++jr) {
      const double* m = x + (js * r.count + jr) * p.count * q.count;
      const auto slab = [&](const FockMatrix& d, Exchange& e) {
        const double *of_s = d.at(s.first + js), *of_r = d.at(r.first + jr);
        return Slab{m,
                    p.count,
                    q.count,
                    of_s + q.first,
                    of_r + q.first,
                    of_s + p.first,
                    of_r + p.first,
                    e.pr.column(jr),
                    e.ps.column(js),
                    e.qr.column(jr),
                    e.qs.column(js)};
      };
      ket.column(js)[jr] = code.with_coulomb(slab(da, exchange_a), ket_density.column(js)[jr],
                                             bra_density.values.data(), bra.values.data());
      if (!one_density) code.exchange(slab(db, exchange_b), 0.0, bra_density.values.data(), bra.values.data());
    }
  for (const FockMatrix* f : {&fa, &fb}) {
    bra.add_to(*f, 1.0, false);
    if (swap_bra) bra.add_to(*f, 1.0, true);
    if (swap_pairs) {
      ket.add_to(*f, 1.0, false);
      if (swap_ket) ket.add_to(*f, 1.0, true);
    }
    (f == &fa || one_density ? exchange_a : exchange_b).add_to(*f, swap_bra, swap_ket, swap_pairs);
  }
}

}  // namespace sial
