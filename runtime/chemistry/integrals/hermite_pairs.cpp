#include "runtime/chemistry/integrals/hermite_pairs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace sial {
namespace {

struct Orders {
  int t, u, v;
};

std::vector<Orders> hermite_orders(int l) {
  std::vector<Orders> all;
  for (int order = 0; order <= l; ++order)
    for (int t = order; t >= 0; --t)
      for (int u = order - t; u >= 0; --u) all.push_back({t, u, order - t - u});
  return all;
}

constexpr int max_l = 6;  // of a shell

/// E_t^ij of one direction (T. Helgaker, P. Jorgensen and J. Olsen, Molecular Electronic-Structure Theory,
/// section 9.5), without the factor exp(-a b R^2 / (a + b)).
class Expansion {
 public:
  Expansion(int la, int lb, double p, double from_a, double from_b) {
    e_[0][0][0] = 1.0;
    for (int i = 0; i <= la; ++i) {
      if (i > 0) raise(e_[i][0], e_[i - 1][0], i - 1, p, from_a);
      for (int j = 1; j <= lb; ++j) raise(e_[i][j], e_[i][j - 1], i + j - 1, p, from_b);
    }
  }
  const double* operator()(int i, int j) const { return e_[i][j]; }

 private:
  /// `from` has orders 0 to n.
  static void raise(double* to, const double* from, int n, double p, double distance) {
    for (int t = 0; t <= n + 1; ++t) {
      double value = 0.0;
      if (t > 0) value += from[t - 1] / (2.0 * p);
      if (t <= n) value += distance * from[t];
      if (t < n) value += (t + 1) * from[t + 1];
      to[t] = value;
    }
  }
  double e_[max_l + 1][max_l + 1][2 * max_l + 1] = {};
};

/// One primitive pair: p, its centre, and [function][Hermite].
struct Primitive {
  double p = 0.0, bound = 0.0;
  std::int64_t uses = 0;  // functions that it is part of
  std::array<double, 3> center{};
  std::vector<double> e;
};

/// Adds to [function a, function b][Hermite] of two shells, whose first row is `e`; only rows b <= a when `lower`.
void add_shell_pair(const GaussianShell& a, const GaussianShell& b, double factor,
                    const std::array<Expansion, 3>& expansion, bool lower, std::int64_t hermites, double* e) {
  const std::vector<Orders> orders = hermite_orders(a.l + b.l);
  const auto cartesians = [](int l) {
    std::vector<Orders> all = hermite_orders(l);
    return std::vector<Orders>(all.end() - (l + 1) * (l + 2) / 2, all.end());
  };
  const std::vector<Orders> of_a = cartesians(a.l), of_b = cartesians(b.l);
  std::vector<double> products(of_a.size() * of_b.size() * orders.size());
  double* at = products.data();
  for (const Orders& i : of_a)
    for (const Orders& j : of_b) {
      const double *ex = expansion[0](i.t, j.t), *ey = expansion[1](i.u, j.u), *ez = expansion[2](i.v, j.v);
      for (const Orders& o : orders)
        *at++ = o.t > i.t + j.t || o.u > i.u + j.u || o.v > i.v + j.v ? 0.0 : factor * ex[o.t] * ey[o.u] * ez[o.v];
    }
  for (std::int64_t f = 0; f < a.count; ++f)
    for (std::int64_t g = 0; g < (lower ? f + 1 : b.count); ++g, e += hermites)
      for (std::size_t i = 0; i < of_a.size(); ++i)
        for (std::size_t j = 0; j < of_b.size(); ++j) {
          const double weight = a.transform[static_cast<std::size_t>(f) * of_a.size() + i] *
                                b.transform[static_cast<std::size_t>(g) * of_b.size() + j];
          if (weight == 0.0) continue;
          const double* from = products.data() + (i * of_b.size() + j) * orders.size();
          for (std::size_t h = 0; h < orders.size(); ++h) e[h] += weight * from[h];
        }
}

/// An upper estimate of sqrt (ij|ij) of all functions.
double primitive_bound(const Primitive& primitive, const std::vector<Orders>& orders) {
  constexpr double two_pi_power = 34.986836655249725;
  double largest = 0.0;
  std::vector<double> size(orders.size());
  for (std::size_t h = 0; h < orders.size(); ++h) {
    const int order = orders[h].t + orders[h].u + orders[h].v;
    double squared = 1.0;
    for (int k = 1; k <= order; ++k) squared *= (2 * k - 1) * primitive.p;
    size[h] = std::sqrt(squared);
  }
  for (std::size_t k = 0; k < primitive.e.size(); k += orders.size()) {
    double sum = 0.0;
    for (std::size_t h = 0; h < orders.size(); ++h) sum += std::abs(primitive.e[k + h]) * size[h];
    largest = std::max(largest, sum);
  }
  return largest * std::sqrt(two_pi_power / (primitive.p * primitive.p * std::sqrt(2.0 * primitive.p)));
}

std::vector<Primitive> make_primitives(const std::vector<GaussianShell>& shells, const ShellFamily& a,
                                       const ShellFamily& b, bool same, std::size_t functions) {
  const GaussianShell &first_a = shells[a.shells[0]], &first_b = shells[b.shells[0]];
  const bool one_center = first_a.center == first_b.center;
  const std::int64_t hermites = n_hermites(a.l + b.l);
  double distance2 = 0.0;
  for (int k = 0; k < 3; ++k)
    distance2 += (first_a.center[k] - first_b.center[k]) * (first_a.center[k] - first_b.center[k]);
  std::vector<Primitive> primitives;
  std::map<double, std::size_t> of_sum;  // on one centre pairs count by the sum of their exponents alone
  for (std::size_t i = 0; i < first_a.exponents.size(); ++i)
    for (std::size_t j = 0; j < first_b.exponents.size(); ++j) {
      const double alpha = first_a.exponents[i], beta = first_b.exponents[j], p = alpha + beta;
      std::size_t number = primitives.size();
      if (one_center) number = of_sum.try_emplace(p, number).first->second;
      if (number == primitives.size()) {
        primitives.push_back({p, 0.0, 0, {}, std::vector<double>(functions * static_cast<std::size_t>(hermites))});
        for (int k = 0; k < 3; ++k)
          primitives.back().center[k] =
              one_center ? first_a.center[k] : (alpha * first_a.center[k] + beta * first_b.center[k]) / p;
      }
      Primitive& primitive = primitives[number];
      const auto expansion = [&](int k) {
        return Expansion(a.l, b.l, p, primitive.center[k] - first_a.center[k], primitive.center[k] - first_b.center[k]);
      };
      const std::array<Expansion, 3> expansions{expansion(0), expansion(1), expansion(2)};
      const double overlap = std::exp(-alpha * beta / p * distance2);
      double* e = primitive.e.data();
      for (std::size_t s = 0; s < a.shells.size(); ++s)
        for (std::size_t t = 0; t < (same ? s + 1 : b.shells.size()); ++t) {
          const GaussianShell &of_a = shells[a.shells[s]], &of_b = shells[b.shells[t]];
          const double factor = overlap * of_a.coefficients[i] * of_b.coefficients[j];
          const bool lower = same && s == t;
          if (factor != 0.0) add_shell_pair(of_a, of_b, factor, expansions, lower, hermites, e);
          e += (lower ? of_a.count * (of_a.count + 1) / 2 : of_a.count * of_b.count) * hermites;
        }
    }
  return primitives;
}

bool is_used(const double* e, std::size_t hermites) {
  return std::any_of(e, e + hermites, [](double x) { return x != 0.0; });
}

std::int64_t used_by(const Primitive& primitive, std::size_t hermites) {
  std::int64_t uses = 0;
  for (std::size_t f = 0; f < primitive.e.size(); f += hermites) uses += is_used(primitive.e.data() + f, hermites);
  return uses;
}

/// Functions in the order of the primitives that they need: in a general contraction some consist of few.
std::vector<std::size_t> by_need(const std::vector<Primitive>& primitives, std::size_t functions, std::size_t hermites,
                                 std::vector<std::int64_t>& limits) {
  std::vector<std::int64_t> need(functions, 0);
  for (std::size_t k = 0; k < primitives.size(); ++k)
    for (std::size_t f = 0; f < functions; ++f) {
      const double* e = primitives[k].e.data() + f * hermites;
      if (is_used(e, hermites)) need[f] = static_cast<std::int64_t>(k) + 1;
    }
  std::vector<std::size_t> order(functions);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return need[a] < need[b]; });
  for (std::size_t f = 0; f < functions; f += column_padding)
    limits.push_back(need[order[std::min<std::size_t>(f + column_padding, functions) - 1]]);
  return order;
}

