// Quartets of integrals: what they add to Fock matrices, and those that are kept.
#include <catch2/catch.hpp>

#include <array>
#include <random>
#include <set>
#include <vector>

#include "context.h"
#include "data.h"
#include "runtime/chemistry/integrals/fock_quartet.h"
#include "runtime/chemistry/molecule/chemistry.h"

using namespace sial;

namespace {

constexpr std::int64_t n = 11;
const std::vector<FunctionRange> segments{{0, 3}, {3, 1}, {4, 5}, {9, 2}};

std::vector<double> random_matrix(std::mt19937& random, bool symmetric) {
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> m(n * n);
  for (double& x : m) x = value(random);
  if (symmetric)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < j; ++i)
        m[static_cast<std::size_t>(j + i * n)] = m[static_cast<std::size_t>(i + j * n)];
  return m;
}

}  // namespace

TEST_CASE("a quartet of segments adds its integrals to the Fock matrices in every arrangement once") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> value(-1, 1);
  // (pq|rs) with all its symmetries.
  std::vector<double> v(n * n * n * n);
  const auto at = [](std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t s) {
    return static_cast<std::size_t>(p + n * (q + n * (r + n * s)));
  };
  for (std::int64_t p = 0; p < n; ++p)
    for (std::int64_t q = 0; q <= p; ++q)
      for (std::int64_t r = 0; r <= p; ++r)
        for (std::int64_t s = 0; s <= r; ++s) {
          const double x = value(random);
          for (const auto& [a, b, c, d] : {std::array{p, q, r, s},
                                           {q, p, r, s},
                                           {p, q, s, r},
                                           {q, p, s, r},
                                           {r, s, p, q},
                                           {s, r, p, q},
                                           {r, s, q, p},
                                           {s, r, q, p}})
            v[at(a, b, c, d)] = x;
        }
  for (const bool symmetric : {true, false})
    for (const bool one_density : {true, false}) {
      std::vector<double> da = random_matrix(random, symmetric), other = random_matrix(random, symmetric);
      std::vector<double>& db = one_density ? da : other;
      std::vector<double> fa(n * n, 0.5), fb(n * n, -0.25), wanted_a = fa, wanted_b = fb;
      const auto matrix = [](std::vector<double>& m) { return FockMatrix{m.data(), {0, n}, {0, n}}; };
      std::size_t quartets = 0;
      for (std::size_t p = 0; p < segments.size(); ++p)
        for (std::size_t q = p; q < segments.size(); ++q)
          for (std::size_t r = p; r < segments.size(); ++r)
            for (std::size_t s = r; s < segments.size(); ++s) {
              if (p == r && q > s) continue;
              ++quartets;
              const std::array<FunctionRange, 4> ranges{segments[p], segments[q], segments[r], segments[s]};
              std::vector<double> x;
              for (std::int64_t l = 0; l < ranges[3].count; ++l)
                for (std::int64_t k = 0; k < ranges[2].count; ++k)
                  for (std::int64_t j = 0; j < ranges[1].count; ++j)
                    for (std::int64_t i = 0; i < ranges[0].count; ++i)
                      x.push_back(
                          v[at(ranges[0].first + i, ranges[1].first + j, ranges[2].first + k, ranges[3].first + l)]);
              add_to_fock(x.data(), ranges, matrix(da), matrix(db), matrix(fa), matrix(fb));
            }
      CHECK(quartets == 55);
      // The sums over all functions, however the quartets are divided.
      for (std::int64_t p = 0; p < n; ++p)
        for (std::int64_t q = 0; q < n; ++q)
          for (std::int64_t r = 0; r < n; ++r)
            for (std::int64_t s = 0; s < n; ++s) {
              const auto pq = static_cast<std::size_t>(p + q * n), rs = static_cast<std::size_t>(r + s * n),
                         pr = static_cast<std::size_t>(p + r * n), qs = static_cast<std::size_t>(q + s * n);
              const double x = v[at(p, q, r, s)];
              wanted_a[pq] += x * (da[rs] + db[rs]);
              wanted_b[pq] += x * (da[rs] + db[rs]);
              wanted_a[pr] -= x * da[qs];
              wanted_b[pr] -= x * db[qs];
            }
      double largest = 0;
      for (std::size_t i = 0; i < fa.size(); ++i)
        largest = std::max({largest, std::abs(fa[i] - wanted_a[i]), std::abs(fb[i] - wanted_b[i])});
      CAPTURE(symmetric, one_density);
      CHECK(largest < 1e-12);
    }
}

