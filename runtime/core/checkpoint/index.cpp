#include "runtime/core/checkpoint/index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/content_hash.h"
#include "runtime/core/base/formats.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/json.h"
#include "runtime/core/base/number.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/bytecode/write.h"

namespace sial {
namespace {

namespace fs = std::filesystem;
/// Folders do not matter: the same sources may be reached by another path, which remarks name too.
std::string hash_of(const Module& module) {
  Module plain = module;
  plain.producer.clear();
  plain.remarks.clear();
  for (std::string& file : plain.files) file = fs::path(file).filename().string();
  ContentHash hash;
  for (const std::byte b : write_module(plain)) hash.add(b);
  return hash.text();
}

/// Takes a number as it is written; not one that is cut or rounded to fit.
template <class T>
void take(const Json& value, T& out) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr auto most = std::numeric_limits<T>::max();
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
      throw std::out_of_range("no count");
    out = value.get<T>();
  } else {
    value.get_to(out);
  }
}

/// SERIAL.rankN
std::optional<std::int64_t> serial_of(std::string_view name) {
  constexpr std::string_view middle = ".rank";
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::size_t dot = name.find(middle);
  if (dot == std::string_view::npos || !read_integer(name.substr(dot + middle.size()), 0, most)) return {};
  return read_integer(name.substr(0, dot), 0, most);
}

std::string differing_entry(const char* what, const std::map<std::string, std::string>& saved,
                            const std::map<std::string, std::string>& now, bool show) {
  for (const auto& [name, value] : saved) {
    const auto found = now.find(name);
    if (found == now.end())
      return show ? fmt::format("the {} `{}` was {} and is not given now", what, name, value)
                  : fmt::format("the {} `{}` is not given now", what, name);
    if (found->second != value)
      return show ? fmt::format("the {} `{}` was {} and is {} now", what, name, value, found->second)
                  : fmt::format("the {} `{}` is not the same", what, name);
  }
  for (const auto& [name, value] : now)
    if (!saved.contains(name))
      return show ? fmt::format("the {} `{}` is given as {} now and was not", what, name, value)
                  : fmt::format("the {} `{}` is new", what, name);
  return {};
}

/// f(key, field) for what is written and read as it is. `Index`: CheckpointIndex, const or not.
template <class Index, class F>
  requires std::is_same_v<std::remove_const_t<Index>, CheckpointIndex>
void for_each_field(Index& index, F&& f) {
  f("sialrun", index.version);
  f("job_id", index.job_id);
  f("written", index.written);
  f("serial", index.serial);
  f("program", index.program);
  f("inside", index.inside);
  f("place", index.place);
  f("uniform", index.uniform);
  f("seconds", index.seconds);
}

template <class Identity, class F>
  requires std::is_same_v<std::remove_const_t<Identity>, JobIdentity>
void for_each_field(Identity& job, F&& f) {
  f("programs", job.programs);
  f("molecule", job.domain);
  f("segments", job.segments);
  f("ints", job.ints);
  f("scalars", job.scalars);
  f("arrays", job.arrays);
  f("plugins", job.plugins);
}

std::string hash_text(const std::string& text) {
  ContentHash hash;
  for (const char c : text) hash.add(c);
  return hash.text();
}

}  // namespace

JobIdentity identity_of(const JobData& data, std::span<const std::string> paths,
                        std::span<const std::shared_ptr<const Module>> programs) {
  JobIdentity job;
  for (std::size_t i = 0; i < programs.size(); ++i)
    job.programs.emplace_back(i < paths.size() ? fs::path(paths[i]).filename().string() : programs[i]->program,
                              hash_of(*programs[i]));
  for (const auto& [name, value] : data.ints) job.ints[name] = fmt::format("{}", value);
  for (const auto& [name, value] : data.scalars) job.scalars[name] = fmt::format("{}", value);
  for (const auto& [kind, extents] : data.segments)
    job.segments[kind_name(kind)] = fmt::format("{}", fmt::join(extents, ","));
  for (const auto& [name, array] : data.arrays) {
    ContentHash hash;
    hash.add(array.extents);
    hash.add(array.data);
    job.arrays[name] = hash.text();
  }
  for (const auto& [name, array] : data.int_arrays) {
    ContentHash hash;
    hash.add(array.extents);
    hash.add(array.data);
    job.arrays[name + " (integers)"] = hash.text();
  }
  for (const auto& [name, source] : data.sources) {
    if (data.arrays.contains(name)) continue;
    ContentHash hash;  // of what is read in parts, a program that reads it compares the values with those before
    hash.add(source.extents);
    job.arrays[name] = hash.text();
  }
  return job;
}

