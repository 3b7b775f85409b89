// Integrals that a job gives over its orbitals, in place of those over basis functions.

#include <utility>

#include <fmt/format.h>

#include "runtime/chemistry/integrals/integrals.h"
#include "runtime/chemistry/molecule/hamiltonian.h"
#include "runtime/core/base/error.h"

namespace sial {
namespace {

class HamiltonianIntegrals : public AoIntegrals {
 public:
  explicit HamiltonianIntegrals(std::shared_ptr<const InputHamiltonian> hamiltonian)
      : hamiltonian_(std::move(hamiltonian)) {}

  void overlap(FunctionRange mu, FunctionRange nu, double* out) override {
    fill(mu, nu, out, [](std::size_t p, std::size_t q) { return p == q ? 1.0 : 0.0; });
  }

  void core_hamiltonian(FunctionRange mu, FunctionRange nu, double* out) override {
    fill(mu, nu, out, [&](std::size_t p, std::size_t q) { return hamiltonian_->one[InputHamiltonian::pair(p, q)]; });
  }

  void dipole(int, FunctionRange, FunctionRange, double*) override {
    throw SialError(fmt::format("orbitals from `{}` have no dipole integrals", hamiltonian_->file),
                    "give the job a [molecule], or leave this out where the predefined int `natoms` is 0");
  }

  void repulsion(const std::array<FunctionRange, 4>& ranges, double* out, std::span<const FockMatrix>) override {
    for (const FunctionRange& range : ranges) check(range);
    const auto end = [&](std::size_t d) { return static_cast<std::size_t>(ranges[d].first + ranges[d].count); };
    const auto first = [&](std::size_t d) { return static_cast<std::size_t>(ranges[d].first); };
    for (std::size_t s = first(3); s < end(3); ++s)
      for (std::size_t r = first(2); r < end(2); ++r)
        for (std::size_t q = first(1); q < end(1); ++q)
          for (std::size_t p = first(0); p < end(0); ++p) *out++ = hamiltonian_->repulsion(p, q, r, s);
    ++counts_.computed;
  }

  QuartetCounts quartets() const override { return counts_; }

 private:
  void check(FunctionRange range) const {
    if (range.first < 0 || range.first + range.count > hamiltonian_->orbitals)
      throw SialError(fmt::format("functions {} to {} are not all among the {} orbitals of `{}`", range.first + 1,
                                  range.first + range.count, hamiltonian_->orbitals, hamiltonian_->file),
                      "aoindex ranges run to `norb`");
  }

  template <class Value>
  void fill(FunctionRange mu, FunctionRange nu, double* out, Value value) const {
    check(mu);
    check(nu);
    for (std::int64_t q = nu.first; q < nu.first + nu.count; ++q)
      for (std::int64_t p = mu.first; p < mu.first + mu.count; ++p)
        *out++ = value(static_cast<std::size_t>(p), static_cast<std::size_t>(q));
  }

  std::shared_ptr<const InputHamiltonian> hamiltonian_;
  QuartetCounts counts_;
};

}  // namespace

std::unique_ptr<AoIntegrals> make_hamiltonian_integrals(std::shared_ptr<const InputHamiltonian> hamiltonian) {
  return std::make_unique<HamiltonianIntegrals>(std::move(hamiltonian));
}

}  // namespace sial
