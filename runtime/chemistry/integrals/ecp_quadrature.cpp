// EcpIntegrals by quadrature. With everything seen from the potential's centre, a Gaussian at A is on the sphere of
// radius r a polynomial times exp(-a (r - |A|)^2) exp(2 a r |A| (cos t - 1)), t the angle from A. In polar coordinates
// about that axis the azimuth is integrated exactly by as many equidistant points as the degree wants, cos t by
// Gauss-Legendre points where the exponential lives, and r by Gauss-Legendre points where the product of both functions
// and one term of the potential lives:
//
//   local part    sum over terms of  integral r^n exp(-z r^2) [integral over angles of a b] dr, about the axis of the
//                 product of a and b
//   projectors    sum over terms of  integral r^n exp(-z r^2) sum over m of <a|S_lm>(r) <S_lm|b>(r) dr
//
// (semi-local potentials: L. E. McMurchie, E. R. Davidson, J. Comput. Phys. 44, 289 (1981).) Every factor is smooth on
// its interval, so that integrals come out to about 1e-13; Debian's libecpint 1.0.7 is off by up to 4e-7 for functions
// away from the centre.

#include "runtime/chemistry/integrals/ecp_integrals.h"
#include "runtime/chemistry/molecule/chemistry.h"

#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "runtime/chemistry/integrals/double_factorial.h"
#include "runtime/core/base/error.h"

namespace sial {
namespace {

/// A polynomial in x, y, z: coefficient by powers.
using Polynomial = std::map<std::array<int, 3>, double>;

Polynomial product(const Polynomial& a, const Polynomial& b) {
  Polynomial c;
  for (auto& [p, x] : a)
    for (auto& [q, y] : b) c[{p[0] + q[0], p[1] + q[1], p[2] + q[2]}] += x * y;
  return c;
}

Polynomial sum(double x, const Polynomial& a, double y, const Polynomial& b) {
  Polynomial c;
  for (auto& [p, v] : a) c[p] += x * v;
  for (auto& [p, v] : b) c[p] += y * v;
  return c;
}

/// Real solid harmonic, not normalised: the associated Legendre recursion in z and r^2 times Re or Im of (x + iy)^|m|.
Polynomial solid_harmonic(int l, int m) {
  const Polynomial z{{{0, 0, 1}, 1.0}}, r2{{{2, 0, 0}, 1.0}, {{0, 2, 0}, 1.0}, {{0, 0, 2}, 1.0}}, x{{{1, 0, 0}, 1.0}},
      y{{{0, 1, 0}, 1.0}};
  const int n = std::abs(m);
  Polynomial re{{{0, 0, 0}, 1.0}}, im;
  for (int k = 0; k < n; ++k) {
    Polynomial next = sum(1.0, product(x, re), -1.0, product(y, im));
    im = sum(1.0, product(x, im), 1.0, product(y, re));
    re = std::move(next);
  }
  Polynomial before, legendre{{{0, 0, 0}, 1.0}};
  for (int k = n + 1; k <= l; ++k) {
    Polynomial next = sum((2.0 * k - 1) / (k - n), product(z, legendre), -(k + n - 1.0) / (k - n), product(r2, before));
    before = std::move(legendre);
    legendre = std::move(next);
  }
  return product(legendre, m < 0 ? im : re);
}

/// Rows: our functions of a shell; columns: Cartesian monomials (x power falling, then y), each with the norm of x^l.
std::vector<std::vector<double>> transformation(int l, bool pure) {
  std::vector<std::array<int, 3>> powers;
  for (int x = l; x >= 0; --x)
    for (int y = l - x; y >= 0; --y) powers.push_back({x, y, l - x - y});
  std::vector<Polynomial> functions;
  if (pure)
    for (int m = l; m >= -l; --m) functions.push_back(solid_harmonic(l, m));
  else
    for (auto& p : powers) functions.push_back({{p, 1.0}});
  std::vector<std::vector<double>> rows;
  for (const Polynomial& f : functions) {
    // Overlap of monomials a, b with a Gaussian: (a+b-1)!! in each direction where a+b is even.
    double norm = 0.0;
    for (auto& [p, u] : f)
      for (auto& [q, v] : f) {
        double overlap = 1.0 / double_factorial(2 * l - 1);
        for (int d = 0; d < 3; ++d) overlap *= (p[d] + q[d]) % 2 ? 0.0 : double_factorial(p[d] + q[d] - 1);
        norm += u * v * overlap;
      }
    std::vector<double>& row = rows.emplace_back();
    for (auto& p : powers) {
      auto it = f.find(p);
      row.push_back(it == f.end() ? 0.0 : it->second / std::sqrt(norm));
    }
  }
  return rows;
}

using Vector = std::array<double, 3>;

double length(const Vector& v) { return std::hypot(v[0], v[1], v[2]); }

/// Gauss-Legendre points and weights on [-1, 1].
struct Legendre {
  explicit Legendre(int n) : x(n), w(n) {
    for (int i = 0; i < n; ++i) {
      double t = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5)), slope = 0.0;
      for (int round = 0; round < 100; ++round) {
        double p = 1.0, before = 0.0;
        for (int k = 1; k <= n; ++k) {
          double next = ((2 * k - 1) * t * p - (k - 1) * before) / k;
          before = p;
          p = next;
        }
        slope = n * (t * p - before) / (t * t - 1);
        double step = p / slope;
        t -= step;
        if (std::abs(step) < 1e-16) break;
      }
      x[i] = t;
      w[i] = 2 / ((1 - t * t) * slope * slope);
    }
  }
  std::vector<double> x, w;
};

