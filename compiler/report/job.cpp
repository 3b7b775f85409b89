#include "compiler/report/job.h"

#include <fmt/format.h>

#include <algorithm>

namespace sial::report {

const JobProgram* Job::find(const std::string& program) const {
  const auto found =
      std::find_if(programs.begin(), programs.end(), [&](const JobProgram& p) { return p.name == program; });
  return found == programs.end() ? nullptr : &*found;
}

Job read_job(const std::string& path) {
  const Run all = read_run(path);
  Job job;
  job.path = path;
  job.ranks = std::max(1, all.ranks);
  for (const auto& [name, hash] : all.programs) {
    if (job.find(name)) continue;
    JobProgram& program = job.programs.emplace_back();
    program.name = name;
    program.run = read_run(path, name);
    for (const CostLine& line : program.run.lines) program.seconds += line.seconds / job.ranks;
    job.seconds += program.seconds;
  }
  return job;
}

std::vector<IndexSize> sizes_of(const Module& module, const Run& run) {
  std::vector<IndexSize> sizes;
  for (const IndexRow& index : module.indices) {
    const auto found = run.sizes.find(index.name);
    sizes.push_back(found == run.sizes.end() ? IndexSize{1, 1} : found->second);
  }
  return sizes;
}

std::string short_place(const std::string& file, int line) {
  return fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), line);
}

}  // namespace sial::report
