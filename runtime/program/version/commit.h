#pragma once
// The state of the sources: a file that the build writes (commit.cmake) has the body.

#include <string_view>

namespace sial {

/// The commit, with ` and changes` after it where files differed; how it is unknown where there was no repository.
std::string_view source_commit();

}  // namespace sial
