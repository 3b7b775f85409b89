#pragma once
// The effect of a report's advice in a later run: the advice that was followed, and the time that its lines took before
// and after. Values.

#include <optional>
#include <string>
#include <vector>

#include "compiler/report/advice/advice.h"

namespace sial::report {

struct Reached {
  Advice advice;
  bool followed = false;        // it is not asked for any more; a declaration: it is now the one that was asked for
  double before = 0;            // time of its lines, of a mean rank
  std::optional<double> after;  // empty: these lines did not run, or are not there any more
};

/// Lines are found again by their number where declarations changed only, otherwise by what they say.
std::vector<Reached> reached_of(const Job& before, const JobAdvice& advice, const Job& after,
                                const JobAdvice& advice_after);

}  // namespace sial::report