TEST_CASE("integrals that are kept are those computed, in every order of the indices and to the last bit") {
  FakeContext computed, keeping;
  const std::vector<Atom> atoms{{8, "O", {0, 0, 0.2}}, {1, "H", {0, 1.4, -0.9}}};
  const std::vector<Shell> shells{{0, 0, false, {8.0, 1.5}, {0.6, 0.5}, 1},
                                  {0, 1, false, {1.2}, {1.0}, 1},
                                  {0, 2, true, {0.9}, {1.0}, 1},
                                  {1, 0, false, {0.7}, {1.0}, 1},
                                  {1, 1, false, {0.8}, {1.0}, 1}};
  for (FakeContext* c : {&computed, &keeping}) {
    chemistry(c->data).has_molecule = true;
    chemistry(c->data).molecule.atoms = atoms;
    chemistry(c->data).molecule.shells = shells;
    c->data.segments[IndexKind::ao] = {4, 5, 4};
  }
  keeping.keeps = true;
  const std::vector<FunctionRange> ao{{0, 4}, {4, 5}, {9, 4}};
  int blocks = 0;
  for (int p = 0; p < 3; ++p)
    for (int q = 0; q < 3; ++q)
      for (int r = 0; r < 3; ++r)
        for (int s = 0; s < 3; ++s, ++blocks) {
          const std::array<int, 4> which{p, q, r, s};
          std::vector<std::int64_t> extents;
          for (const int w : which) extents.push_back(ao[static_cast<std::size_t>(w)].count);
          Array x(extents, {}, IndexKind::ao), y(extents, {}, IndexKind::ao);
          for (int d = 0; d < 4; ++d) {
            x.at(d, which[static_cast<std::size_t>(d)] + 1,
                 ao[static_cast<std::size_t>(which[static_cast<std::size_t>(d)])].first);
            y.at(d, which[static_cast<std::size_t>(d)] + 1,
                 ao[static_cast<std::size_t>(which[static_cast<std::size_t>(d)])].first);
          }
          execute(computed, "compute_integral_batch", {x});
          execute(keeping, "compute_integral_batch", {y});
          CAPTURE(p, q, r, s);
          CHECK(x.data == y.data);
        }
  CHECK(blocks == 81);
  CHECK(keeping.kept.size() == 21);  // pairs of 6 pairs
  CHECK(keeping.found == 60);
  CHECK(keeping.references == 0);
  CHECK(computed.kept.empty());

  // Parts of segments, which have numbers of their own, are not kept.
  Array part({4, 4, 4, 2}, {}, IndexKind::ao);
  part.at(0, 1, 0).at(1, 1, 0).at(2, 1, 0).at(3, 1, 0);
  part.arg.shape.extent[3] = 1;
  part.data.resize(64);
  execute(keeping, "compute_integral_batch", {part});
  CHECK(keeping.kept.size() == 21);

  // Fock matrices of kept integrals, of a block in another order than the kept one.
  const auto fock = [](FakeContext& c) {
    Array x({5, 4, 4, 5}, {}, IndexKind::ao), d({13, 13}, {}, IndexKind::ao), fa = d, fb = d;
    x.at(0, 2, 4).at(1, 1, 0).at(2, 3, 9).at(3, 2, 4);
    for (std::size_t i = 0; i < 13; ++i)
      for (std::size_t j = 0; j < 13; ++j) d.data[i + 13 * j] = 1.0 / static_cast<double>(1 + i + j);
    for (Array* m : {&d, &fa, &fb}) m->whole();
    execute(c, "compute_ubatch1", {x, d, d, fa, fb});
    return std::pair{fa.data, x.data};
  };
  const auto plain = fock(computed), kept = fock(keeping);
  CHECK(plain == kept);
  CHECK(plain.second == std::vector<double>(400, 0.0));
  CHECK(keeping.references == 0);
}
