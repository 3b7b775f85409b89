#include "runtime/program/job/job_file.h"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
// With assertions the library ends the process at a stray byte after `[`; without them it reports the byte like any
// other mistake.
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/number.h"
#include "runtime/core/job/array_source.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/duration.h"
#include "runtime/core/job/numa.h"
#include "runtime/core/job/options.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/job/spill.h"

namespace sial {
namespace {

namespace fs = std::filesystem;
using Keys = std::vector<std::string_view>;

std::string suggestion(std::string_view name, const Keys& known) {
  return did_you_mean(name, known, fmt::format("known here: {}", fmt::join(known, ", ")));
}

/// Walks one parsed file into a Job.
class JobReader {
 public:
  explicit JobReader(const std::string& path) : path_(path), folder_(fs::path(path).parent_path()) {}

  JobImports imports() const {
    const toml::table root = parse();
    return {paths(root, "programs"), paths(root, "include")};
  }

  Job read() {
    const toml::table root = parse();
    job_.file = path_;
    Keys known{"programs", "include", "plugins", "memory", "values", "segments", "arrays"};
    const std::vector<KeySection> of_domain = domain().sections();
    for (const KeySection& section : of_domain) known.push_back(section.name);
    known.insert(known.end(), {"output", "restore", "run", "gradient"});
    check_keys(root, "", known);
    settings(root, "");
    if (const toml::node* n = root.get("memory"); n && n->is_table()) memory(*n->as_table());
    programs(root);
    job_.include_dirs = paths(root, "include");
    if (const toml::node* n = root.get("plugins"))
      for (const std::string& file : strings(*n, "plugins")) plugin(*n, resolve(file));
    if (auto* t = table(root, "values")) values(*t);
    if (auto* t = table(root, "segments")) segments(*t);
    for (const KeySection& section : of_domain)
      if (auto* t = table(root, section.name)) {
        check_keys(*t, section.name, section.keys);
        domain().read_section(section.name, value(*t), folder_.string(), job_);
      }
    if (auto* t = table(root, "arrays")) arrays(*t);
    for (const char* section : {"output", "run", "gradient"})
      if (auto* t = table(root, section)) {
        check_keys(*t, section, option_keys(section));
        settings(*t, section);
      }
    if (job_.guess_path != "none") job_.guess_path = resolve(job_.guess_path);
    if (auto* t = table(root, "restore")) restore(*t);
    at(root.get("segments") ? *root.get("segments") : root, [&] { derive_job_data(job_); });
    return std::move(job_);
  }

 private:
  toml::table parse() const {
    if (std::error_code ignored; !fs::exists(path_, ignored))
      throw InputError(fmt::format("there is no job file `{}`", path_));
    std::string problem;
    const std::string text = read_file(path_, input_limit::job_file, problem);
    if (!problem.empty()) throw InputError(fmt::format("cannot read the job file `{}`: {}", path_, problem));
    try {
      return toml::parse(text, path_);
    } catch (const toml::parse_error& e) {
      // A key and a table of one name: the parser's words name neither of the two meanings.
      if (e.description().find("redefine existing string 'memory'") != std::string_view::npos)
        throw InputError("`memory` is given twice, as a key and as a table",
                         "keep one of both: the table's key `limit` says what `memory = \"...\"` says",
                         place(e.source()));
      throw InputError(fmt::format("not a TOML file: {}", e.description()), {}, place(e.source()));
    }
  }

  std::string place(const toml::source_region& s) const {
    return fmt::format("{}:{}:{}", path_, s.begin.line, s.begin.column);
  }

  [[noreturn]] void fail(const toml::node& n, const std::string& message, const std::string& hint = {}) const {
    throw InputError(message, hint, place(n.source()));
  }

  /// Runs `body`; errors that do not know their place get the node's.
  template <class Body>
  void at(const toml::node& n, Body body) const {
    at_place([&] { return place(n.source()); }, body);
  }

  void check_keys(const toml::table& t, std::string_view section, const Keys& known) const {
    for (auto&& [key, node] : t)
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        const std::string elsewhere = place_of_key(key.str(), domain().sections());
        throw InputError(section.empty() ? fmt::format("unknown key `{}`", key.str())
                                         : fmt::format("unknown key `{}` in [{}]", key.str(), section),
                         elsewhere.empty() ? suggestion(key.str(), known) : elsewhere, place(key.source()));
      }
  }

