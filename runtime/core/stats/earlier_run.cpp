#include "runtime/core/stats/earlier_run.h"

#include "runtime/core/base/json.h"

#include <algorithm>
#include <fstream>
#include <map>

namespace sial {

std::vector<double> earlier_program_seconds(const std::string& path, int ranks,
                                            const std::vector<std::pair<std::string, std::string>>& programs,
                                            const JobFacts& job) {
  try {
    std::ifstream in(path);
    if (!in) return {};
    const Json run = parse_json(std::string(std::istreambuf_iterator<char>(in), {}));
    const Json &was = run.at("programs"), &data = run.at("job");
    if (run.at("ranks").get<int>() != ranks || was.size() != programs.size() ||
        run.at("total").value("restarts", 0.0) != 0)
      return {};
    std::map<std::string, double> seconds;  // of all ranks, by program
    std::map<std::string, int> times;       // that a job runs a program
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const auto& [name, hash] = programs[i];
      if (was[i].at("program") != name || was[i].at("source_hash") != hash) return {};
      seconds[name] = 0;
      ++times[name];
    }
    if (data.at("ints").get<decltype(job.ints)>() != job.ints ||
        data.at("scalars").get<decltype(job.scalars)>() != job.scalars ||
        data.at("segments").get<decltype(job.segments)>() != job.segments)
      return {};
    double wall = 0, all = 0;
    for (const Json& rank : run.at("per_rank")) wall = std::max(wall, rank.at("wall_time").get<double>());
    for (const Json& line : run.at("lines")) {
      const auto s = line.at("seconds").get<double>();
      seconds[line.at("program").get<std::string>()] += s;
      all += s;
    }
    if (!(all > 0)) return {};
    std::vector<double> result;
    for (const auto& [name, hash] : programs) result.push_back(wall * seconds[name] / all / times[name]);
    return result;
  } catch (const Json::exception&) { return {}; }
}

}  // namespace sial