std::string difference(const JobIdentity& saved, const JobIdentity& now) {
  for (std::size_t i = 0; i < std::max(saved.programs.size(), now.programs.size()); ++i) {
    if (i >= saved.programs.size())
      return fmt::format("program {}, `{}`, was not part of the job", i + 1, now.programs[i].first);
    if (i >= now.programs.size())
      return fmt::format("program {} of the job, `{}`, is missing", i + 1, saved.programs[i].first);
    if (fs::path(saved.programs[i].first).stem() != fs::path(now.programs[i].first).stem())
      return fmt::format("program {} of the job was `{}` and is `{}` now", i + 1, saved.programs[i].first,
                         now.programs[i].first);
    if (saved.programs[i].second != now.programs[i].second)
      return fmt::format("the program `{}` has changed, or is compiled in another way", now.programs[i].first);
  }
  // A changed geometry or basis changes most of what follows: it is named first.
  for (std::string text : {differing_entry("molecule's", saved.domain, now.domain, false),
                           differing_entry("segments of kind", saved.segments, now.segments, true),
                           differing_entry("value of int", saved.ints, now.ints, true),
                           differing_entry("value of scalar", saved.scalars, now.scalars, true),
                           differing_entry("data of array", saved.arrays, now.arrays, false),
                           differing_entry("plugin", saved.plugins, now.plugins, false)})
    if (!text.empty()) return text;
  return {};
}

NamedSegments segments_of(const JobIdentity& job) {
  NamedSegments segments;
  for (const auto& [kind, text] : job.segments) {
    std::istringstream sizes(text);
    for (std::string size; std::getline(sizes, size, ',');)
      segments[kind].push_back(
          static_cast<std::int32_t>(read_integer(size, 0, std::numeric_limits<std::int32_t>::max()).value_or(0)));
  }
  return segments;
}

std::string to_text(const CheckpointIndex& index) {
  Json j;
  j["format"] = checkpoint_format;
  for_each_field(index, [&](const char* key, const auto& value) { j[key] = value; });
  j["files"] = Json::array();
  for (const CheckpointIndex::File& f : index.files)
    j["files"].push_back({{"name", f.name}, {"bytes", f.seal.bytes}, {"hash", fmt::format("{:016x}", f.seal.hash)}});
  Json job;
  for_each_field(index.job, [&](const char* key, const auto& value) { job[key] = value; });
  j["job"] = job;
  j["hash"] = hash_text(json_text(j));
  return json_text(j) + "\n";
}

CheckpointIndex checkpoint_index_from(const std::string& text, const std::string& path) {
  const auto refuse = [&path](const std::string& what) {
    return InputError(fmt::format("the checkpoint cannot be used: `{}` {}", path, what),
                      "restore it from a copy, or start the job again without `--restart`");
  };
  CheckpointIndex index;
  try {
    Json j = parse_json(text);
    std::int32_t format = 0;
    take(j.at("format"), format);
    if (format != checkpoint_format)
      throw refuse(fmt::format("has format {}, and this sialrun reads format {}", format, checkpoint_format));
    const std::string hash = j.at("hash").get<std::string>();
    j.erase("hash");
    if (hash_text(json_text(j)) != hash) throw refuse("is damaged");
    for_each_field(index, [&](const char* key, auto& value) { take(j.at(key), value); });
    for (const Json& f : j.at("files")) {
      const auto file_hash = read_hexadecimal(f.at("hash").get<std::string>());
      if (!file_hash) throw refuse("is damaged");
      CheckpointIndex::File file{f.at("name").get<std::string>(), {0, *file_hash}};
      take(f.at("bytes"), file.seal.bytes);
      // A name of another form could lead out of the folder.
      if (file.name != checkpoint_file_name(index.serial, index.files.size()))
        throw refuse(fmt::format("names `{}`, which is no file of checkpoint {}", file.name, index.serial));
      index.files.push_back(std::move(file));
    }
    const Json& job = j.at("job");
    for_each_field(index.job, [&](const char* key, auto& value) { job.at(key).get_to(value); });
  } catch (const SialError&) {
    throw;
  } catch (const std::exception&) {  // of the JSON library, or a number that is none
    throw refuse("is damaged or no index of a checkpoint");
  }
  return index;
}