  const toml::table* table(const toml::table& parent, std::string_view key) const {
    const toml::node* n = parent.get(key);
    if (n && !n->is_table())
      fail(*n, fmt::format("`{}` must be a table", key), fmt::format("write [{}] and its keys below it", key));
    return n ? n->as_table() : nullptr;
  }

  std::string resolve(const std::string& name) const { return resolve_path(folder_.string(), name); }

  const std::string& data_file(const std::string& file) {
    job_.data_files.push_back(file);
    return file;
  }

  JobValue value(const toml::node& n) const {
    using Kind = JobValue::Kind;
    JobValue v;
    v.place = place(n.source());
    if (const toml::table* t = n.as_table()) {
      v.kind = Kind::table;
      for (auto&& [key, node] : *t) {
        v.keys.emplace_back(key.str());
        v.items.push_back(value(node));
      }
    } else if (const toml::array* list = n.as_array()) {
      v.kind = Kind::list;
      for (const toml::node& item : *list) v.items.push_back(value(item));
    } else if (const auto* text = n.as_string()) {
      v.kind = Kind::text;
      v.words = text->get();
    } else if (const auto* whole = n.as_integer()) {
      v.kind = Kind::whole;
      v.number = whole->get();
    } else if (const auto* boolean = n.as_boolean()) {
      v.kind = Kind::boolean;
      v.is_true = boolean->get();
    }
    return v;
  }

  std::string string(const toml::node& n, std::string_view key) const { return value(n).string(key); }

  std::vector<std::string> strings(const toml::node& n, std::string_view key) const {
    std::vector<std::string> out;
    if (n.is_string()) return {string(n, key)};
    if (!n.is_array()) fail(n, fmt::format("`{}` must be a list of strings", key));
    for (const toml::node& e : *n.as_array()) out.push_back(string(e, key));
    return out;
  }

  std::vector<std::string> paths(const toml::table& root, std::string_view key) const {
    std::vector<std::string> out;
    if (const toml::node* n = root.get(key))
      for (const std::string& name : strings(*n, key)) out.push_back(resolve(name));
    return out;
  }

  std::int32_t integer(const toml::node& n, std::string_view key) const { return value(n).integer(key); }

  double real(const toml::node& n, std::string_view key) const {
    const double value = n.value<double>().value();
    if (!std::isfinite(value)) fail(n, fmt::format("value `{}` is not a finite number", key));
    return value;
  }

  void programs(const toml::table& root) {
    const toml::node* n = root.get("programs");
    if (!n)
      throw InputError("the key `programs` is missing",
                       "write programs = [\"first.sialx\", \"second.sialx\"], in the order they run", path_);
    job_.programs = paths(root, "programs");
    for (const std::string& file : job_.programs)
      if (std::error_code ignored; !fs::exists(file, ignored)) fail(*n, fmt::format("there is no program `{}`", file));
    if (job_.programs.empty()) fail(*n, "`programs` is empty");
  }

  void plugin(const toml::node& n, const std::string& file) {
    if (std::error_code ignored; !fs::is_regular_file(file, ignored))
      fail(n, fmt::format("there is no plugin `{}`", file),
           "`plugins` names shared libraries, relative to the job file's folder");
    job_.plugins.push_back(file);
  }

  [[noreturn]] void twice(const toml::node& node, const std::string& name) const {
    fail(node, fmt::format("`{}` is given twice", name), "names that differ in upper and lower case only are one");
  }

  void values(const toml::table& t) {
    for (auto&& [key, node] : t) {
      std::string name = lower_case(key.str());
      if (!is_value_name(name)) fail(node, fmt::format("`{}` is not a name", key.str()));
      if (node.is_integer()) job_.data.ints[name] = integer(node, name);
      else if (node.is_floating_point()) job_.data.scalars[name] = real(node, name);
      else
        fail(node,
             fmt::format("value `{}` must be an integer (`predefined int`) or a real (`predefined scalar`)", name));
      if (!job_.stated_values.insert(name).second) twice(node, name);
      job_.value_places[name] = place(key.source());
    }
  }