/// Calls body(unit vector, weight) for points on the unit sphere that integrate exp(kappa (cos t - 1)) times a
/// polynomial of the given degree, t the angle from `axis`; the exponential is part of the weight.
template <class Body>
void over_sphere(const Vector& axis, double kappa, int degree, Body body) {
  static const Legendre few(12), some(18), many(30);
  // Cosines and sines of 0, 2 pi / n, ... for every n.
  static const auto circles = [] {
    std::vector<std::vector<std::array<double, 2>>> all(16);
    for (int n = 1; n < 16; ++n)
      for (int j = 0; j < n; ++j)
        all[n].push_back({std::cos(2.0 * std::numbers::pi * j / n), std::sin(2.0 * std::numbers::pi * j / n)});
    return all;
  }();
  const Legendre& points = kappa < 1.0 ? few : kappa < 6.0 ? some : many;
  Vector z = axis;
  double size = length(z);
  if (size == 0.0) z = {0, 0, 1}, size = 1.0;
  for (double& e : z) e /= size;
  Vector x = std::abs(z[0]) < 0.6 ? Vector{1, 0, 0} : Vector{0, 1, 0};
  const double along = x[0] * z[0] + x[1] * z[1] + x[2] * z[2];
  for (int d = 0; d < 3; ++d) x[d] -= along * z[d];
  const double norm = length(x);
  for (double& e : x) e /= norm;
  const Vector y{z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]};
  const double lowest = kappa > 20.0 ? 1.0 - 40.0 / kappa : -1.0, half = 0.5 * (1.0 - lowest);
  const int n_phi = degree + 1;
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    const double c = 1.0 - half * (1.0 - points.x[i]), s = std::sqrt(std::max(0.0, 1.0 - c * c));
    const double weight = points.w[i] * half * std::exp(kappa * (c - 1.0)) * 2.0 * std::numbers::pi / n_phi;
    for (const auto& [cos_phi, sin_phi] : circles[n_phi]) {
      const double sx = s * cos_phi, sy = s * sin_phi;
      body(Vector{c * z[0] + sx * x[0] + sy * y[0], c * z[1] + sx * x[1] + sy * y[1], c * z[2] + sx * x[2] + sy * y[2]},
           weight);
    }
  }
}

/// One term of a polynomial.
struct Term {
  std::array<int, 3> powers;
  double coefficient;
};

/// Real spherical harmonics of one l, as polynomials normalised on the unit sphere.
std::vector<std::vector<Term>> sphere_harmonics(int l) {
  std::vector<std::vector<Term>> all;
  for (int m = -l; m <= l; ++m) {
    Polynomial p = solid_harmonic(l, m);
    double norm = 0.0;
    for (auto& [a, u] : p)
      for (auto& [b, v] : p) {
        double integral = 4 * std::numbers::pi / double_factorial(2 * l + 1);
        for (int d = 0; d < 3; ++d) integral *= (a[d] + b[d]) % 2 ? 0.0 : double_factorial(a[d] + b[d] - 1);
        norm += u * v * integral;
      }
    std::vector<Term>& terms = all.emplace_back();
    for (auto& [a, u] : p) terms.push_back({a, u / std::sqrt(norm)});
  }
  return all;
}

/// One contraction; coefficients multiply x^i y^j z^k exp(-a r^2) and carry the norm of x^l.
struct Piece {
  Vector centre;
  int l = 0;
  std::vector<double> exponents, coefficients;
  const std::vector<std::vector<double>>* rows = nullptr;  // our functions over Cartesian monomials
};

int cartesians(int l) { return (l + 1) * (l + 2) / 2; }

