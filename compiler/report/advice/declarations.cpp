#include "compiler/report/advice/declarations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "compiler/report/advice/block_statements.h"

namespace sial::report {
namespace {

/// A change of order has to save this part of all block operations' time by the model; each array in it half of that,
/// so that nobody edits twenty references for nothing.
constexpr double min_part = 0.005, min_part_of_one = 0.0025;
constexpr double min_step = 0.0005;  // of the search
constexpr int max_rounds = 6;

using Orders = std::vector<Order>;  // by class

double total_cost(const std::vector<BlockStatement>& statements, const Orders& orders, const OrderCosts& costs) {
  double sum = 0;
  for (const BlockStatement& s : statements) sum += cost_of(s, orders, costs);
  return sum;
}

bool uses(const BlockStatement& s, std::size_t c) {
  return std::any_of(s.operands.begin(), s.operands.end(),
                     [&](const StatementOperand& o) { return o.array_class == static_cast<int>(c); });
}

/// Descends from the orders as they are, class by class, to where no class alone can improve.
class Search {
 public:
  Search(const std::vector<BlockStatement>& statements, const ArrayClasses& classes, const OrderCosts& costs)
      : classes_(classes), costs_(costs), of_class_(classes.all.size()) {
    for (const BlockStatement& s : statements)
      for (std::size_t c = 0; c < of_class_.size(); ++c)
        if (uses(s, c)) of_class_[c].push_back(&s);
  }

  /// `least`: seconds below which a class stays.
  Orders run(double least, const std::set<std::size_t>& fixed) {
    Orders orders;
    for (const ArrayClass& c : classes_.all) orders.push_back(identity(c.rank));
    for (int round = 0; round < max_rounds; ++round) {
      bool changed = false;
      for (std::size_t c = 0; c < orders.size(); ++c)
        if (!of_class_[c].empty() && !fixed.contains(c)) changed |= improve(c, orders, least);
      if (!changed) break;
    }
    return orders;
  }

 private:
  double cost(std::size_t c, const Orders& orders) const {
    double sum = 0;
    for (const BlockStatement* s : of_class_[c]) sum += cost_of(*s, orders, costs_);
    return sum;
  }

  bool improve(std::size_t c, Orders& orders, double least) const {
    const Order before = orders[c];
    Order best = before;
    double lowest = cost(c, orders) - least;
    if (lowest <= 0) return false;
    for (Order order = identity(before.size());;) {
      orders[c] = order;
      if (const double now = cost(c, orders); now < lowest) lowest = now, best = order;
      if (!std::next_permutation(order.begin(), order.end())) break;
    }
    orders[c] = best;
    return best != before;
  }

  const ArrayClasses& classes_;
  const OrderCosts& costs_;
  std::vector<std::vector<const BlockStatement*>> of_class_;
};

class Judge {
 public:
  Judge(const Job& job, const OrderCosts& costs, const Recompile& recompile)
      : job_(job), costs_(costs), recompile_(recompile), classes_(job) {
    for (const ArrayClass& c : classes_.all) as_declared_.push_back(identity(c.rank));
    before_ = block_statements(job, modules_of(job), classes_);
    cost_before_ = total_cost(before_, as_declared_, costs);
  }

  std::vector<DeclarationAdvice> run() {
    std::vector<DeclarationAdvice> result;
    if (cost_before_ <= 0) return result;
    const Orders found = without_small_ones(choose_orders());
    for (std::vector<std::size_t>& package : packages(found)) {
      const std::optional<Orders> kept = without_idle(found, std::move(package));
      if (!kept) continue;
      DeclarationAdvice advice = describe(*kept);
      if (advice.seconds >= min_part * cost_before_) result.push_back(std::move(advice));
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const DeclarationAdvice& a, const DeclarationAdvice& b) { return a.seconds > b.seconds; });
    return result;
  }

 private:
  /// Searches again on what each proposal compiles to, until the code as it would run asks for no further change.
  Orders choose_orders() {
    std::set<std::size_t> fixed;
    Orders now = as_declared_;
    std::vector<BlockStatement> statements = before_;
    double cost = cost_before_;
    for (int round = 0; round < max_rounds; ++round) {
      const Orders step = Search(statements, classes_, costs_).run(min_step * cost_before_, fixed);
      if (step == as_declared_) return now;
      Orders next;
      for (std::size_t c = 0; c < step.size(); ++c) next.push_back(composed(now[c], step[c]));
      const std::optional<std::vector<BlockStatement>> compiled = statements_with(next);
      const double then = compiled ? total_cost(*compiled, as_declared_, costs_) : 0;
      if (compiled && then < cost) {
        now = std::move(next);
        statements = *compiled;
        cost = then;
        continue;
      }
      bool any = false;  // what does not compile alone, or helps the model only, stays
      for (std::size_t c = 0; c < step.size(); ++c) {
        if (step[c] == as_declared_[c]) continue;
        Orders one = now;
        one[c] = composed(now[c], step[c]);
        const std::optional<double> alone = cost_with(one);
        if (!alone || *alone >= cost) fixed.insert(c), any = true;
      }
      if (!any)
        for (std::size_t c = 0; c < step.size(); ++c)
          if (step[c] != as_declared_[c]) fixed.insert(c);
    }
    return now;
  }

