#include "runtime/core/kernels/contraction/contraction_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sial::kernels {
namespace {

// Estimates that differ by less are taken for equal: a choice between them is a matter of chance.
constexpr double resolution = 0.02;
// Weights beside the mean logarithm of the regret: of the mean error of an estimate, and of the squared logarithm of a
// constant's change.
constexpr double error_weight = 0.01, change_weight = 0.002;
// Constants are changed by these factors, and by no more than the last one in all.
constexpr std::array steps{2.0, 1.4, 1.15, 1.05};
constexpr double max_change = 8.0;
constexpr int max_sweeps = 12;

class Fit {
 public:
  Fit(std::span<const MeasuredContraction> measured, const ContractionTarget& target, const ContractionCosts& from)
      : measured_(measured), target_(target), from_(from), costs_(from) {}

  ContractionCosts run() {
    double best = loss(costs_);
    for (const double step : steps)
      for (int sweep = 0; sweep < max_sweeps; ++sweep) {
        const double before = best;
        for (const CostField& field : cost_fields())
          if (field.kind == CostKind::fitted)
            for (const double factor : {step, 1 / step}) best = improve(field, factor, best);
        if (best > before - 1e-6) break;
      }
    return costs_;
  }

 private:
  /// Changes the field as often as that helps.
  double improve(const CostField& field, double factor, double best) {
    for (;;) {
      ContractionCosts changed = costs_;
      double& value = changed.*field.value;
      value *= factor;
      const double change = value / (from_.*field.value);
      if (change > max_change || change < 1 / max_change || !plausible(changed)) return best;
      const double result = loss(changed);
      if (!(result < best)) return best;
      costs_ = changed;
      best = result;
    }
  }

  double loss(const ContractionCosts& costs) const {
    double regret = 0;
    std::vector<double> ratios, weights, cycles;
    for (const MeasuredContraction& contraction : measured_) {
      double fastest = 1e300, cheapest = 1e300;
      cycles.clear();
      for (const auto& strategy : contraction.strategies) {
        cycles.push_back(estimated_cycles(strategy.plan, target_, costs));
        fastest = std::min(fastest, strategy.seconds);
        cheapest = std::min(cheapest, cycles.back());
      }
      double sum = 0, share = 0;
      for (std::size_t i = 0; i < cycles.size(); ++i) {
        const double slower = contraction.strategies[i].seconds / fastest,
                     chosen = std::pow(cycles[i] / cheapest, -1 / resolution);
        sum += chosen * std::log(slower);
        share += chosen;
        ratios.push_back(std::log(cycles[i] / contraction.strategies[i].seconds));
        weights.push_back(1 / (slower * slower));
      }
      regret += sum / share;
    }
    double change = 0;
    for (const CostField& field : cost_fields())
      change += std::pow(std::log(costs.*field.value / (from_.*field.value)), 2);
    return regret / static_cast<double>(measured_.size()) + error_weight * mean_error(ratios, weights) +
           change_weight * change;
  }

  /// The error of estimates against times, by a clock of whatever rate suits most of them.
  static double mean_error(const std::vector<double>& ratios, const std::vector<double>& weights) {
    std::vector<double> ordered = ratios;
    const auto middle = ordered.begin() + static_cast<std::ptrdiff_t>(ordered.size() / 2);
    std::nth_element(ordered.begin(), middle, ordered.end());
    double sum = 0, weight = 0;
    for (std::size_t i = 0; i < ratios.size(); ++i)
      sum += weights[i] * std::abs(ratios[i] - *middle), weight += weights[i];
    return sum / weight;
  }

  const std::span<const MeasuredContraction> measured_;
  const ContractionTarget& target_;
  const ContractionCosts from_;
  ContractionCosts costs_;
};

}  // namespace

Regret regret_of(std::span<const MeasuredContraction> measured, const ContractionTarget& target,
                 const ContractionCosts& costs) {
  Regret regret;
  double logs = 0;
  for (const MeasuredContraction& contraction : measured) {
    double fastest = 1e300, chosen = 0, cheapest = 1e300;
    for (const auto& strategy : contraction.strategies) {
      fastest = std::min(fastest, strategy.seconds);
      if (const double cycles = estimated_cycles(strategy.plan, target, costs); cycles < cheapest)
        cheapest = cycles, chosen = strategy.seconds;
    }
    logs += std::log(chosen / fastest);
    regret.worst = std::max(regret.worst, chosen / fastest);
  }
  if (!measured.empty()) regret.mean = std::exp(logs / static_cast<double>(measured.size()));
  return regret;
}

ContractionCosts fit_costs(std::span<const MeasuredContraction> measured, const ContractionTarget& target,
                           const ContractionCosts& from) {
  if (measured.empty()) return from;
  const ContractionCosts fitted = Fit(measured, target, from).run();
  return regret_of(measured, target, fitted).mean < regret_of(measured, target, from).mean ? fitted : from;
}

}  // namespace sial::kernels
