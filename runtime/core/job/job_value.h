#pragma once
// A value of a job file as plain data, with its place: what who reads a section of its own gets of it. Reading functions
// throw InputError at the place for what the value is not.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/base/error.h"

namespace sial {

/// Runs `body`; errors that do not know their place get this one. `place` makes it.
template <class Place, class Body>
void at_place(const Place& place, const Body& body) {
  try {
    body();
  } catch (SialError& e) {
    if (e.where().empty()) e.set_where(place());
    throw;
  }
}

/// A file that is named relative to a folder.
std::string resolve_path(const std::string& folder, const std::string& name);

struct JobValue {
  enum class Kind { table, list, text, whole, real, boolean, other };
  Kind kind = Kind::other;
  std::string place;  // file:line:column
  std::string words;
  std::int64_t number = 0;
  bool is_true = false;
  std::vector<JobValue> items;    // of a list or table
  std::vector<std::string> keys;  // of a table, one per item

  /// None: the table has no such key.
  const JobValue* get(std::string_view key) const;
  std::string string(std::string_view key) const;
  std::int32_t integer(std::string_view key) const;
  std::vector<std::int32_t> integers(std::string_view key) const;
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;
  template <class Body>
  void at(const Body& body) const {
    at_place([this] { return place; }, body);
  }
};

}  // namespace sial