  /// Puts back, least loss first, whatever class the others can do without.
  Orders without_small_ones(Orders orders) const {
    for (double cost = total_cost(before_, orders, costs_);;) {
      std::size_t idle = orders.size();
      double lowest = cost + min_part_of_one * cost_before_;
      for (std::size_t c = 0; c < orders.size(); ++c) {
        if (orders[c] == as_declared_[c]) continue;
        Order changed = std::exchange(orders[c], as_declared_[c]);
        if (const double without = total_cost(before_, orders, costs_); without < lowest) lowest = without, idle = c;
        orders[c] = std::move(changed);
      }
      if (idle == orders.size()) return orders;
      orders[idle] = as_declared_[idle];
      cost = lowest;
    }
  }

  std::vector<Redeclaration> redeclarations(const Orders& orders) const {
    std::vector<Redeclaration> result;
    for (std::size_t c = 0; c < orders.size(); ++c) {
      if (orders[c] == as_declared_[c]) continue;
      for (const auto& [program, name] : classes_.all[c].arrays) {
        const Module& m = *job_.programs[program].unoptimized;
        const auto row = std::find_if(m.arrays.begin(), m.arrays.end(),
                                      [&, array = &name](const ArrayRow& a) { return a.name == *array; });
        Redeclaration r{job_.programs[program].name, name, name + "[", name + "[", orders[c], classes_.all[c].label};
        for (std::size_t d = 0; d < row->dims.size(); ++d) {
          const auto index = [&](std::size_t place) { return m.indices[row->dims[place].at()].name; };
          r.from += (d == 0 ? "" : ",") + index(d);
          r.to += (d == 0 ? "" : ",") + index(static_cast<std::size_t>(orders[c][d]));
        }
        r.from += "]";
        r.to += "]";
        result.push_back(std::move(r));
      }
    }
    return result;
  }

  std::optional<std::vector<BlockStatement>> statements_with(const Orders& orders) const {
    const std::vector<Module> modules = recompile_(redeclarations(orders));
    if (modules.size() != job_.programs.size()) return {};
    std::vector<const Module*> pointers;
    for (const Module& m : modules) pointers.push_back(&m);
    return block_statements(job_, pointers, classes_);
  }

  std::optional<double> cost_with(const Orders& orders) const {
    const auto statements = statements_with(orders);
    return statements ? std::optional(total_cost(*statements, as_declared_, costs_)) : std::nullopt;
  }

  /// Changed classes that meet in statements.
  std::vector<std::vector<std::size_t>> packages(const Orders& orders) const {
    std::vector<std::vector<std::size_t>> result;
    for (std::size_t c = 0; c < orders.size(); ++c)
      if (orders[c] != as_declared_[c]) result.push_back({c});
    for (const BlockStatement& s : before_) {
      std::vector<std::size_t> joined;
      std::erase_if(result, [&](const std::vector<std::size_t>& package) {
        const bool here = std::any_of(package.begin(), package.end(), [&](std::size_t c) { return uses(s, c); });
        if (here) joined.insert(joined.end(), package.begin(), package.end());
        return here;
      });
      if (!joined.empty()) result.push_back(std::move(joined));
    }
    return result;
  }

  /// The orders of a package by itself, without the arrays whose change brings little; empty where it brings nothing.
  std::optional<Orders> without_idle(const Orders& found, std::vector<std::size_t> package) const {
    Orders orders = as_declared_;
    for (const std::size_t c : package) orders[c] = found[c];
    std::optional<double> cost = cost_with(orders);
    if (!cost || *cost >= cost_before_) return {};
    for (const std::size_t c : package) {
      Orders fewer = orders;
      fewer[c] = as_declared_[c];
      if (const std::optional<double> without = cost_with(fewer);
          without && *without <= *cost + min_part_of_one * cost_before_) {
        orders = std::move(fewer);
        cost = without;
      }
    }
    return orders;
  }

  DeclarationAdvice describe(const Orders& orders) const {
    DeclarationAdvice advice;
    advice.arrays = redeclarations(orders);
    const auto after = statements_with(orders);
    if (advice.arrays.empty() || !after) return advice;
    std::map<std::tuple<std::size_t, std::string, int>, double> gained;
    for (const auto& [statements, sign] : {std::pair{&before_, 1.0}, {&*after, -1.0}})
      for (const BlockStatement& s : *statements) {
        gained[{s.program, s.file, s.line}] += sign * cost_of(s, as_declared_, costs_);
        advice.bytes += sign * permuted_bytes(s);
      }
    for (const auto& [key, seconds] : gained) {
      if (seconds == 0) continue;
      advice.lines.push_back({job_.programs[std::get<0>(key)].name, std::get<1>(key), std::get<2>(key), seconds});
      advice.seconds += seconds;
    }
    return advice;
  }

  const Job& job_;
  const OrderCosts& costs_;
  const Recompile& recompile_;
  const ArrayClasses classes_;
  Orders as_declared_;
  std::vector<BlockStatement> before_;
  double cost_before_ = 0;
};

}  // namespace

std::vector<const Module*> modules_of(const Job& job) {
  std::vector<const Module*> modules;
  for (const JobProgram& p : job.programs) modules.push_back(p.module ? &*p.module : nullptr);
  return modules;
}

double order_cost(const Job& job, const std::vector<const Module*>& modules, const OrderCosts& costs) {
  const ArrayClasses classes(job);
  Orders orders;
  for (const ArrayClass& c : classes.all) orders.push_back(identity(c.rank));
  return total_cost(block_statements(job, modules, classes), orders, costs);
}

std::vector<DeclarationAdvice> judge_declarations(const Job& job, const OrderCosts& costs, const Recompile& recompile) {
  const bool all = std::all_of(job.programs.begin(), job.programs.end(),
                               [](const JobProgram& p) { return p.module && p.unoptimized; });
  return all ? Judge(job, costs, recompile).run() : std::vector<DeclarationAdvice>();
}

}  // namespace sial::report
