#include "runtime/core/store/interface/labels.h"

#include "runtime/core/base/check.h"
#include "runtime/core/base/shape.h"

namespace sial {

const Label* LabelTable::find(const std::string& name) const {
  const auto found = labels_.find(name);
  return found == labels_.end() || !found->second.exists ? nullptr : &found->second;
}

Label& LabelTable::at(const std::string& name) {
  const auto [found, added] = labels_.try_emplace(name);
  if (!added) return found->second;
  std::uint64_t h = name.size();
  for (const char c : name) h = mix_hash(h, static_cast<unsigned char>(c));
  found->second.number = h | std::uint64_t{1} << 63;
  found->second.placement = found->second.number;
  for (const auto& [other, label] : labels_)
    SIAL_CHECK(other == name || label.number != found->second.number, "labels \"{}\" and \"{}\" have the same number",
               name, other);
  return found->second;
}

std::vector<std::string> LabelTable::names() const {
  std::vector<std::string> names;
  for (const auto& [name, label] : labels_)
    if (label.exists) names.push_back(name);
  return names;
}

}  // namespace sial