  void segments(const toml::table& t) {
    Keys known(std::begin(segment_keys), std::end(segment_keys)), targets;
    std::vector<std::string> target_names;
    for (std::string_view k : segment_keys) target_names.push_back(fmt::format("{}_target", k));
    for (const std::string& k : target_names) known.push_back(k);
    check_keys(t, "segments", known);
    for (std::string_view key : segment_keys) {
      std::string target_key = fmt::format("{}_target", key);
      const toml::node *n = t.get(key), *target = t.get(target_key);
      if (!n && !target) continue;
      SegmentRequest r;
      if (target) at(*target, [&] { r.target = segment_size(integer(*target, target_key), target_key); });
      if (n && n->is_array()) {
        for (const toml::node& e : *n->as_array())
          at(e, [&] { r.sizes.push_back(segment_size(integer(e, key), key)); });
        if (r.sizes.empty()) fail(*n, fmt::format("`{}` lists no segments", key));
        if (target) fail(*target, fmt::format("`{}` goes with {} = \"auto\", not with a list", target_key, key));
      } else if (n && (!n->is_string() || n->value<std::string>() != "auto")) {
        fail(*n, fmt::format("`{}` must be a list of segment sizes or \"auto\"", key));
      }
      job_.segment_requests[std::string(key)] = r;
    }
  }

  void arrays(const toml::table& t) {
    for (auto&& [key, node] : t) {
      std::string name = lower_case(key.str());
      if (const std::string source = domain().source_of_array(job_.data, name); !source.empty())
        fail(node, fmt::format("`{}` follows from {}", name, source), "leave out one of the two");
      if (!job_.input_arrays.insert(name).second) twice(node, name);
      if (node.is_array()) {
        inline_array(name, *node.as_array());
        continue;
      }
      if (!node.is_table())
        fail(node, fmt::format("array `{}` must be {{file = \"...\", dataset = \"...\"}} or a list of numbers", name));
      const toml::table& entry = *node.as_table();
      check_keys(entry, "arrays." + name, {"file", "dataset"});
      if (!entry.get("file")) fail(node, fmt::format("array `{}` lacks `file`", name));
      std::string file = resolve(string(*entry.get("file"), "file"));
      std::string dataset = entry.get("dataset") ? string(*entry.get("dataset"), "dataset") : name;
      at(node, [&] { job_.data.sources[name] = look_at_array(name, data_file(file), dataset, job_.warnings); });
      job_.data.sources[name].where = place(node.source());
    }
  }

  void inline_array(const std::string& name, const toml::array& list) {
    DataArray a{{static_cast<std::int64_t>(list.size())}, {}, path_};
    bool integers = true;
    for (const toml::node& e : list) {
      if (!e.is_number()) fail(e, fmt::format("array `{}` must hold numbers", name));
      integers = integers && e.is_integer();
      a.data.push_back(e.value<double>().value());
    }
    if (integers) {
      IntDataArray i{a.extents, {}, path_};
      for (const toml::node& e : list) i.data.push_back(integer(e, name));
      job_.data.int_arrays[name] = std::move(i);
    }
    job_.data.arrays[name] = std::move(a);
  }

  void restore(const toml::table& t) {
    check_keys(t, "restore", {"file"});
    const toml::node* n = t.get("file");
    if (!n) fail(t, "[restore] lacks `file`", "file = \"results.h5\" names the results of an earlier job");
    for (const std::string& name : strings(*n, "file")) job_.restore_files.push_back(resolve(name));
    job_.restore_place = place(n->source());
  }

  /// What options.def gives a key in this section.
  void settings(const toml::table& t, std::string_view section) {
    for (const std::string_view key : option_keys(section)) {
      const toml::node* n = t.get(key);
      const bool is_section = n && n->is_table() && !option_keys(key).empty();
      if (n && !is_section) setting(*n, key, *option_of_key(section, key));
    }
  }

  void setting(const toml::node& n, std::string_view key, const Option& option) {
    using Kind = OptionType::Kind;
    std::string text = option.type.kind == Kind::word || option.type.kind == Kind::above_zero ? word(n, key)
                       : option.type.kind == Kind::name_list && n.is_array()
                           ? fmt::format("{}", fmt::join(strings(n, key), ","))
                           : string(n, key);
    if (option.id == OptionId::output_dir) text = resolve(text);
    at(n, [&] { set_option(job_, option.id, text); });
  }