std::string checkpoint_file_name(std::int64_t serial, std::size_t rank) {
  return fmt::format("{}.rank{}", serial, rank);
}

std::unique_ptr<RecordReader> CheckpointFiles::open(std::size_t file) const {
  const CheckpointIndex::File& f = index_.files.at(file);
  return std::make_unique<RecordReader>((fs::path(folder_) / f.name).string(), f.seal);
}

std::string CheckpointFiles::problem_of(std::size_t file) const {
  try {
    const std::unique_ptr<RecordReader> reader = open(file);
    while (reader->next() != RecordReader::end) {}
  } catch (const SialError& error) { return error.what(); }
  return {};
}

bool is_checkpoint_index(const std::string& text) {
  const Json j = parse_json(text, false);
  return j.is_object() && j.contains("format") && j.contains("sialrun") && j.contains("job_id") && j.contains("files");
}

void write_checkpoint_index(const CheckpointIndex& index, const std::string& folder, const char* name) {
  write_file((fs::path(folder) / name).string(), to_text(index), Durability::on_disk);
}

std::optional<CheckpointIndex> read_previous_index(const std::string& folder) {
  const std::string path = (fs::path(folder) / previous_index_name).string();
  std::string problem;
  const std::string text = read_file(path, input_limit::checkpoint_index, problem);
  if (!problem.empty()) return {};
  try {
    return checkpoint_index_from(text, path);
  } catch (const SialError&) { return {}; }
}

std::string read_checkpoint_index(const std::string& path) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? fs::path(path) / checkpoint_index_name : fs::path(path);
  std::string problem;
  std::string text = read_file(file.string(), input_limit::checkpoint_index, problem);
  if (!problem.empty())
    throw InputError(fmt::format("there is no checkpoint `{}` to restart from: {}", file.string(), problem),
                     "name the folder with `--restart FOLDER`, or start the job without `--restart`");
  return text;
}

std::int64_t next_serial(const std::string& folder) {
  std::int64_t next = 1;
  std::error_code failure;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure))
    if (const auto serial = serial_of(it->path().filename().string())) next = std::max(next, *serial + 1);
  return next;
}

void remove_old_files(const std::string& folder, std::span<const CheckpointIndex* const> keep) noexcept {
  try {
    std::error_code failure;
    if (keep.empty()) fs::remove(fs::path(folder) / checkpoint_index_name, failure);
    if (keep.size() < 2) {
      const fs::path previous = fs::path(folder) / previous_index_name;
      std::string problem;
      if (is_checkpoint_index(read_file(previous.string(), input_limit::checkpoint_index, problem)))
        fs::remove(previous, failure);
    }
    std::vector<fs::path> old;
    for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
      const std::string name = it->path().filename().string();
      if (!serial_of(name) || !is_record_file(it->path().string())) continue;
      if (std::ranges::any_of(keep, [&](const CheckpointIndex* index) {
            return std::ranges::any_of(index->files, [&](const auto& f) { return f.name == name; });
          }))
        continue;
      old.push_back(it->path());
    }
    for (const fs::path& path : old) fs::remove(path, failure);
  } catch (const std::exception&) {
    // A file that stays behind costs disk space and is removed by the next checkpoint.
  }
}

}  // namespace sial
