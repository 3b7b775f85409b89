#pragma once
// Super instructions from shared libraries. A set is loaded once per process, before any session, and outlives them
// all: libraries stay loaded until the process ends. Read-only afterwards, so ranks of one process share it.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/super/registry.h"

struct sialx_instruction;

namespace sial {

// The atoms of a job for plugins; without chemistry there are none. Defined beside the table of the bodies.
std::int32_t atom_count(const JobData& job);
/// Reads the atom of that number, from 0; `position` in bohr.
void read_atom(const JobData& job, std::int32_t number, double* charge, double* position);

class Plugins {
 public:
  /// Throws SialError naming the file: missing, no plugin, of an unknown version, with a faulty row, or with a name
  /// that the table or another plugin has.
  void load(const std::string& path);
  /// The same for the plugins of a job, several of which may be run: one that is loaded already is left alone.
  void load_for_job(const std::vector<std::string>& paths);

  bool empty() const { return rows_.empty(); }
  /// File names and hashes of their contents: what a job's numbers may depend on.
  const std::map<std::string, std::string>& files() const { return files_; }
  /// The body for a special as the program declares it, or nothing when no plugin has the name (lower case). The body
  /// throws SialError when the declared signature is none of the row's.
  std::function<void(SuperContext&, std::span<SuperArg>)> find(std::string_view name, std::string_view signature) const;
  std::vector<std::string_view> names() const;

 private:
  struct Row {
    const sialx_instruction* instruction;
    std::string file;
  };
  std::vector<Row> rows_;
  std::map<std::string, std::string> files_;
  std::vector<std::string> paths_;
};

}  // namespace sial