  /// May be written as a number: 30 for "30".
  std::string word(const toml::node& n, std::string_view key) const {
    if (!n.is_number() && !n.is_string()) fail(n, fmt::format("`{}` must be a number or a string", key));
    return n.is_number() ? number_text(n) : string(n, key);
  }

  void memory(const toml::table& t) {
    check_keys(t, "memory", {"limit", "spill", "numa"});
    if (const toml::node* n = t.get("limit")) setting(*n, "limit", option(OptionId::memory));
    if (const toml::node* n = t.get("spill")) spill(*n);
    if (const toml::node* n = t.get("numa")) numa(*n);
  }

  /// The text of `--numa`, or a table of policies by array, with that of the others under `default`.
  void numa(const toml::node& n) {
    const toml::table* rules = n.as_table();
    if (!rules) return setting(n, "numa", option(OptionId::numa));
    for (const auto& [key, value] : *rules)
      at(value, [&, array = std::string(key.str()), &node = value] {
        const NumaRule rule = parse_numa_rule(string(node, array));
        if (array == "default") job_.numa.all = rule;
        else add_array_rule(job_.numa, array, rule);
      });
    job_.settings[OptionId::numa] = numa_text(job_.numa);
  }

  /// The text of `--spill`, or a list of parts of it and of tables.
  void spill(const toml::node& n) {
    const bool is_off = n.is_string() && string(n, "spill") == option(OptionId::spill).preset;
    if (const toml::array* list = n.as_array())
      for (const toml::node& entry : *list) spill_to(entry);
    else if (!is_off) spill_to(n);
    job_.settings[OptionId::spill] = spill_text(job_.spill);
  }

  void spill_to(const toml::node& n) {
    if (!n.is_string() && !n.is_table())
      fail(n, "`spill` must be a folder, or a list of folders and tables",
           "spill = [\"/scratch\", {kind = \"disk\", dir = \"/data\", size = \"200GB\"}]");
    at(n, [&] {
      SpillRequest tiers;
      if (n.is_table()) tiers.push_back(tier(*n.as_table()));
      else tiers = parse_spill(string(n, "spill"));
      if (tiers.empty()) fail(n, "`off` goes with no other place for blocks");
      for (TierRequest& t : tiers) {
        if (t.kind == TierKind::disk) t.directory = resolve(t.directory);
        add_tier(job_.spill, std::move(t));
      }
    });
  }

  TierRequest tier(const toml::table& t) const {
    check_keys(t, "memory.spill", {"kind", "dir", "size"});
    const std::string kind = t.get("kind") ? string(*t.get("kind"), "kind") : "disk";
    if (kind != "disk" && kind != "nodes")
      fail(*t.get("kind"), fmt::format("there is no place for blocks of kind `{}`", kind),
           suggestion(kind, {"disk", "nodes"}));
    TierRequest tier;
    tier.kind = kind == "disk" ? TierKind::disk : TierKind::nodes;
    const toml::node* dir = t.get("dir");
    if (kind == "nodes" && dir) fail(*dir, "`dir` goes with kind = \"disk\"", "memory of other nodes has no folder");
    if (kind == "disk" && !dir)
      fail(t, "a place for blocks of kind `disk` lacks `dir`", "dir = \"/scratch\" names its folder");
    if (dir) tier.directory = string(*dir, "dir");
    if (dir && tier.directory.empty()) fail(*dir, "`dir` is empty", "dir = \"/scratch\" names a folder");
    if (const toml::node* size = t.get("size")) at(*size, [&] { tier.bytes = parse_tier_size(word(*size, "size")); });
    return tier;
  }

  static std::string number_text(const toml::node& n) {
    return n.is_integer() ? fmt::format("{}", n.value<std::int64_t>().value())
                          : fmt::format("{}", n.value<double>().value());
  }

  std::string path_;
  fs::path folder_;
  Job job_;
};

}  // namespace

Job read_job_file(const std::string& path) { return JobReader(path).read(); }

JobImports read_job_imports(const std::string& path) { return JobReader(path).imports(); }

}  // namespace sial