/// Monomials of (v - centre) in our order.
void monomials(int l, const Vector& v, const Vector& centre, double* out) {
  std::array<std::array<double, 16>, 3> power;
  for (int d = 0; d < 3; ++d) {
    power[d][0] = 1.0;
    for (int k = 1; k <= l; ++k) power[d][k] = power[d][k - 1] * (v[d] - centre[d]);
  }
  for (int x = l; x >= 0; --x)
    for (int y = l - x; y >= 0; --y) *out++ = power[0][x] * power[1][y] * power[2][l - x - y];
}

class QuadratureEcp : public EcpIntegrals {
 public:
  QuadratureEcp(const Molecule& molecule, const std::vector<Ecp>& ecps) : ecps_(ecps) {
    for (const Shell& s : molecule.shells) {
      if (s.l > max_l)
        throw SialError(fmt::format(
            "the basis has functions of angular momentum {}; integrals over effective core potentials go up to {}", s.l,
            max_l));
      const std::size_t n = s.exponents.size();
      const bool pure = s.pure && s.l >= 2;
      for (int c = 0; c < s.n_contractions; ++c) {
        Piece& piece = pieces_.emplace_back();
        piece.centre = molecule.atoms.at(s.atom).position;
        piece.l = s.l;
        for (std::size_t p = 0; p < n; ++p) {
          const double a = s.exponents[p], norm = std::pow(2 * a / std::numbers::pi, 0.75) *
                                                  std::pow(4 * a, 0.5 * s.l) / std::sqrt(double_factorial(2 * s.l - 1));
          if (s.coefficients[c * n + p] == 0.0) continue;
          piece.exponents.push_back(a);
          piece.coefficients.push_back(s.coefficients[c * n + p] * norm);
        }
        auto [it, is_new] = transformations_.try_emplace({s.l, pure});
        if (is_new) it->second = transformation(s.l, pure);
        piece.rows = &it->second;
        groups_.add(std::ssize(it->second));
      }
    }
    for (const Ecp& e : ecps_) {
      centres_.push_back(molecule.atoms.at(e.atom).position);
      for (const EcpTerm& t : e.terms) {
        if (t.l > max_l)
          throw SialError(fmt::format(
              "an effective core potential has a projector of angular momentum {}; integrals go up to {}", t.l, max_l));
        while (std::ssize(harmonics_) <= t.l)
          harmonics_.push_back(sphere_harmonics(static_cast<int>(harmonics_.size())));
      }
    }
  }

  void matrix(FunctionRange mu, FunctionRange nu, double* out) override {
    const auto rows = groups_.range(mu), columns = groups_.range(nu);
    const bool symmetric = mu == nu;
    double* column = out;
    for (std::size_t j = columns.begin; j < columns.end; ++j) {
      double* at = column;
      for (std::size_t i = rows.begin; i < rows.end; ++i) {
        if (!symmetric || i >= j) pair(pieces_[i], pieces_[j], at, mu.count);
        at += pieces_[i].rows->size();
      }
      column += pieces_[j].rows->size() * mu.count;
    }
    if (symmetric)
      for (std::int64_t j = 0; j < nu.count; ++j)
        for (std::int64_t i = 0; i < j; ++i) out[i + j * mu.count] = out[j + i * mu.count];
  }

 private:
  static constexpr int max_l = 7;
  static constexpr double negligible = 1e-19;  // size of a term at its largest

  void pair(const Piece& p, const Piece& q, double* out, std::int64_t stride) {
    const int np = cartesians(p.l), nq = cartesians(q.l);
    values_.assign(np * nq, 0.0);
    for (std::size_t e = 0; e < ecps_.size(); ++e) {
      Vector a = p.centre, b = q.centre;
      for (int d = 0; d < 3; ++d) a[d] -= centres_[e][d], b[d] -= centres_[e][d];
      for (std::size_t i = 0; i < p.exponents.size(); ++i)
        for (std::size_t j = 0; j < q.exponents.size(); ++j)
          for (const EcpTerm& t : ecps_[e].terms) {
            const double factor = p.coefficients[i] * q.coefficients[j] * t.coefficient;
            if (t.l < 0) local(t, factor, p.l, p.exponents[i], a, q.l, q.exponents[j], b);
            else projector(t, factor, p.l, p.exponents[i], a, q.l, q.exponents[j], b);
          }
    }
    const auto &left = *p.rows, &right = *q.rows;
    for (std::size_t y = 0; y < right.size(); ++y)
      for (std::size_t x = 0; x < left.size(); ++x) {
        double sum = 0.0;
        for (int v = 0; v < nq; ++v)
          for (int u = 0; u < np; ++u) sum += left[x][u] * right[y][v] * values_[u + np * v];
        out[x + y * stride] = sum;
      }
  }

