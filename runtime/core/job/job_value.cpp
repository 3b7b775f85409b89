#include "runtime/core/job/job_value.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

namespace sial {

std::string resolve_path(const std::string& folder, const std::string& name) {
  const std::filesystem::path path(name);
  return path.is_absolute() ? name : (folder / path).lexically_normal().string();
}

const JobValue* JobValue::get(std::string_view key) const {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::string JobValue::string(std::string_view key) const {
  if (kind != Kind::text) fail(fmt::format("`{}` must be a string", key));
  if (words.find('\0') != std::string::npos)
    fail(fmt::format("`{}` holds a NUL character", key), "file names end at a NUL");
  return words;
}

std::int32_t JobValue::integer(std::string_view key) const {
  if (kind != Kind::whole) fail(fmt::format("`{}` must be an integer", key));
  if (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max())
    fail(fmt::format("`{}` does not fit a 32-bit integer", key));
  return static_cast<std::int32_t>(number);
}

std::vector<std::int32_t> JobValue::integers(std::string_view key) const {
  std::vector<std::int32_t> out;
  if (kind != Kind::list) fail(fmt::format("`{}` must be a list of integers", key));
  for (const JobValue& item : items) out.push_back(item.integer(key));
  return out;
}

void JobValue::fail(const std::string& message, const std::string& hint) const {
  throw InputError(message, hint, place);
}

}  // namespace sial