void set_layouts(HermitePair& pair, const std::vector<Primitive>& primitives, const std::vector<Orders>& orders) {
  const std::size_t hermites = orders.size(), n = primitives.size(), columns = static_cast<std::size_t>(pair.columns);
  const std::vector<std::size_t> order = by_need(primitives, pair.functions.size(), hermites, pair.limits);
  std::vector<HermitePair::Function> functions;
  for (const std::size_t f : order) functions.push_back(pair.functions[f]);
  pair.functions = std::move(functions);
  pair.rows.resize(pair.functions.size() * n * hermites);
  pair.blocks.assign(hermites * n * columns, 0.0);
  for (std::size_t k = 0; k < n; ++k) {
    const Primitive& primitive = primitives[k];
    pair.primitive_bounds.push_back(primitive.bound);
    pair.p.push_back(primitive.p);
    pair.x.push_back(primitive.center[0]);
    pair.y.push_back(primitive.center[1]);
    pair.z.push_back(primitive.center[2]);
    for (std::size_t f = 0; f < pair.functions.size(); ++f)
      for (std::size_t h = 0; h < hermites; ++h) {
        const double e = primitive.e[order[f] * hermites + h];
        pair.rows[(f * n + k) * hermites + h] = e;
        pair.blocks[(h * n + k) * columns + f] = (orders[h].t + orders[h].u + orders[h].v) % 2 ? -e : e;
      }
  }
}

}  // namespace