  /// Calls body(r, weight) for the radial integral of factor r^n exp(-s (r - centre)^2 + height), unless it is
  /// negligible.
  template <class Body>
  void over_radius(const EcpTerm& t, double factor, double s, double centre, double height, Body body) const {
    if (std::abs(factor) * std::exp(height) < negligible) return;
    const double width = 6.6 / std::sqrt(s), low = std::max(0.0, centre - width), half = 0.5 * (centre + width - low);
    for (std::size_t k = 0; k < radial_.x.size(); ++k) {
      const double r = low + half * (1.0 + radial_.x[k]), away = r - centre;
      body(r, radial_.w[k] * half * factor * std::pow(r, t.power) * std::exp(height - s * away * away));
    }
  }

  void local(const EcpTerm& t, double factor, int la, double alpha, const Vector& a, int lb, double beta,
             const Vector& b) {
    Vector axis;
    for (int d = 0; d < 3; ++d) axis[d] = alpha * a[d] + beta * b[d];
    const double k = length(axis), s = alpha + beta + t.exponent, ra = length(a), rb = length(b);
    const int na = cartesians(la), nb = cartesians(lb);
    over_radius(t, factor, s, k / s, k * k / s - alpha * ra * ra - beta * rb * rb, [&](double r, double weight) {
      over_sphere(axis, 2 * k * r, la + lb, [&](const Vector& direction, double w) {
        const Vector at{r * direction[0], r * direction[1], r * direction[2]};
        std::array<double, 36> x, y;
        monomials(la, at, a, x.data());
        monomials(lb, at, b, y.data());
        for (int v = 0; v < nb; ++v)
          for (int u = 0; u < na; ++u) values_[u + na * v] += weight * w * y[v] * x[u];
      });
    });
  }

  void projector(const EcpTerm& t, double factor, int la, double alpha, const Vector& a, int lb, double beta,
                 const Vector& b) {
    const double s = alpha + beta + t.exponent, ra = length(a), rb = length(b), k = alpha * ra + beta * rb;
    const int na = cartesians(la), nb = cartesians(lb), nm = 2 * t.l + 1;
    over_radius(t, factor, s, k / s, k * k / s - alpha * ra * ra - beta * rb * rb, [&](double r, double weight) {
      project(t.l, la, alpha, a, ra, r, left_);
      project(t.l, lb, beta, b, rb, r, right_);
      for (int v = 0; v < nb; ++v)
        for (int u = 0; u < na; ++u) {
          double sum = 0.0;
          for (int m = 0; m < nm; ++m) sum += left_[u * nm + m] * right_[v * nm + m];
          values_[u + na * v] += weight * sum;
        }
    });
  }

  /// out[function, m] := integral over the sphere of radius r of monomial times exp(2 a r |A| (cos t - 1)) times S_lm
  void project(int l, int la, double alpha, const Vector& a, double ra, double r, std::vector<double>& out) {
    const int na = cartesians(la), nm = 2 * l + 1;
    out.assign(na * nm, 0.0);
    over_sphere(a, 2 * alpha * ra * r, la + l, [&](const Vector& direction, double w) {
      std::array<double, 36> x;
      std::array<double, 2 * max_l + 1> harmonic;
      monomials(la, {r * direction[0], r * direction[1], r * direction[2]}, a, x.data());
      std::array<std::array<double, max_l + 1>, 3> power;
      for (int d = 0; d < 3; ++d) {
        power[d][0] = 1.0;
        for (int n = 1; n <= l; ++n) power[d][n] = power[d][n - 1] * direction[d];
      }
      for (int m = 0; m < nm; ++m) {
        harmonic[m] = 0.0;
        for (auto& [n, c] : harmonics_[l][m]) harmonic[m] += c * power[0][n[0]] * power[1][n[1]] * power[2][n[2]];
      }
      for (int u = 0; u < na; ++u)
        for (int m = 0; m < nm; ++m) out[u * nm + m] += w * x[u] * harmonic[m];
    });
  }

  std::vector<Ecp> ecps_;
  std::vector<Vector> centres_;
  std::vector<Piece> pieces_;
  std::map<std::pair<int, bool>, std::vector<std::vector<double>>> transformations_;
  FunctionGroups groups_;                                  // the pieces
  std::vector<std::vector<std::vector<Term>>> harmonics_;  // by l and m
  const Legendre radial_{48};
  std::vector<double> values_, left_, right_;  // scratch
};

}  // namespace

std::unique_ptr<EcpIntegrals> make_ecp_integrals(const Molecule& molecule, const std::vector<Ecp>& ecps) {
  return std::make_unique<QuadratureEcp>(molecule, ecps);
}

}  // namespace sial
