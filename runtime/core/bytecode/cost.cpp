#include "runtime/core/bytecode/cost.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/bytecode/module.h"

namespace sial {

Cost Cost::constant(double value) {
  Cost c;
  if (value != 0.0) c.terms.push_back({value, {}});
  return c;
}

Cost& Cost::operator+=(const Cost& other) {
  std::vector<CostTerm> sum;
  auto a = terms.begin();
  auto b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->factors < b->factors)) {
      sum.push_back(*a++);
    } else if (a == terms.end() || b->factors < a->factors) {
      sum.push_back(*b++);
    } else {
      const double coefficient = a->coefficient + b->coefficient;
      if (coefficient != 0.0) sum.push_back({coefficient, a->factors});
      ++a, ++b;
    }
  }
  terms = std::move(sum);
  return *this;
}

Cost& Cost::operator*=(double factor) {
  if (factor == 0.0) terms.clear();
  for (CostTerm& t : terms) t.coefficient *= factor;
  return *this;
}

Cost operator+(Cost a, const Cost& b) { return a += b; }
Cost operator*(Cost a, double factor) { return a *= factor; }

Cost operator*(const Cost& a, const Cost& b) {
  Cost product;
  for (const CostTerm& x : a.terms)
    for (const CostTerm& y : b.terms) {
      CostTerm t{x.coefficient * y.coefficient, x.factors};
      t.factors.insert(t.factors.end(), y.factors.begin(), y.factors.end());
      std::sort(t.factors.begin(), t.factors.end());
      product += Cost{{std::move(t)}};
    }
  return product;
}

double evaluate(const Cost& cost, std::span<const IndexSize> sizes) {
  double sum = 0.0;
  for (const CostTerm& t : cost.terms) {
    double value = t.coefficient;
    for (const CostFactor& f : t.factors) {
      const IndexSize& size = sizes[f.index.at()];
      value *= f.kind == FactorKind::count ? size.count : size.extent;
    }
    sum += value;
  }
  return sum;
}

std::string cost_text(const Cost& cost, const std::vector<IndexRow>& indices) {
  if (cost.is_zero()) return "0";
  std::string out;
  for (const CostTerm& t : cost.terms) {
    std::string term;
    if (t.coefficient != 1.0 || t.factors.empty()) term = fmt::format("{:g}", t.coefficient);
    for (std::size_t i = 0; i < t.factors.size();) {
      std::size_t last = i;
      while (last < t.factors.size() && t.factors[last] == t.factors[i]) ++last;
      const std::string& name = indices.at(t.factors[i].index.at()).name;
      if (!term.empty()) term += "·";
      term += t.factors[i].kind == FactorKind::count ? "#" + name : "|" + name + "|";
      if (last - i > 1) term += fmt::format("^{}", last - i);
      i = last;
    }
    out += (out.empty() ? "" : " + ") + term;
  }
  return out;
}

}  // namespace sial
