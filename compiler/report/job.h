#pragma once
// All programs of a run together: their modules, sources and measured lines. What one program keeps under a label
// another one uses, and only the whole job says what share of the time a line has. Values; whoever finds the modules
// (compiler/program/sialreport_job.cpp) fills them in.

#include <map>
#include <string>
#include <vector>

#include "compiler/report/model.h"
#include "runtime/core/bytecode/module.h"

namespace sial::report {

struct JobProgram {
  std::string name;
  std::optional<Module> module;              // empty: neither a module nor the sources were found; `problem` says so
  std::optional<Module> unoptimized;         // at -O0, where the sources were found
  std::map<std::string, std::string> texts;  // sources as they were compiled, by name; empty: not found
  Run run;                                   // what was measured of this program
  double seconds = 0;                        // of a mean rank
  std::string problem;
};

struct Job {
  std::string path;
  int ranks = 1;
  double seconds = 0;                // of a mean rank, all programs
  std::vector<JobProgram> programs;  // each once, in the order they ran

  const JobProgram* find(const std::string& program) const;
};

/// Names, times and measurements; modules are still to be found.
Job read_job(const std::string& path);

/// The mean sizes of a program's indices in its run, one per index row; an index that the run does not know counts one
/// element.
std::vector<IndexSize> sizes_of(const Module& module, const Run& run);

/// "rhf.sialx:12".
std::string short_place(const std::string& file, int line);

}  // namespace sial::report
