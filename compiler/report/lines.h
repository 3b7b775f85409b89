#pragma once
// Inside the report: what the code of a module says about its source lines, and the joints between the files that fill
// a Report.

#include <functional>
#include <vector>

#include "compiler/report/model.h"

namespace sial::report {

/// Calls f(array, deed) for each array that an instruction uses; storage (allocate, delete) is no use.
void for_each_use(const Module& m, const Instruction& in, const std::function<void(ArrayId, Deed)>& f);

/// Procedure whose code stands at a place; empty: the main body, or nothing stands there.
std::string part_at(const Module& m, const SourcePlace& place);

/// Fills Report::lines: deeds, loops, and how often lines run and what they move and compute if no condition prevents
/// it.
void add_lines(Report& report, const Module& m);

// remarks.cpp
void add_remarks(Report& report, const Module& m);
void sort_remarks(Report& report, const std::vector<IndexSize>& sizes);
/// Rows of the remarks into the lines they stand on.
void place_remarks(Report& report);
Amount amount_of(const Cost& cost, const std::vector<IndexRow>& indices);

}  // namespace sial::report
