#pragma once
// MPI keeps files of a job in folders of each host. Where one of them is full it does not start, does not say why, and
// may not end either.

#include <string>
#include <vector>

namespace sial {

/// The folders among these with less than `bytes` left: "/tmp (12 KiB free)". Folders that are not there have room.
std::vector<std::string> full_folders(const std::vector<std::string>& folders, double bytes);

/// Before MPI starts: a warning of the first rank of a host, or the end of its ranks and of their launcher.
void look_for_full_folders();

}  // namespace sial
