#pragma once
// Persistence labels as every rank knows them: all ranks hold the same table, because labels change in collective calls
// and at barriers only. The blocks lie in the directories under the label's number and generation, which changes when
// the label is set anew. Owned by one rank.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sial {

struct Label {
  std::uint64_t number = 0;  // array number in the directory; the same on every rank
  std::uint32_t generation = 0;
  std::uint64_t placement = 0;  // decides the home nodes, like that of an array
  bool exists = false;
};

class LabelTable {
 public:
  const Label* find(const std::string& name) const;  // null unless it exists
  /// Adds a label that does not exist yet if necessary.
  Label& at(const std::string& name);
  std::vector<std::string> names() const;  // of existing labels, sorted

 private:
  std::map<std::string, Label> labels_;
};

}  // namespace sial