std::vector<ShellFamily> shell_families(const std::vector<GaussianShell>& shells, std::size_t begin, std::size_t end) {
  std::vector<ShellFamily> families;
  for (std::size_t s = begin; s < end; ++s) {
    const auto like = std::find_if(families.begin(), families.end(), [&](const ShellFamily& f) {
      const GaussianShell& first = shells[f.shells[0]];
      return first.center == shells[s].center && first.exponents == shells[s].exponents;
    });
    ShellFamily& family = like == families.end() ? families.emplace_back() : *like;
    family.l = std::max(family.l, shells[s].l);
    family.shells.push_back(s);
  }
  return families;
}

HermitePair make_hermite_pair(const std::vector<GaussianShell>& shells, const ShellFamily& a, const ShellFamily& b,
                              bool same, double threshold) {
  HermitePair pair;
  pair.l = a.l + b.l;
  for (std::size_t s = 0; s < a.shells.size(); ++s)
    for (std::size_t t = 0; t < (same ? s + 1 : b.shells.size()); ++t) {
      const GaussianShell &of_a = shells[a.shells[s]], &of_b = shells[b.shells[t]];
      for (std::int64_t f = 0; f < of_a.count; ++f)
        for (std::int64_t g = 0; g < (same && s == t ? f + 1 : of_b.count); ++g)
          pair.functions.push_back({of_a.first + f, of_b.first + g, a.shells[s], b.shells[t]});
    }
  pair.columns = (std::ssize(pair.functions) + column_padding - 1) / column_padding * column_padding;
  const std::vector<Orders> orders = hermite_orders(pair.l);
  std::vector<Primitive> primitives = make_primitives(shells, a, b, same, pair.functions.size());
  for (Primitive& p : primitives) p.bound = primitive_bound(p, orders);
  std::erase_if(primitives, [&](const Primitive& p) { return p.bound < threshold; });
  for (Primitive& p : primitives) p.uses = used_by(p, orders.size());
  std::stable_sort(primitives.begin(), primitives.end(), [](const Primitive& x, const Primitive& y) {
    return std::pair{x.uses, x.bound} > std::pair{y.uses, y.bound};
  });
  set_layouts(pair, primitives, orders);
  return pair;
}

std::int64_t HermitePair::primitives_above(double threshold) const {
  std::int64_t n = primitives();
  while (n > 1 && primitive_bounds[static_cast<std::size_t>(n - 1)] < threshold) --n;
  return n;
}

std::vector<HermiteStep> hermite_steps(int l) {
  std::vector<HermiteStep> steps;
  for (const Orders& o : hermite_orders(l)) {
    HermiteStep& step = steps.emplace_back();
    const int order[] = {o.t, o.u, o.v};
    if (o.t + o.u + o.v == 0) continue;
    // A direction of order one needs a single term.
    for (int k = 0; k < 3; ++k)
      if (order[k] > 0 && (order[step.direction] == 0 || order[k] < order[step.direction])) step.direction = k;
    const auto lower = [&](int by) {
      return hermite_number(o.t - (step.direction == 0 ? by : 0), o.u - (step.direction == 1 ? by : 0),
                            o.v - (step.direction == 2 ? by : 0));
    };
    step.first = lower(1);
    if (order[step.direction] < 2) continue;
    step.factor = order[step.direction] - 1;
    step.second = lower(2);
  }
  return steps;
}

std::vector<std::int32_t> hermite_sums(int l) {
  const std::vector<Orders> orders = hermite_orders(l);
  std::vector<std::int32_t> sums;
  for (const Orders& a : orders)
    for (const Orders& b : orders) sums.push_back(hermite_number(a.t + b.t, a.u + b.u, a.v + b.v));
  return sums;
}

}  // namespace sial
