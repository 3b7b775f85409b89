#include "runtime/core/tier/file_system_name.h"

#include <sys/vfs.h>

#include <cstdint>

#include <fmt/format.h>

namespace sial {

std::string file_system_name(int descriptor) {
  struct Row {
    std::uint32_t number;
    const char* name;
  };
  static constexpr Row rows[] = {
      {0xEF53, "ext4"},       {0x58465342, "xfs"},     {0x9123683E, "btrfs"},    {0x01021994, "tmpfs"},
      {0x858458F6, "ramfs"},  {0x794C7630, "overlay"}, {0x6969, "nfs"},          {0x0BD00BD0, "lustre"},
      {0x47504653, "gpfs"},   {0x2FC12FC1, "zfs"},     {0xCA451A4E, "bcachefs"}, {0xF2F52010, "f2fs"},
      {0x19830326, "beegfs"}, {0xFF534D42, "cifs"},    {0xFE534D42, "smb"},      {0x65735546, "fuse"},
      {0x01021997, "9p"},     {0x00C36400, "ceph"},    {0x3153464A, "jfs"},      {0x5346544E, "ntfs"}};
  struct statfs found{};
  if (::fstatfs(descriptor, &found) != 0) return "unknown file system";
  const auto number = static_cast<std::uint32_t>(found.f_type);
  for (const Row& row : rows)
    if (row.number == number) return row.name;
  return fmt::format("file system {:#x}", number);
}

}  // namespace sial
